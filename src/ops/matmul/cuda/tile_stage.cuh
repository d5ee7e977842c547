// How an operand's tile lies in shared memory: lines of bytes that are contiguous there as in
// global memory, each line cut into pieces, all first pieces before all second ones.
#ifndef ROOFTUNE_TILE_STAGE_CUH_
#define ROOFTUNE_TILE_STAGE_CUH_

#include "device/cuda/types.cuh"

// kPiece bytes of a line at a distance of kPitch; kMask says which bits of an address within a
// piece are turned over by the line's number (the swizzle of bulk tensor copies: 16-byte units, so
// that eight lines of ldmatrix fall on different banks). Lines whose numbers leave the same rest
// when divided by kResidues lie together.
template <int kLines_, int kLineBytes_, int kPiece_, int kPitch_, int kMask_, int kResidues = 1>
struct Stage {
  static constexpr int kLines = kLines_;
  static constexpr int kLineBytes = kLineBytes_;
  static constexpr int kPiece = kPiece_;
  static constexpr int kPitch = kPitch_;
  static constexpr int kMask = kMask_;
  static constexpr int kPieces = kLineBytes / kPiece;
  static constexpr int kPieceBytes = kLines * kPitch;
  static constexpr int kBytes = kPieces * kPieceBytes;
  static constexpr int kResidueLines = kLines / kResidues;

  __device__ __forceinline__ static int line_of(int number) {
    return number % kResidues * kResidueLines + number / kResidues;
  }
  __device__ __forceinline__ static int number_of(int line) {
    return line % kResidueLines * kResidues + line / kResidueLines;
  }
  __device__ __forceinline__ static uint32 turned(int line) {
    return (uint32(line * kPitch) >> 3) & kMask;
  }
  // Of byte `at` of the line in place `line`.
  __device__ __forceinline__ static uint32 offset(int line, int at) {
    return at / kPiece * kPieceBytes + line * kPitch + (uint32(at % kPiece) ^ turned(line));
  }
};

#endif  // ROOFTUNE_TILE_STAGE_CUH_
