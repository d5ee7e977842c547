// Candidates for NEON, which every 64-bit Arm processor has: 32 registers of 16 bytes.
#define ROOFTUNE_KERNEL_NEON

#include "ops/matmul/cpu/gemv_cols-inl.h"
#include "ops/matmul/cpu/gemv_rows-inl.h"
#include "ops/matmul/cpu/gemv_split_k-inl.h"
#include "ops/matmul/cpu/gram-inl.h"
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
using T32 = TileTable<F32, 8, 3>;
using T64 = TileTable<F64, 8, 3>;
using TBf16 = TileTable<F32, 8, 3, Bf16>;
using TF16 = TileTable<F32, 8, 3, F16>;

// 24 sums, 3 vectors of B and one element of A fill 28 registers. More rows would leave fewer
// multiplications for each load of B; fewer would leave multipliers idle on cores that have four.
constexpr TileShape kLarge = {.rows = 8, .vectors = 3};
constexpr TileShape kLargePrefetch = {.rows = 8, .vectors = 3, .prefetch = Ahead::rows};
constexpr TileShape kSmall = {.rows = 8, .vectors = 2};
constexpr TileShape kSkinny = {.rows = 8, .vectors = 3, .prefetch = Ahead::strip, .terms = 32};
// A block of A is at most half of the 512 KB that the second-level cache has on the larger cores.
constexpr Blocking k256 = {.mc = 192, .kc = 256, .nc = 4080};
constexpr Blocking k384 = {.mc = 168, .kc = 384, .nc = 3072};

// Of bytes, in pairs.
constexpr Blocking k512 = {.mc = 192, .kc = 512, .nc = 4080};

constexpr PanelBlocking kPanels256 = {.mc = 192, .kc = 256};

constexpr PanelBlocking kPanels512 = {.mc = 192, .kc = 512};

constexpr KernelRow kRows[] = {
    {"tiny_neon_8x3v",
     "tiny",
     {.f32 = tiny<T32, kLarge>,
      .f64 = tiny<T64, kLarge>,
      .bf16 = tiny<TBf16, kLarge>,
      .f16 = tiny<TF16, kLarge>},
     tiny_illegal,
     tiny_priority},
    {"tile_neon_8x3v",
     "tile",
     {.f32 = tile<T32, kLarge>,
      .f64 = tile<T64, kLarge>,
      .bf16 = tile<TBf16, kLarge>,
      .f16 = tile<TF16, kLarge>},
     tile_illegal,
     tile_priority},
    {"tile_neon_8x3v_prefetch",
     "tile",
     {.f32 = tile<T32, kLargePrefetch>, .f64 = tile<T64, kLargePrefetch>},
     tile_illegal,
     tile_priority},
    {"tile_neon_8x2v",
     "tile",
     {.f32 = tile<T32, kSmall>, .f64 = tile<T64, kSmall>},
     tile_illegal,
     tile_spare_priority},
    {"packed_neon_8x3v_k256",
     "packed",
     {.f32 = packed<F32, 8, 3, k256>,
      .f64 = packed<F64, 8, 3, k256>,
      .bf16 = packed<F32, 8, 3, k256, Bf16>,
      .f16 = packed<F32, 8, 3, k256, F16>},
     always_legal,
     packed_priority},
    {"packed_neon_8x3v_k384",
     "packed",
     {.f32 = packed<F32, 8, 3, k384>, .f64 = packed<F64, 8, 3, k384>},
     always_legal,
     packed_spare_priority},
    {"packed_neon_6x4v_k256",
     "packed",
     {.f32 = packed<F32, 6, 4, k256>, .f64 = packed<F64, 6, 4, k256>},
     always_legal,
     packed_priority},
    {"packed_neon_12x2v_k256",
     "packed",
     {.f32 = packed<F32, 12, 2, k256>, .f64 = packed<F64, 12, 2, k256>},
     always_legal,
     packed_spare_priority},
    {"packed_dot_neon_6x3v",
     "packed_dot",
     {.int8 = packed_dot<BytePairDot, 6, 3, k512>},
     always_legal,
     packed_dot_priority},
    {"prepacked_neon_8x3v",
     "prepacked",
     {.f32 = prepacked<F32, 8, 3, kPanels256>,
      .f64 = prepacked<F64, 8, 3, kPanels256>,
      .bf16 = prepacked<F32, 8, 3, kPanels256, Bf16>,
      .f16 = prepacked<F32, 8, 3, kPanels256, F16>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_dot_neon_4x2v",
     "prepacked_dot",
     {.int8 = prepacked_dot<BytePairDot, 4, 2, kPanels512>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"gram_neon_6x3v",
     "gram",
     {.f32 = gram<F32, 6, 3, 256>, .f64 = gram<F64, 6, 3, 256>},
     needs_gram,
     gram_priority},
    {"split_k_neon_8x3v",
     "split_k",
     {.f32 = split_k<F32, 8, 3, k256>,
      .f64 = split_k<F64, 8, 3, k256>,
      .bf16 = split_k<F32, 8, 3, k256, Bf16>,
      .f16 = split_k<F32, 8, 3, k256, F16>},
     split_k_illegal,
     split_k_priority},
    {"gemv_rows_neon",
     "gemv_rows",
     {.f32 = gemv_rows<FmaDots<F32>>,
      .f64 = gemv_rows<FmaDots<F64>>,
      .bf16 = gemv_rows<FmaDots<F32, Bf16>>,
      .f16 = gemv_rows<FmaDots<F32, F16>>},
     gemv_rows_illegal,
     gemv_priority},
    {"gemv_cols_neon",
     "gemv_cols",
     {.f32 = gemv_cols<F32>,
      .f64 = gemv_cols<F64>,
      .bf16 = gemv_cols<F32, Bf16>,
      .f16 = gemv_cols<F32, F16>},
     gemv_cols_illegal,
     gemv_priority},
    {"gemv_split_k_neon",
     "gemv_split_k",
     {.f32 = gemv_split_k<F32>,
      .f64 = gemv_split_k<F64>,
      .bf16 = gemv_split_k<F32, Bf16>,
      .f16 = gemv_split_k<F32, F16>},
     gemv_split_k_illegal,
     gemv_split_k_priority},
    {"skinny_rows_neon_6x4v",
     "skinny_rows",
     {.f32 = skinny_rows<FmaDots<F32>>,
      .f64 = skinny_rows<FmaDots<F64>>,
      .bf16 = skinny_rows<FmaDots<F32, Bf16, float>>,
      .f16 = skinny_rows<FmaDots<F32, F16, float>>},
     skinny_rows_illegal,
     skinny_priority},
    {"skinny_cols_neon_8x3v",
     "skinny_cols",
     {.f32 = skinny_cols<T32, kSkinny>,
      .f64 = skinny_cols<T64, kSkinny>,
      .bf16 = skinny_cols<TBf16, kSkinny>,
      .f16 = skinny_cols<TF16, kSkinny>},
     skinny_cols_illegal,
     skinny_priority},
    {"outer_neon",
     "outer",
     {.f32 = outer<F32>, .f64 = outer<F64>, .bf16 = outer<F32, Bf16>, .f16 = outer<F32, F16>},
     outer_illegal,
     outer_priority},
};

}  // namespace

KernelRows neon_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
