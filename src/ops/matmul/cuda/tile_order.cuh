// Which tile of which batch and which part of k a block makes.
#ifndef ROOFTUNE_TILE_ORDER_CUH_
#define ROOFTUNE_TILE_ORDER_CUH_

#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/split.h"

struct TilePlace {
  int tile_m, tile_n, split;
  int64 batch;
};

// Strips of 8 tiles in m, and n by n within a strip: blocks that run at the same time share rows
// of A and columns of B in the second-level cache. The parts of a tile's k are far apart, or, where
// kCluster > 1, the blocks of a cluster, which are neighbours.
template <int kCluster = 1>
__device__ __forceinline__ TilePlace tile_place(const rooftune::SplitArgs& args) {
  constexpr uint32 kStrip = 8;
  const uint32 block = blockIdx.x / kCluster;
  const uint32 tiles_m = args.tiles_m, tiles_n = args.tiles_n;
  const uint32 tiles = tiles_m * tiles_n;
  const uint32 outer = block / tiles;
  const uint32 tile = block - outer * tiles;
  const uint32 strip = tile / (kStrip * tiles_n);
  const uint32 first_m = strip * kStrip;
  const uint32 rows = min(kStrip, tiles_m - first_m);
  const uint32 inside = tile - first_m * tiles_n;
  TilePlace place;
  place.tile_n = int(inside / rows);
  place.tile_m = int(first_m + inside % rows);
  if constexpr (kCluster > 1) {
    place.batch = outer;
    place.split = int(blockIdx.x % kCluster);
  } else {
    place.batch = outer / uint32(args.splits);
    place.split = int(outer % uint32(args.splits));
  }
  return place;
}

#endif  // ROOFTUNE_TILE_ORDER_CUH_
