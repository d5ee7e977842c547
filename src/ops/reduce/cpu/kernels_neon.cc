// Candidates for NEON, which every 64-bit Arm processor has.
#define ROOFTUNE_KERNEL_NEON

#include "ops/reduce/cpu/columns-inl.h"
#include "ops/reduce/cpu/lanes-inl.h"
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
    {"lanes_neon", "lanes", lanes<float>, lanes<double>, lanes_illegal, lanes_priority},
    {"rows_neon_4v", "rows", rows<F32, 4>, rows<F64, 4>, rows_illegal, rows_priority},
    {"rows_neon_8v", "rows", rows<F32, 8>, rows<F64, 8>, rows_illegal, rows_priority},
    {"short_rows_neon", "short_rows", short_rows<F32>, short_rows<F64>, short_rows_illegal, short_rows_priority},
    {"columns_neon", "columns", columns<F32>, columns<F64>, columns_illegal, columns_priority},
    {"sweep_neon", "sweep", sweep<F32>, sweep<F64>, columns_illegal, sweep_priority},
    {"wrap_neon", "wrap", wrap<F32>, wrap<F64>, wrap_illegal, wrap_priority},
    {"split_rows_neon_8v", "split", split_rows<F32, 8>, split_rows<F64, 8>, split_rows_illegal, split_priority},
    {"split_columns_neon", "split", split_columns<F32>, split_columns<F64>, split_columns_illegal, split_priority},
    {"split_wrap_neon", "split", split_wrap<F32>, split_wrap<F64>, split_wrap_illegal, split_priority},
};
// clang-format on

}  // namespace

constinit const SumKernelRows kNeonSumRows = {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])};

}  // namespace rooftune
