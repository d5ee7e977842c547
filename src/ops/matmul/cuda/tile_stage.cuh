// How an operand's tile lies in shared memory: lines of bytes that are contiguous there as in global
// memory, each line cut into pieces, all first pieces before all second ones.
#ifndef ROOFTUNE_TILE_STAGE_CUH_
#define ROOFTUNE_TILE_STAGE_CUH_

#include "ops/matmul/cuda/types.cuh"

// kPiece bytes of a line at a distance of kPitch; kMask says which bits of an address within a piece
// are turned over by the line's number (the swizzle of bulk tensor copies: 16-byte units, so that
// eight lines of ldmatrix fall on different banks). Lines of residue r of kResidues lie together,
// with a gap after them when they count terms of k, for the same reason.
template <int kLines_, int kLineBytes_, int kPiece_, int kPitch_, int kMask_, int kResidues = 1,
          bool kGaps = false>
struct Stage {
  static constexpr int kLines = kLines_;
  static constexpr int kLineBytes = kLineBytes_;
  static constexpr int kPiece = kPiece_;
  static constexpr int kPitch = kPitch_;
  static constexpr int kMask = kMask_;
  static constexpr int kPieces = kLineBytes / kPiece;
  static constexpr int kResidueLines = kLines / kResidues + (kGaps && kResidues > 1 ? 8 / kResidues : 0);
  static constexpr int kPieceBytes = kResidueLines * kResidues * kPitch;
  static constexpr int kBytes = kPieces * kPieceBytes;

  __device__ __forceinline__ static int line_of(int number) {
    return kResidues == 1 ? number : (number % kResidues) * kResidueLines + number / kResidues;
  }
  __device__ __forceinline__ static uint32 turned(int line) {
    return (uint32(line * kPitch) >> 3) & kMask;
  }
  // Of byte `at` of the line in place `line`.
  __device__ __forceinline__ static uint32 offset(int line, int at) {
    return at / kPiece * kPieceBytes + line * kPitch + (uint32(at % kPiece) ^ turned(line));
  }
};

// The forms of this file's kernels: swizzled for mma, padded by 16 bytes for wmma, whose loads know
// no swizzle; bulk copies cannot pad, so that wmma reads pieces of 32 bytes there.
template <int kLines, int kLineBytes, int kResidues, bool kGaps>
struct SwizzledStage {
  static constexpr int kPiece = kLineBytes < 128 ? kLineBytes : 128;
  using type = Stage<kLines, kLineBytes, kPiece, kPiece, kPiece - 16, kResidues, kGaps>;
};

#endif  // ROOFTUNE_TILE_STAGE_CUH_
