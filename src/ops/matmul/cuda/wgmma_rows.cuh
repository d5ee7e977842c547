// The epilogue of wgmma.cu for rows of C on any addresses, when beta is 0: a part of that file.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ROWS_CUH_
#define ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ROWS_CUH_

// A warp stages 16 rows of up to 128 bytes, each shifted by what its address is beyond a multiple
// of 16: vectors in shared memory are then vectors in memory too, and only the ends of a row have
// to be written by elements. Neighbours in C are contiguous (c_col is 1).
constexpr int kRowPitch = 144;  // a row and its shift; rows begin 4 banks apart
constexpr int kRowsBytes = 64 * kRowPitch;

ROOFTUNE_DEVICE void write_rows(const WgmmaArgs& args, const Tile& tile, int row_first,
                                const Sum (&sums)[kTileN / 2], uint8* staging) {
  constexpr int kBytes = sizeof(Element), kCols = 128 / kBytes, kOfVector = 16 / kBytes;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  staging += warp * 16 * kRowPitch;
  row_first += warp * 16;
  const uint64 first = reinterpret_cast<uint64>(c_at(args, tile, row_first, tile.n));
  const int64 row_bytes = args.c_row * kBytes;
#pragma unroll
  for (int col = 0; col < kTileN; col += kCols) {
    if (tile.n + col >= args.n) break;
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + half * 8;
      const int shift = int(first + row * row_bytes + col * kBytes) & 15;
      Element* const to = reinterpret_cast<Element*>(staging + row * kRowPitch + shift);
#pragma unroll
      for (int j = 0; j < kCols / 8 && col + j * 8 < kTileN; ++j) {
        const int at = (col / 8 + j) * 4 + half * 2;
        to[j * 8 + lane % 4 * 2] = rounded<Element>::from(scaled(args, sums[at]));
        to[j * 8 + lane % 4 * 2 + 1] = rounded<Element>::from(scaled(args, sums[at + 1]));
      }
    }
    __syncwarp();
    const int cols = min(min(kCols, kTileN - col), args.n - tile.n - col);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = i * 4 + lane / 8, vector = lane % 8;
      if (row_first + row >= args.m) continue;
      const uint64 c = first + row * row_bytes + col * kBytes;
      const int begin = int(c & 15) / kBytes, end = begin + cols;  // elements
      const uint8* const from = staging + row * kRowPitch;
      uint8* const to = reinterpret_cast<uint8*>(c & ~uint64(15));
      if ((vector > 0 || begin == 0) && (vector + 1) * kOfVector <= end) {
        *reinterpret_cast<uint4*>(to + vector * 16) =
            *reinterpret_cast<const uint4*>(from + vector * 16);
      }
      // Elements before the first whole vector, and after the last.
      const int tail = end / kOfVector * kOfVector;
#pragma unroll
      for (int e = vector; e < kOfVector * 2; e += 8) {
        const bool is_head = e < kOfVector;
        const int at = is_head ? e : tail + e - kOfVector;
        if (at < end && (is_head ? at >= begin && (begin != 0 || tail == 0) : tail != 0)) {
          reinterpret_cast<Element*>(to)[at] = reinterpret_cast<const Element*>(from)[at];
        }
      }
    }
  }
}

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_WGMMA_ROWS_CUH_
