// Candidates for AMX: tiles of bf16 and bytes, and of the bf16 parts of f32.
#define ROOFTUNE_KERNEL_ISA 2

#include "ops/matmul/cpu/packed_tiles-inl.h"
#include "ops/matmul/cpu/prepacked_tiles-inl.h"
#include "ops/matmul/cpu/row.h"
#include "ops/matmul/cpu/split_k-inl.h"

namespace rooftune {
namespace {

constexpr Blocking k512 = {.mc = 512, .kc = 512, .nc = 4096};
constexpr Blocking k1024 = {.mc = 256, .kc = 1024, .nc = 4096};
constexpr Blocking k2048 = {.mc = 256, .kc = 2048, .nc = 2048};
constexpr Blocking k4096 = {.mc = 256, .kc = 4096, .nc = 2048};
// A block of f32 has two or three times the parts.
constexpr Blocking k512_parts = {.mc = 256, .kc = 512, .nc = 2048};
constexpr Blocking k1024_parts = {.mc = 128, .kc = 1024, .nc = 2048};

constexpr PanelBlocking kPanels512 = {.mc = 512, .kc = 512};
constexpr PanelBlocking kPanels1024 = {.mc = 256, .kc = 1024};
constexpr PanelBlocking kPanels2048 = {.mc = 256, .kc = 2048};

constexpr KernelRow kRows[] = {
    {"packed_tiles_amx_32x32_k1024",
     "packed_tiles",
     {.bf16 = packed_tiles<TileUnit, Bf16Pairs, TileForm::square, k1024>,
      .int8 = packed_tiles<TileUnit, ByteQuads, TileForm::square, k2048>},
     always_legal,
     packed_dot_priority},
    {"packed_tiles_amx_32x32_k2048",
     "packed_tiles",
     {.bf16 = packed_tiles<TileUnit, Bf16Pairs, TileForm::square, k2048>,
      .int8 = packed_tiles<TileUnit, ByteQuads, TileForm::square, k4096>},
     always_legal,
     packed_dot_priority},
    {"packed_tiles_amx_16x64_k512",
     "packed_tiles",
     {.bf16 = packed_tiles<TileUnit, Bf16Pairs, TileForm::flat, k512>,
      .int8 = packed_tiles<TileUnit, ByteQuads, TileForm::flat, k1024>},
     always_legal,
     packed_dot_priority},
    {"split_k_amx_32x32",
     "split_k",
     {.bf16 = split_k_on<TileMicro<TileUnit, Bf16Pairs, TileForm::square>, k1024>,
      .int8 = split_k_on<TileMicro<TileUnit, ByteQuads, TileForm::square>, k2048>},
     split_k_illegal,
     split_k_priority},
    {"packed_tiles_amx_bf16x6_k512",
     "packed_tiles",
     {.f32 = packed_tiles<TileUnit, FloatParts<3>, TileForm::square, k512_parts>},
     always_legal,
     packed_dot_priority,
     Precision::split},
    {"packed_tiles_amx_bf16x6_k1024",
     "packed_tiles",
     {.f32 = packed_tiles<TileUnit, FloatParts<3>, TileForm::square, k1024_parts>},
     always_legal,
     packed_dot_priority,
     Precision::split},
    {"packed_tiles_amx_bf16x3_k512",
     "packed_tiles",
     {.f32 = packed_tiles<TileUnit, FloatParts<2>, TileForm::square, k512_parts>},
     always_legal,
     packed_dot_priority,
     Precision::high},
    {"packed_tiles_amx_bf16x3_k1024",
     "packed_tiles",
     {.f32 = packed_tiles<TileUnit, FloatParts<2>, TileForm::square, k1024_parts>},
     always_legal,
     packed_dot_priority,
     Precision::high},
    {"packed_tiles_amx_medium_k1024",
     "packed_tiles",
     {.f32 = packed_tiles<TileUnit, FloatParts<1>, TileForm::square, k1024>},
     always_legal,
     packed_dot_priority,
     Precision::medium},
    {"prepacked_tiles_amx_32x32_k512",
     "prepacked_tiles",
     {.bf16 = prepacked_tiles<TileUnit, Bf16Pairs, kPanels512>,
      .int8 = prepacked_tiles<TileUnit, ByteQuads, kPanels1024>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_tiles_amx_32x32_k1024",
     "prepacked_tiles",
     {.bf16 = prepacked_tiles<TileUnit, Bf16Pairs, kPanels1024>,
      .int8 = prepacked_tiles<TileUnit, ByteQuads, kPanels2048>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
};

}  // namespace

KernelRows amx_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
