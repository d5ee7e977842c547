// Candidates for AVX-512 with BF16: dot products of two bf16 numbers in a lane, which also serve
// products of f32 where the policy asks for no more.
#define ROOFTUNE_KERNEL_ISA 2

#include "ops/matmul/cpu/gemv_rows-inl.h"
#include "ops/matmul/cpu/packed_dot-inl.h"
#include "ops/matmul/cpu/prepacked_dot-inl.h"
#include "ops/matmul/cpu/row.h"
#include "ops/matmul/cpu/skinny_dot-inl.h"
#include "ops/matmul/cpu/skinny_rows-inl.h"
#include "ops/matmul/cpu/split_k-inl.h"

namespace rooftune {
namespace {

using Pairs = Bf16Dot<Bf16Pairs>;
using FloatPairs = Bf16Dot<FloatParts<1>>;

constexpr Blocking k512 = {.mc = 448, .kc = 512, .nc = 4096};

// The short one is for few rows: two tiles of them read a stretch of a panel.
constexpr PanelBlocking kPanels256 = {.mc = 448, .kc = 256};
constexpr PanelBlocking kPanels512 = {.mc = 336, .kc = 512};

constexpr KernelRow kRows[] = {
    {"packed_dot_avx512_bf16_14x2v",
     "packed_dot",
     {.bf16 = packed_dot<Pairs, 14, 2, k512>},
     always_legal,
     packed_dot_priority},
    {"packed_dot_avx512_bf16_8x3v",
     "packed_dot",
     {.bf16 = packed_dot<Pairs, 8, 3, k512>},
     always_legal,
     packed_dot_priority},
    {"prepacked_dot_avx512_bf16_14x2v_k256",
     "prepacked_dot",
     {.bf16 = prepacked_dot<Pairs, 14, 2, kPanels256>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_dot_avx512_bf16_14x2v_k512",
     "prepacked_dot",
     {.bf16 = prepacked_dot<Pairs, 14, 2, kPanels512>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"gemv_rows_avx512_bf16",
     "gemv_rows",
     {.bf16 = gemv_rows<Bf16Dots>},
     gemv_rows_illegal,
     gemv_priority},
    {"skinny_rows_avx512_bf16_6x4v",
     "skinny_rows",
     {.bf16 = skinny_rows<Bf16Dots>},
     skinny_rows_illegal,
     skinny_priority},
    {"skinny_dot_avx512_bf16",
     "skinny_dot",
     {.bf16 = skinny_dot<Pairs>},
     skinny_cols_illegal,
     skinny_priority},
    {"split_k_avx512_bf16_14x2v",
     "split_k",
     {.bf16 = split_k_on<DotMicro<Pairs, 14, 2>, k512>},
     split_k_illegal,
     split_k_priority},
    {"packed_dot_avx512_bf16_medium_14x2v",
     "packed_dot",
     {.f32 = packed_dot<FloatPairs, 14, 2, k512>},
     always_legal,
     packed_dot_priority,
     Precision::medium},
};

}  // namespace

KernelRows avx512_bf16_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
