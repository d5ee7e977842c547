// Candidates for what the compiler targets by default, and the fallback.
#define ROOFTUNE_KERNEL_ISA 0

#include "ops/reduce/cpu/columns-inl.h"
#include "ops/reduce/cpu/lanes-inl.h"
#include "ops/reduce/cpu/naive-inl.h"
#include "ops/reduce/cpu/row.h"
#include "ops/reduce/cpu/rows-inl.h"
#include "ops/reduce/cpu/short_rows-inl.h"
#include "ops/reduce/cpu/split-inl.h"
#include "ops/reduce/cpu/sweep-inl.h"
#include "ops/reduce/cpu/wrap-inl.h"

namespace rooftune {
namespace {

using F32 = Simd<float>;
using F64 = Simd<double>;

// clang-format off
constexpr SumKernelRow kRows[] = {
    {"naive", "naive", naive<float>, naive<double>, naive_illegal, naive_sum_priority},
    {"lanes_portable", "lanes", lanes<float>, lanes<double>, lanes_illegal, lanes_priority},
    {"rows_portable_4v", "rows", rows<F32, 4>, rows<F64, 4>, rows_illegal, rows_priority},
    {"rows_portable_8v", "rows", rows<F32, 8>, rows<F64, 8>, rows_illegal, rows_priority},
    {"short_rows_portable", "short_rows", short_rows<F32>, short_rows<F64>, short_rows_illegal, short_rows_priority},
    {"columns_portable", "columns", columns<F32>, columns<F64>, columns_illegal, columns_priority},
    {"sweep_portable", "sweep", sweep<F32>, sweep<F64>, columns_illegal, sweep_priority},
    {"wrap_portable", "wrap", wrap<F32>, wrap<F64>, wrap_illegal, wrap_priority},
    {"split_rows_portable_8v", "split", split_rows<F32, 8>, split_rows<F64, 8>, split_rows_illegal, split_priority},
    {"split_columns_portable", "split", split_columns<F32>, split_columns<F64>, split_columns_illegal, split_priority},
    {"split_wrap_portable", "split", split_wrap<F32>, split_wrap<F64>, split_wrap_illegal, split_priority},
};
// clang-format on

}  // namespace

constinit const SumKernelRows kPortableSumRows = {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])};

}  // namespace rooftune
