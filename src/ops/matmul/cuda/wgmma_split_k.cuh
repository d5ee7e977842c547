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
};
static_assert(kLines % CLUSTER_K == 0 && kLines * kPitch * 4 <= STAGES * kStage, "");

// This thread's sums to its block's shared memory, over the stages: all of them were used.
ROOFTUNE_DEVICE void stage_sums(const Sum (&sums)[ROW_BLOCKS][kTileN / 2], uint32 base,
                                int group_row) {
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

struct Quad {
  Sum v[4];
};

// Writes 4 elements of a line of C.
ROOFTUNE_DEVICE void write_quad(const WgmmaArgs& args, const Tile& tile, int line, int place,
                                const Quad& quad) {
  const int row = tile.m + (C_TURNED ? place : line), col = tile.n + (C_TURNED ? line : place);
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
  for (int q = threadIdx.x; q < kQuads; q += kConsumers) {
    const int line = first_line + q / (kLine / 4), place = q % (kLine / 4) * 4;
    const uint32 from = base + (line * kPitch + place) * 4;
    uint32 words[CLUSTER_K][4];
#pragma unroll
    for (int i = 0; i < CLUSTER_K; ++i) load_remote(remote_address(from, i), words[i]);
    Quad quad;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      quad.v[j] = *reinterpret_cast<const Sum*>(&words[0][j]);
#pragma unroll
      for (int i = 1; i < CLUSTER_K; ++i) quad.v[j] += *reinterpret_cast<const Sum*>(&words[i][j]);
    }
    if (args.k_groups == 1) {
      write_quad(args, tile, line, place, quad);
    } else {
      *reinterpret_cast<int4*>(&parts[uint64(group) * kQuads + q]) =
          *reinterpret_cast<const int4*>(&quad);
    }
  }
  if (args.k_groups == 1) return;
  // The cluster that comes last adds up what all have written.
  int* const arrived = reinterpret_cast<int*>(memory + STAGES * (kStage + 16));
  __threadfence();
  named_sync(kAllConsumers, kConsumers);
  if (threadIdx.x == 0) {
    *arrived = atomicAdd(args.arrivals + slice, 1u);
    __threadfence();
  }
  named_sync(kAllConsumers, kConsumers);
  if (*arrived != args.k_groups - 1) return;
  for (int q = threadIdx.x; q < kQuads; q += kConsumers) {
    Quad quad = {};
#pragma unroll 4
    for (int g = 0; g < args.k_groups; ++g) {
      const int4 part = __ldcg(reinterpret_cast<const int4*>(&parts[uint64(g) * kQuads + q]));
      const Quad other = *reinterpret_cast<const Quad*>(&part);
#pragma unroll
      for (int j = 0; j < 4; ++j) quad.v[j] += other.v[j];
    }
    write_quad(args, tile, first_line + q / (kLine / 4), q % (kLine / 4) * 4, quad);
  }
}
