// Part of wgmma.cu: a tile whose k was shared by the blocks of a cluster, and by several clusters.
// Sums go through the cluster's shared memory; each block adds up a slice of the tile's rows (its
// columns when C is turned) in the order of the parts, so that results do not depend on timing.
enum : int {
  // The tile as lines along C's contiguous axis. The padding keeps a warp's writes in different
  // banks.
  kLines = C_TURNED ? kTileN : kTileM,
  kLine = C_TURNED ? kTileM : kTileN,
  kPitch = kLine + (C_TURNED ? 4 : 8),
  kQuads = kLines / CLUSTER_K * (kLine / 4),  // of a slice
  // Quads that a thread has in flight: remote loads have the latency of memory.
  kQuadsAtOnce = CLUSTER_K >= 8   ? 2
                 : CLUSTER_K == 1 ? 8
                                  : 16 / CLUSTER_K,
};
static_assert(kLines % CLUSTER_K == 0 && kLines * kPitch * 4 <= STAGES * kStage, "");

struct alignas(16) Quad {
  Sum v[4];
};
ROOFTUNE_DEVICE void add_to(Quad& quad, const Quad& other) {
#pragma unroll
  for (int j = 0; j < 4; ++j) quad.v[j] += other.v[j];
}

// This thread's sums to its block's shared memory, over the stages: all of them were used.
ROOFTUNE_DEVICE void stage_sums(const Sum (&sums)[ROW_BLOCKS][kTileN / 2], int group_row) {
  named_sync(kAllConsumers, kConsumers);
  const int lane = threadIdx.x % 32;
  Sum* const to = reinterpret_cast<Sum*>(memory);
#pragma unroll
  for (int i = 0; i < ROW_BLOCKS; ++i) {
    const int row = group_row + 64 * i + threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < kTileN / 2; ++j) {
      const int r = row + (j & 2) * 4, c = j / 4 * 8 + lane % 4 * 2 + (j & 1);
      to[C_TURNED ? c * kPitch + r : r * kPitch + c] = sums[i][j];
    }
  }
}

// The count of arrivals of a slice lies in memory that nobody cleared, to save a launch. Its upper
// 56 bits are random but the same for the whole process: a word without them is not a count yet.
ROOFTUNE_DEVICE uint64* arrivals_at(const WgmmaArgs& args, uint32 rank) {
  return args.arrivals + blockIdx.x / kCluster / args.k_groups * CLUSTER_K + rank;
}
ROOFTUNE_DEVICE void prepare_arrivals(const WgmmaArgs& args, uint32 rank) {
  if (args.k_groups == 1) return;
  uint64* const word = arrivals_at(args, rank);
  const uint64 found = *static_cast<volatile uint64*>(word);
  if ((found ^ args.no_arrivals) > 0xff) atomicCAS(word, found, args.no_arrivals);
}
// True for the last of k_groups, which leaves the count at none.
ROOFTUNE_DEVICE bool arrive_last(const WgmmaArgs& args, uint32 rank) {
  uint64* const word = arrivals_at(args, rank);
  const uint64 before = atomicAdd(word, uint64(1)) - args.no_arrivals;
  if (before != uint64(args.k_groups - 1)) return false;
  atomicExch(word, args.no_arrivals);
  return true;
}

// Writes 4 elements of a line of C.
ROOFTUNE_DEVICE void write_quad(const WgmmaArgs& args, const Tile& tile, int line, int place,
                                const Quad& quad) {
  const int row = tile.m + (C_TURNED ? place : line), col = tile.n + (C_TURNED ? line : place);
  const bool whole =
      C_TURNED ? row + 4 <= args.m && col < args.n : row < args.m && col + 4 <= args.n;
  if (whole && args.c_quads) {
    struct alignas(4 * sizeof(Element)) Elements {
      Element v[4];
    };
    Elements out;
#pragma unroll
    for (int i = 0; i < 4; ++i) out.v[i] = rounded<Element>::from(scaled(args, quad.v[i]));
    *reinterpret_cast<Elements*>(c_at(args, tile, row, col)) = out;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    write_element(args, tile, C_TURNED ? row + i : row, C_TURNED ? col : col + i, quad.v[i]);
  }
}

ROOFTUNE_DEVICE void add_parts(const WgmmaArgs& args, uint32 base, uint32 rank) {
  const uint32 number = blockIdx.x / kCluster;
  const Tile tile = tile_at(args, number, rank);
  const uint32 group = number % args.k_groups;
  const uint32 slice = number / args.k_groups * CLUSTER_K + rank;
  const int first_line = rank * (kLines / CLUSTER_K);
  Quad* const parts = static_cast<Quad*>(args.partials) + uint64(slice) * args.k_groups * kQuads;
  for (int first = threadIdx.x; first < kQuads; first += kConsumers * kQuadsAtOnce) {
    Quad found[kQuadsAtOnce][CLUSTER_K];
#pragma unroll
    for (int u = 0; u < kQuadsAtOnce; ++u) {
      const int q = first + u * kConsumers;
      if (q >= kQuads) break;
      const uint32 from =
          base + ((first_line + q / (kLine / 4)) * kPitch + q % (kLine / 4) * 4) * 4;
#pragma unroll
      for (int i = 0; i < CLUSTER_K; ++i) {
        load_remote(remote_address(from, i), *reinterpret_cast<uint32(*)[4]>(&found[u][i]));
      }
    }
#pragma unroll
    for (int u = 0; u < kQuadsAtOnce; ++u) {
      const int q = first + u * kConsumers;
      if (q >= kQuads) break;
#pragma unroll
      for (int i = 1; i < CLUSTER_K; ++i) add_to(found[u][0], found[u][i]);
      if (args.k_groups == 1) {
        write_quad(args, tile, first_line + q / (kLine / 4), q % (kLine / 4) * 4, found[u][0]);
      } else {
        parts[uint64(group) * kQuads + q] = found[u][0];
      }
    }
  }
  if (args.k_groups == 1) return;
  // The cluster that comes last adds up what all have written.
  int* const last = reinterpret_cast<int*>(memory + STAGES * (kStage + 16));
  named_sync(kAllConsumers, kConsumers);
  if (threadIdx.x == 0) {
    __threadfence();
    *last = arrive_last(args, rank);
    __threadfence();
  }
  named_sync(kAllConsumers, kConsumers);
  if (!*last) return;
  for (int q = threadIdx.x; q < kQuads; q += kConsumers) {
    // In order, but loaded some at a time: each comes from the level-2 cache.
    Quad quad = {};
    const Quad* const part = parts + q;
    constexpr int batch = 16;
    for (int g = 0; g < args.k_groups; g += batch) {
      int4 words[batch] = {};
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (g + i < args.k_groups)
          words[i] = __ldcg(reinterpret_cast<const int4*>(part + (g + i) * uint64(kQuads)));
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) add_to(quad, *reinterpret_cast<const Quad*>(&words[i]));
    }
    write_quad(args, tile, first_line + q / (kLine / 4), q % (kLine / 4) * 4, quad);
  }
}
