// Candidates for every processor: what the compiler makes of 16-byte vectors.
#define ROOFTUNE_KERNEL_ISA 0

#include "ops/matmul/cpu/gemv_cols-inl.h"
#include "ops/matmul/cpu/gemv_rows-inl.h"
#include "ops/matmul/cpu/gemv_split_k-inl.h"
#include "ops/matmul/cpu/gram-inl.h"
#include "ops/matmul/cpu/naive-inl.h"
#include "ops/matmul/cpu/outer-inl.h"
#include "ops/matmul/cpu/packed-inl.h"
#include "ops/matmul/cpu/packed_dot-inl.h"
#include "ops/matmul/cpu/prepacked-inl.h"
#include "ops/matmul/cpu/prepacked_dot-inl.h"
#include "ops/matmul/cpu/row.h"
#include "ops/matmul/cpu/skinny_cols-inl.h"
#include "ops/matmul/cpu/skinny_rows-inl.h"
#include "ops/matmul/cpu/split_k-inl.h"
#include "ops/matmul/cpu/tile-inl.h"
#include "ops/matmul/cpu/tiny-inl.h"

namespace rooftune {
namespace {

using F32 = Simd<float>;
using F64 = Simd<double>;
using T32 = TileTable<F32, 4, 2>;
using T64 = TileTable<F64, 4, 2>;
using TBf16 = TileTable<F32, 4, 2, Bf16>;
using TF16 = TileTable<F32, 4, 2, F16>;

constexpr TileShape kLarge = {.rows = 4, .vectors = 2};
constexpr TileShape kSkinny = {.rows = 4, .vectors = 2, .prefetch = Ahead::strip, .terms = 32};
constexpr Blocking k256 = {.mc = 128, .kc = 256, .nc = 4096};

// Of bytes, in pairs.
constexpr Blocking k512 = {.mc = 128, .kc = 512, .nc = 4096};

constexpr PanelBlocking kPanels256 = {.mc = 128, .kc = 256};

constexpr PanelBlocking kPanels512 = {.mc = 128, .kc = 512};

constexpr KernelRow kRows[] = {
    {"naive_portable",
     "naive",
     {.f32 = naive<float>,
      .f64 = naive<double>,
      .bf16 = naive<Bf16>,
      .f16 = naive<F16>,
      .int8 = naive<std::int8_t>},
     always_legal,
     naive_priority,
     Precision::highest,
     RhsForm::either},
    {"tiny_portable_4x2v",
     "tiny",
     {.f32 = tiny<T32, kLarge>,
      .f64 = tiny<T64, kLarge>,
      .bf16 = tiny<TBf16, kLarge>,
      .f16 = tiny<TF16, kLarge>},
     tiny_illegal,
     tiny_priority},
    {"tile_portable_4x2v",
     "tile",
     {.f32 = tile<T32, kLarge>,
      .f64 = tile<T64, kLarge>,
      .bf16 = tile<TBf16, kLarge>,
      .f16 = tile<TF16, kLarge>},
     tile_illegal,
     tile_priority},
    {"packed_portable_4x2v_k256",
     "packed",
     {.f32 = packed<F32, 4, 2, k256>,
      .f64 = packed<F64, 4, 2, k256>,
      .bf16 = packed<F32, 4, 2, k256, Bf16>,
      .f16 = packed<F32, 4, 2, k256, F16>},
     always_legal,
     packed_priority},
    {"packed_dot_portable_4x2v",
     "packed_dot",
     {.int8 = packed_dot<BytePairDot, 4, 2, k512>},
     always_legal,
     packed_dot_priority},
    {"prepacked_portable_4x2v",
     "prepacked",
     {.f32 = prepacked<F32, 4, 2, kPanels256>,
      .f64 = prepacked<F64, 4, 2, kPanels256>,
      .bf16 = prepacked<F32, 4, 2, kPanels256, Bf16>,
      .f16 = prepacked<F32, 4, 2, kPanels256, F16>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_dot_portable_4x2v",
     "prepacked_dot",
     {.int8 = prepacked_dot<BytePairDot, 4, 2, kPanels512>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"gram_portable_4x2v",
     "gram",
     {.f32 = gram<F32, 4, 2, 256>, .f64 = gram<F64, 4, 2, 256>},
     needs_gram,
     gram_priority},
    {"split_k_portable_4x2v",
     "split_k",
     {.f32 = split_k<F32, 4, 2, k256>,
      .f64 = split_k<F64, 4, 2, k256>,
      .bf16 = split_k<F32, 4, 2, k256, Bf16>,
      .f16 = split_k<F32, 4, 2, k256, F16>},
     split_k_illegal,
     split_k_priority},
    {"gemv_rows_portable",
     "gemv_rows",
     {.f32 = gemv_rows<FmaDots<F32>>,
      .f64 = gemv_rows<FmaDots<F64>>,
      .bf16 = gemv_rows<FmaDots<F32, Bf16>>,
      .f16 = gemv_rows<FmaDots<F32, F16>>},
     gemv_rows_illegal,
     gemv_priority},
    {"gemv_cols_portable",
     "gemv_cols",
     {.f32 = gemv_cols<F32>,
      .f64 = gemv_cols<F64>,
      .bf16 = gemv_cols<F32, Bf16>,
      .f16 = gemv_cols<F32, F16>},
     gemv_cols_illegal,
     gemv_priority},
    {"gemv_split_k_portable",
     "gemv_split_k",
     {.f32 = gemv_split_k<F32>,
      .f64 = gemv_split_k<F64>,
      .bf16 = gemv_split_k<F32, Bf16>,
      .f16 = gemv_split_k<F32, F16>},
     gemv_split_k_illegal,
     gemv_split_k_priority},
    {"skinny_rows_portable",
     "skinny_rows",
     {.f32 = skinny_rows<FmaDots<F32>>,
      .f64 = skinny_rows<FmaDots<F64>>,
      .bf16 = skinny_rows<FmaDots<F32, Bf16, float>>,
      .f16 = skinny_rows<FmaDots<F32, F16, float>>},
     skinny_rows_illegal,
     skinny_priority},
    {"skinny_cols_portable_4x2v",
     "skinny_cols",
     {.f32 = skinny_cols<T32, kSkinny>,
      .f64 = skinny_cols<T64, kSkinny>,
      .bf16 = skinny_cols<TBf16, kSkinny>,
      .f16 = skinny_cols<TF16, kSkinny>},
     skinny_cols_illegal,
     skinny_priority},
    {"outer_portable",
     "outer",
     {.f32 = outer<F32>, .f64 = outer<F64>, .bf16 = outer<F32, Bf16>, .f16 = outer<F32, F16>},
     outer_illegal,
     outer_priority},
};

}  // namespace

KernelRows portable_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
