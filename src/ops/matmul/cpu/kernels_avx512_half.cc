// Candidates for AVX-512 and operands of 16 bits: register tiles that widen B as they load it. A
// unit of its own because each table of tiles takes long to build. One shape only: two vectors of a
// row are one cache line.
#define ROOFTUNE_KERNEL_ISA 2

#include "ops/matmul/cpu/row.h"
#include "ops/matmul/cpu/skinny_cols-inl.h"
#include "ops/matmul/cpu/tile-inl.h"
#include "ops/matmul/cpu/tiny-inl.h"

namespace rooftune {
namespace {

using WideBf16 = TileTable<Simd<float>, 14, 2, Bf16>;
using WideF16 = TileTable<Simd<float>, 14, 2, F16>;

constexpr TileShape kWide = {.rows = 14, .vectors = 2};
constexpr TileShape kWidePrefetch = {.rows = 14, .vectors = 2, .prefetch = Ahead::rows};
constexpr TileShape kSkinny = {.rows = 14, .vectors = 2, .prefetch = Ahead::strip, .terms = 128};

constexpr KernelRow kRows[] = {
    {"tiny_avx512_14x2v_half",
     "tiny",
     {.bf16 = tiny<WideBf16, kWide>, .f16 = tiny<WideF16, kWide>},
     tiny_illegal,
     tiny_priority},
    {"tile_avx512_14x2v_half",
     "tile",
     {.bf16 = tile<WideBf16, kWidePrefetch>, .f16 = tile<WideF16, kWidePrefetch>},
     tile_illegal,
     tile_priority},
    {"skinny_cols_avx512_14x2v_half",
     "skinny_cols",
     {.bf16 = skinny_cols<WideBf16, kSkinny>, .f16 = skinny_cols<WideF16, kSkinny>},
     skinny_cols_illegal,
     skinny_priority},
};

}  // namespace

KernelRows avx512_half_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
