// The rows of Hopper's warpgroup products.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_FORMS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_FORMS_H_

#include <array>

namespace rooftune {

// A row of the family: the defines of wgmma.cu that make it.
struct WgmmaForm {
  const char* name;
  int n;  // columns of a tile
  int warpgroups = 2, row_blocks = 1;
  bool ping_pong = false;
  int cluster_m = 1, cluster_n = 1, cluster_k = 1;
  bool split = false;
  bool narrow = false;    // the smaller of m and n is the tile's n
  int blocks = 1;         // of a multiprocessor
  bool promote = false;   // f8 only, and all f8: see wgmma.cu
  bool has_twin = false;  // narrow, and another row is the same but for that

  int m() const { return 64 * row_blocks * (ping_pong ? 1 : warpgroups); }
  int cluster() const { return cluster_m * cluster_n * cluster_k; }
};

// In the order of issue when predictions are equal.
inline constexpr std::array kWgmmaForms = {
    // Large: two warpgroups share a tile, or take turns; pairs of blocks share an operand.
    WgmmaForm{.name = "wgmma_coop_128x256", .n = 256},
    WgmmaForm{.name = "wgmma_coop_128x256_c2", .n = 256, .cluster_m = 2},
    WgmmaForm{.name = "wgmma_coop_256x128", .n = 128, .row_blocks = 2},
    WgmmaForm{.name = "wgmma_coop_256x128_c1x2", .n = 128, .row_blocks = 2, .cluster_n = 2},
    WgmmaForm{.name = "wgmma_ping_128x128", .n = 128, .row_blocks = 2, .ping_pong = true},
    WgmmaForm{.name = "wgmma_ping_128x128_c2",
              .n = 128,
              .row_blocks = 2,
              .ping_pong = true,
              .cluster_m = 2},
    WgmmaForm{.name = "wgmma_ping_128x128_c1x2",
              .n = 128,
              .row_blocks = 2,
              .ping_pong = true,
              .cluster_n = 2},
    WgmmaForm{.name = "wgmma_ping_128x112_c1x2",
              .n = 112,
              .row_blocks = 2,
              .ping_pong = true,
              .cluster_n = 2},
    // Widths that fill the last wave of tiles.
    WgmmaForm{.name = "wgmma_coop_128x224_c2", .n = 224, .cluster_m = 2},
    WgmmaForm{.name = "wgmma_coop_128x208_c2", .n = 208, .cluster_m = 2},
    WgmmaForm{.name = "wgmma_coop_128x192", .n = 192},
    WgmmaForm{.name = "wgmma_coop_128x192_c2", .n = 192, .cluster_m = 2},
    WgmmaForm{.name = "wgmma_coop_128x192_c1x2", .n = 192, .cluster_n = 2},
    WgmmaForm{.name = "wgmma_coop_128x160", .n = 160},
    WgmmaForm{.name = "wgmma_coop_128x144", .n = 144},
    WgmmaForm{.name = "wgmma_coop_128x128", .n = 128},
    WgmmaForm{.name = "wgmma_coop_128x128_c1x2", .n = 128, .cluster_n = 2},
    WgmmaForm{.name = "wgmma_coop_128x112", .n = 112},
    WgmmaForm{.name = "wgmma_coop_128x96", .n = 96},
    WgmmaForm{.name = "wgmma_coop_128x96_c1x2", .n = 96, .cluster_n = 2},
    WgmmaForm{.name = "wgmma_coop_128x80", .n = 80},
    WgmmaForm{.name = "wgmma_coop_192x128_c1x2", .n = 128, .warpgroups = 3, .cluster_n = 2},
    // Small.
    WgmmaForm{.name = "wgmma_one_64x256", .n = 256, .warpgroups = 1},
    WgmmaForm{.name = "wgmma_one_64x192", .n = 192, .warpgroups = 1},
    WgmmaForm{.name = "wgmma_one_64x128", .n = 128, .warpgroups = 1},
    WgmmaForm{.name = "wgmma_one_64x128_c2", .n = 128, .warpgroups = 1, .cluster_m = 2},
    WgmmaForm{.name = "wgmma_one_64x96", .n = 96, .warpgroups = 1},
    WgmmaForm{.name = "wgmma_one_64x64", .n = 64, .warpgroups = 1},
    WgmmaForm{.name = "wgmma_ping_64x128_b2", .n = 128, .ping_pong = true, .blocks = 2},
    // Few tiles and much of k.
    WgmmaForm{
        .name = "wgmma_split_64x64_k8", .n = 64, .warpgroups = 1, .cluster_k = 8, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x64_k4", .n = 64, .warpgroups = 1, .cluster_k = 4, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x64_k2", .n = 64, .warpgroups = 1, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x64_k8", .n = 64, .cluster_k = 8, .split = true},
    WgmmaForm{.name = "wgmma_split_128x128_k8", .n = 128, .cluster_k = 8, .split = true},
    WgmmaForm{.name = "wgmma_split_128x128_k4", .n = 128, .cluster_k = 4, .split = true},
    WgmmaForm{.name = "wgmma_split_128x128_k2", .n = 128, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x256_k8", .n = 256, .cluster_k = 8, .split = true},
    // Less of k each, of wider tiles: those read the least through the level-2 cache.
    WgmmaForm{.name = "wgmma_split_128x256_k2", .n = 256, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x224_k2", .n = 224, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x192_k2", .n = 192, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x160_k2", .n = 160, .cluster_k = 2, .split = true},
    WgmmaForm{.name = "wgmma_split_128x112_k2", .n = 112, .cluster_k = 2, .split = true},
    WgmmaForm{
        .name = "wgmma_split_256x192_k2", .n = 192, .row_blocks = 2, .cluster_k = 2, .split = true},
    WgmmaForm{
        .name = "wgmma_split_256x128_k2", .n = 128, .row_blocks = 2, .cluster_k = 2, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x160_k8", .n = 160, .warpgroups = 1, .cluster_k = 8, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x128_k4", .n = 128, .warpgroups = 1, .cluster_k = 4, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x128_k2", .n = 128, .warpgroups = 1, .cluster_k = 2, .split = true},
    WgmmaForm{
        .name = "wgmma_split_64x96_k4", .n = 96, .warpgroups = 1, .cluster_k = 4, .split = true},
    // Few tokens: the tile's n is the smaller of m and n.
    WgmmaForm{.name = "wgmma_swap_128x8", .n = 8, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x8", .n = 8, .warpgroups = 1, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x8_k2",
              .n = 8,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x8_k4",
              .n = 8,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_128x16", .n = 16, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x16", .n = 16, .warpgroups = 1, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x16_k2",
              .n = 16,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x16_k4",
              .n = 16,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_128x32", .n = 32, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x32", .n = 32, .warpgroups = 1, .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x32_k2",
              .n = 32,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_64x32_k4",
              .n = 32,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .narrow = true},
    WgmmaForm{.name = "wgmma_swap_128x64", .n = 64, .narrow = true},
    WgmmaForm{
        .name = "wgmma_swap_64x64", .n = 64, .warpgroups = 1, .narrow = true, .has_twin = true},
    WgmmaForm{.name = "wgmma_swap_64x64_k2",
              .n = 64,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true,
              .has_twin = true},
    WgmmaForm{.name = "wgmma_swap_64x64_k4",
              .n = 64,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .narrow = true,
              .has_twin = true},
    // Neighbours share the narrow operand: all blocks want the same few lines of it at a time.
    WgmmaForm{
        .name = "wgmma_swap_64x16_c2", .n = 16, .warpgroups = 1, .cluster_m = 2, .narrow = true},
    WgmmaForm{
        .name = "wgmma_swap_64x32_c2", .n = 32, .warpgroups = 1, .cluster_m = 2, .narrow = true},
    WgmmaForm{
        .name = "wgmma_swap_64x32_c4", .n = 32, .warpgroups = 1, .cluster_m = 4, .narrow = true},
    WgmmaForm{
        .name = "wgmma_swap_64x64_c2", .n = 64, .warpgroups = 1, .cluster_m = 2, .narrow = true},
    WgmmaForm{
        .name = "wgmma_swap_64x64_c4", .n = 64, .warpgroups = 1, .cluster_m = 4, .narrow = true},
    // f8.
    WgmmaForm{.name = "wgmma_f8_coop_128x128", .n = 128, .promote = true},
    WgmmaForm{.name = "wgmma_f8_coop_128x128_c2", .n = 128, .cluster_m = 2, .promote = true},
    WgmmaForm{.name = "wgmma_f8_one_64x128", .n = 128, .warpgroups = 1, .promote = true},
    WgmmaForm{.name = "wgmma_f8_one_64x128_c2",
              .n = 128,
              .warpgroups = 1,
              .cluster_m = 2,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_one_64x64", .n = 64, .warpgroups = 1, .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_128x128_k2",
              .n = 128,
              .cluster_k = 2,
              .split = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_128x112_k2",
              .n = 112,
              .cluster_k = 2,
              .split = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_64x128_k4",
              .n = 128,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_64x128_k2",
              .n = 128,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_64x96_k4",
              .n = 96,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_split_64x64_k4",
              .n = 64,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .promote = true},
    WgmmaForm{
        .name = "wgmma_f8_swap_64x16", .n = 16, .warpgroups = 1, .narrow = true, .promote = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x64",
              .n = 64,
              .warpgroups = 1,
              .narrow = true,
              .promote = true,
              .has_twin = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x16_c2",
              .n = 16,
              .warpgroups = 1,
              .cluster_m = 2,
              .narrow = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x64_c2",
              .n = 64,
              .warpgroups = 1,
              .cluster_m = 2,
              .narrow = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x16_k2",
              .n = 16,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x64_k2",
              .n = 64,
              .warpgroups = 1,
              .cluster_k = 2,
              .split = true,
              .narrow = true,
              .promote = true},
    WgmmaForm{.name = "wgmma_f8_swap_64x64_k4",
              .n = 64,
              .warpgroups = 1,
              .cluster_k = 4,
              .split = true,
              .narrow = true,
              .promote = true,
              .has_twin = true},
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_FORMS_H_
