// Candidates for AVX-512 (F, BW, DQ, VL): 32 registers of 64 bytes. Built for that level; runs only
// where the processor and the operating system have it.
#define ROOFTUNE_KERNEL_ISA 2

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
#include "ops/matmul/cpu/skinny_dot-inl.h"
#include "ops/matmul/cpu/skinny_rows-inl.h"
#include "ops/matmul/cpu/split_k-inl.h"
#include "ops/matmul/cpu/strip-inl.h"
#include "ops/matmul/cpu/tile-inl.h"
#include "ops/matmul/cpu/tiny-inl.h"

namespace rooftune {
namespace {

using F32 = Simd<float>;
using F64 = Simd<double>;
using Wide32 = TileTable<F32, 14, 2>;
using Wide64 = TileTable<F64, 14, 2>;
using Tall32 = TileTable<F32, 24, 1>;
using Tall64 = TileTable<F64, 24, 1>;
using Three32 = TileTable<F32, 8, 3>;
using Three64 = TileTable<F64, 8, 3>;

constexpr TileShape kWide = {.rows = 14, .vectors = 2};
constexpr TileShape kWidePrefetch = {.rows = 14, .vectors = 2, .prefetch = Ahead::rows};
constexpr TileShape kSmall = {.rows = 8, .vectors = 2};
constexpr TileShape kSmallPrefetch = {.rows = 8, .vectors = 2, .prefetch = Ahead::rows};
constexpr TileShape kTall = {.rows = 24, .vectors = 1};
constexpr TileShape kSkinny = {.rows = 12, .vectors = 2, .prefetch = Ahead::strip, .terms = 32};
constexpr TileShape kSkinnyTall = {.rows = 24, .vectors = 1, .prefetch = Ahead::strip, .terms = 32};
constexpr TileShape kSkinnyLong = {
    .rows = 24, .vectors = 1, .prefetch = Ahead::strip, .terms = 256};
constexpr TileShape kThree = {.rows = 8, .vectors = 3};
constexpr StripBlocking kStrip256 = {.mc = 448, .kc = 256, .nc = 4096};
constexpr Blocking k256 = {.mc = 336, .kc = 256, .nc = 4096};
constexpr Blocking k384 = {.mc = 480, .kc = 384, .nc = 3072};
constexpr Blocking k512 = {.mc = 224, .kc = 512, .nc = 2048};

// Of bytes, in pairs.
constexpr Blocking kBytes512 = {.mc = 336, .kc = 512, .nc = 4096};

// The short one is for few rows: two tiles of them read a stretch of a panel.
constexpr PanelBlocking kPanels128 = {.mc = 448, .kc = 128};
constexpr PanelBlocking kPanels256 = {.mc = 336, .kc = 256};

constexpr PanelBlocking kPanels512 = {.mc = 336, .kc = 512};

constexpr KernelRow kRows[] = {
    {"tiny_avx512_14x2v",
     "tiny",
     {.f32 = tiny<Wide32, kWide>, .f64 = tiny<Wide64, kWide>},
     tiny_illegal,
     tiny_priority},
    {"tiny_avx512_24x1v",
     "tiny",
     {.f32 = tiny<Tall32, kTall>, .f64 = tiny<Tall64, kTall>},
     tiny_illegal,
     tiny_priority},
    {"tile_avx512_8x2v_prefetch",
     "tile",
     {.f32 = tile<Wide32, kSmallPrefetch>, .f64 = tile<Wide64, kSmallPrefetch>},
     tile_illegal,
     tile_priority},
    {"tile_avx512_14x2v_prefetch",
     "tile",
     {.f32 = tile<Wide32, kWidePrefetch>, .f64 = tile<Wide64, kWidePrefetch>},
     tile_illegal,
     tile_priority},
    {"tile_avx512_24x1v",
     "tile",
     {.f32 = tile<Tall32, kTall>, .f64 = tile<Tall64, kTall>},
     tile_illegal,
     tile_spare_priority},
    {"tile_avx512_8x2v",
     "tile",
     {.f32 = tile<Wide32, kSmall>, .f64 = tile<Wide64, kSmall>},
     tile_illegal,
     tile_spare_priority},
    {"tile_avx512_14x2v",
     "tile",
     {.f32 = tile<Wide32, kWide>, .f64 = tile<Wide64, kWide>},
     tile_illegal,
     tile_spare_priority},
    {"packed_avx512_8x3v_k256",
     "packed",
     {.f32 = packed<F32, 8, 3, k256>, .f64 = packed<F64, 8, 3, k256>},
     always_legal,
     packed_priority},
    {"packed_avx512_14x2v_k256",
     "packed",
     {.f32 = packed<F32, 14, 2, k256>,
      .f64 = packed<F64, 14, 2, k256>,
      .bf16 = packed<F32, 14, 2, k256, Bf16>,
      .f16 = packed<F32, 14, 2, k256, F16>},
     always_legal,
     packed_spare_priority},
    {"packed_avx512_14x2v_k384",
     "packed",
     {.f32 = packed<F32, 14, 2, k384>, .f64 = packed<F64, 14, 2, k384>},
     always_legal,
     packed_priority},
    {"packed_avx512_24x1v_k384",
     "packed",
     {.f32 = packed<F32, 24, 1, k384>, .f64 = packed<F64, 24, 1, k384>},
     always_legal,
     packed_priority},
    {"packed_avx512_14x2v_k512",
     "packed",
     {.f32 = packed<F32, 14, 2, k512>, .f64 = packed<F64, 14, 2, k512>},
     always_legal,
     packed_spare_priority},
    {"strip_avx512_14x2v",
     "strip",
     {.f32 = strip<Wide32, kWide, kStrip256>, .f64 = strip<Wide64, kWide, kStrip256>},
     always_legal,
     packed_priority},
    {"strip_avx512_8x3v",
     "strip",
     {.f32 = strip<Three32, kThree, kStrip256>, .f64 = strip<Three64, kThree, kStrip256>},
     always_legal,
     packed_spare_priority},
    {"packed_dot_avx512_14x2v",
     "packed_dot",
     {.int8 = packed_dot<BytePairDot, 14, 2, kBytes512>},
     always_legal,
     packed_dot_priority},
    {"prepacked_avx512_14x2v_k128",
     "prepacked",
     {.f32 = prepacked<F32, 14, 2, kPanels128>,
      .f64 = prepacked<F64, 14, 2, kPanels128>,
      .bf16 = prepacked<F32, 14, 2, kPanels128, Bf16>,
      .f16 = prepacked<F32, 14, 2, kPanels128, F16>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_avx512_14x2v_k256",
     "prepacked",
     {.f32 = prepacked<F32, 14, 2, kPanels256>,
      .f64 = prepacked<F64, 14, 2, kPanels256>,
      .bf16 = prepacked<F32, 14, 2, kPanels256, Bf16>,
      .f16 = prepacked<F32, 14, 2, kPanels256, F16>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_dot_avx512_14x2v",
     "prepacked_dot",
     {.int8 = prepacked_dot<BytePairDot, 14, 2, kPanels512>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"gram_avx512_8x3v",
     "gram",
     {.f32 = gram<F32, 8, 3, 256>, .f64 = gram<F64, 8, 3, 256>},
     needs_gram,
     gram_priority},
    {"split_k_avx512_14x2v",
     "split_k",
     {.f32 = split_k<F32, 14, 2, k256>,
      .f64 = split_k<F64, 14, 2, k256>,
      .bf16 = split_k<F32, 14, 2, k256, Bf16>,
      .f16 = split_k<F32, 14, 2, k256, F16>},
     split_k_illegal,
     split_k_priority},
    {"split_k_avx512_14x2v_in_place",
     "split_k",
     {.f32 = split_k_in_place<Wide32, kWide>, .f64 = split_k_in_place<Wide64, kWide>},
     split_k_in_place_illegal,
     split_k_priority},
    {"gemv_rows_avx512",
     "gemv_rows",
     {.f32 = gemv_rows<FmaDots<F32>>,
      .f64 = gemv_rows<FmaDots<F64>>,
      .bf16 = gemv_rows<FmaDots<F32, Bf16>>,
      .f16 = gemv_rows<FmaDots<F32, F16>>,
      .int8 = gemv_rows<Bytes>},
     gemv_rows_illegal,
     gemv_priority},
    {"gemv_cols_avx512",
     "gemv_cols",
     {.f32 = gemv_cols<F32>,
      .f64 = gemv_cols<F64>,
      .bf16 = gemv_cols<F32, Bf16>,
      .f16 = gemv_cols<F32, F16>},
     gemv_cols_illegal,
     gemv_priority},
    {"gemv_split_k_avx512",
     "gemv_split_k",
     {.f32 = gemv_split_k<F32>,
      .f64 = gemv_split_k<F64>,
      .bf16 = gemv_split_k<F32, Bf16>,
      .f16 = gemv_split_k<F32, F16>},
     gemv_split_k_illegal,
     gemv_split_k_priority},
    {"skinny_rows_avx512_6x4v",
     "skinny_rows",
     {.f32 = skinny_rows<FmaDots<F32>>,
      .f64 = skinny_rows<FmaDots<F64>>,
      .bf16 = skinny_rows<FmaDots<F32, Bf16, float>>,
      .f16 = skinny_rows<FmaDots<F32, F16, float>>,
      .int8 = skinny_rows<Bytes>},
     skinny_rows_illegal,
     skinny_priority},
    {"skinny_cols_avx512_12x2v",
     "skinny_cols",
     {.f32 = skinny_cols<Wide32, kSkinny>, .f64 = skinny_cols<Wide64, kSkinny>},
     skinny_cols_illegal,
     skinny_spare_priority},
    {"skinny_cols_avx512_24x1v",
     "skinny_cols",
     {.f32 = skinny_cols<Tall32, kSkinnyTall>, .f64 = skinny_cols<Tall64, kSkinnyTall>},
     skinny_cols_illegal,
     skinny_priority},
    {"skinny_cols_avx512_24x1v_k256",
     "skinny_cols",
     {.f32 = skinny_cols<Tall32, kSkinnyLong>, .f64 = skinny_cols<Tall64, kSkinnyLong>},
     skinny_cols_illegal,
     skinny_priority},
    {"skinny_dot_avx512",
     "skinny_dot",
     {.int8 = skinny_dot<BytePairDot>},
     skinny_cols_illegal,
     skinny_priority},
    {"outer_avx512",
     "outer",
     {.f32 = outer<F32>, .f64 = outer<F64>, .bf16 = outer<F32, Bf16>, .f16 = outer<F32, F16>},
     outer_illegal,
     outer_priority},
};

}  // namespace

KernelRows avx512_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
