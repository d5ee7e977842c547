// A tile of C whose k the blocks of a cluster share. Each block has sums of its terms in shared
// memory; each adds up a slice of the tile's rows out of all of them, in the order of the parts, so
// that results do not depend on timing. CLUSTER_K: blocks of a cluster, 1 if k is not shared so.
#ifndef ROOFTUNE_CLUSTER_PARTS_CUH_
#define ROOFTUNE_CLUSTER_PARTS_CUH_

#include "device/cuda/cluster.cuh"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/tile_order.cuh"

#if CLUSTER_K > 1
#define ROOFTUNE_CLUSTER __cluster_dims__(CLUSTER_K, 1, 1)
#else
#define ROOFTUNE_CLUSTER
#endif

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// Rows of kTileN sums, kPitch apart, at address `sums` of every block. `c` is that of the batch.
template <class T, int kTileM, int kTileN, int kPitch, int kThreads>
struct ClusterParts {
  static constexpr int kRows = kTileM / CLUSTER_K;  // of a slice
  static_assert(kTileM % CLUSTER_K == 0 && kPitch * sizeof(T) % 16 == 0, "slices are whole rows");

  const rooftune::StridedArgs& product;
  T* c;
  int64 first_m, first_n;  // of the tile
  int rank;                // of this block
  uint32 sums;

  // Pieces of kWidth neighbours in a row; as neighbouring threads have neighbouring pieces, a warp
  // reads whole rows and writes whole lines of C.
  template <int kWidth>
  __device__ __forceinline__ void add() const {
    struct alignas(kWidth * sizeof(T)) Piece {
      T v[kWidth];
    };
    constexpr int kWords = int(sizeof(Piece)) / 4;
    constexpr int kBeside = kTileN / kWidth;
    constexpr int kPieces = kRows * kBeside;
    // Loads that a thread has in flight: they take as long as those from memory nearly do.
    constexpr int kEach = (kPieces + kThreads - 1) / kThreads;
    constexpr int kAtOnce = kEach < 16 / CLUSTER_K ? kEach : 16 / CLUSTER_K;
    const T alpha = T(product.alpha), beta = T(product.beta);
    uint32 part[CLUSTER_K];
#pragma unroll
    for (int i = 0; i < CLUSTER_K; ++i) part[i] = remote_address(sums, i);
#pragma unroll 1
    for (int first = threadIdx.x; first < kPieces; first += kThreads * kAtOnce) {
      Piece found[kAtOnce][CLUSTER_K];
      T* to[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int piece = first + u * kThreads;
        const int row = rank * kRows + piece / kBeside, column = piece % kBeside * kWidth;
        to[u] = nullptr;
        // What is loaded is used: so it has arrived when the block says that it is through.
        if (piece >= kPieces || first_m + row >= product.m || first_n + column >= product.n) {
          continue;
        }
        to[u] = c + (first_m + row) * product.c_row + (first_n + column) * product.c_col;
        const uint32 place = (row * kPitch + column) * int(sizeof(T));
#pragma unroll
        for (int i = 0; i < CLUSTER_K; ++i) {
          load_remote(part[i] + place, reinterpret_cast<uint32(&)[kWords]>(found[u][i]));
        }
      }
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        if (to[u] == nullptr) continue;
        Piece& value = found[u][0];
        Piece& out = *reinterpret_cast<Piece*>(to[u]);
        Piece old{};
        if (beta != 0) old = out;
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
#pragma unroll
          for (int i = 1; i < CLUSTER_K; ++i) value.v[j] += found[u][i].v[j];
          value.v[j] *= alpha;
          if (beta != 0) value.v[j] = multiply_add(beta, old.v[j], value.v[j]);
        }
        out = value;
      }
    }
  }

  // Once every thread has written its sums, with all threads of the cluster.
  __device__ __forceinline__ void write() const {
    cluster_sync();
    // Whether all pieces that begin in a row also end in it, and are words of 16 bytes.
    constexpr int kWide = 16 / int(sizeof(T));
    const bool wide = product.c_col == 1 && product.c_row % kWide == 0 && product.n % kWide == 0 &&
                      reinterpret_cast<uint64>(c) % 16 == 0;
    if (wide) {
      add<kWide>();
    } else {
      add<1>();
    }
    // Nobody leaves while others read its memory. No order is needed: reads are over when their
    // values have been used, and C is for nobody in the cluster.
    cluster_sync_relaxed();
  }
};

#endif  // ROOFTUNE_CLUSTER_PARTS_CUH_
