// What repack.cu is launched with; both the host and the kernel include this.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_REPACK_ARGS_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_REPACK_ARGS_H_

namespace rooftune {

// n / divisor as (n * factor) >> shift, exact for n below 2^31: a division costs more than a copy
// of 16 bytes.
struct FastDivision {
  unsigned factor;
  unsigned shift;
};

// Matrices of lines, each with its items one after the other in the target.
struct RepackOperand {
  const char* source;
  char* target;                // 16-byte aligned
  long long line_stride;       // bytes, in the source
  long long item_stride;       // likewise
  long long batch_strides[6];  // likewise, outermost axis first
  unsigned batch_extents[6];
  int batch_rank;
  unsigned batch;  // product of batch_extents
  unsigned lines;
  unsigned items;
  unsigned chunks;  // of 16 bytes in a line of the target: its pitch
  unsigned pieces;  // of these, how many have items
  FastDivision by_pieces;
  FastDivision by_lines;
  unsigned line_tiles, item_tiles;  // when it is transposed
  // Of bytes that are transposed: four lines lie next to each other in an aligned word.
  bool wide;
  // Lines follow each other without a gap: reading across their ends stays inside the operand.
  bool dense;
  unsigned blocks;  // of the launch, for this operand
};

struct RepackArgs {
  RepackOperand a, b;
};

#ifndef __CUDACC_RTC__
inline constexpr unsigned kRepackThreads = 256;
// Lines and items of a tile that is transposed; of wide ones.
inline constexpr unsigned kRepackTile = 64, kRepackWideTile = 128;

// `divisor` is at least 1 and below 2^31.
constexpr FastDivision fast_division(unsigned divisor) {
  unsigned log2 = 0;
  while ((1ull << log2) < divisor) ++log2;
  const unsigned long long power = 1ull << (31 + log2);
  return {static_cast<unsigned>((power + divisor - 1) / divisor), 31 + log2};
}

// Chunks that a thread copies in a row: enough loads in flight to hide memory, and no more
// registers than leave full occupancy.
constexpr unsigned repack_chunks_per_thread(bool narrow) { return narrow ? 2 : 4; }
#endif

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_REPACK_ARGS_H_
