// What the kernel of wgmma.cu is launched with.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ARGS_H_

#include "device/cuda/tensor_map.h"

namespace rooftune {

// Tiles are numbered in units of a cluster's. Sizes are those of the product that the kernel
// makes, which may be the transposed one.
struct WgmmaArgs {
  TensorMap a, b;
  TensorMap c;  // when C is written by bulk copies
  void* c_memory;
  long long c_row, c_col, c_batch;  // elements
  void* partials;                   // sums of parts of k, when they go through memory
  unsigned long long* arrivals;     // with them: how many of a slice are there
  unsigned long long no_arrivals;   // what its words are when none is: the upper 56 bits are random
  int m, n;
  int k_blocks;  // of 128 bytes
  int tiles_m, tiles_n;
  unsigned int tiles;        // of the whole batch
  int raster_rows;           // that many rows of tiles are walked column by column
  int a_batched, b_batched;  // 0: the same matrix for the whole batch
  int k_groups;              // clusters that share the k of a tile
  int k_run;                 // blocks that follow each other in a part of k
  int c_quads;               // 4 neighbours in C are aligned to their size, and beta is 0
  float alpha, beta;
  int int_alpha, int_beta;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ARGS_H_
