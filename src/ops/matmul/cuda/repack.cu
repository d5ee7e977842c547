// Brings operands into the form that bulk tensor copies take: lines of contiguous items, each on a
// 16-byte boundary. Both operands of a product in one launch, at the memory's rate.
//
// A_FORM, B_FORM: 0 the operand stays where it is; 1 its items are contiguous and lines are copied;
//                 2 anything else: tiles go through shared memory
// BYTES:          of an item in the source
// UNIT:           bytes that a load may take: BYTES, or 1 where operands are misaligned
// NARROW:         1 rounds f32 to bf16 on the way
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/repack_args.h"

using namespace rooftune;

constexpr int kThreads = 256;
constexpr int kOutBytes = NARROW ? 2 : BYTES;
constexpr int kItems = 16 / kOutBytes;  // of a chunk of the target

__device__ __forceinline__ uint32 divide(uint32 n, FastDivision by) {
  return uint32((uint64(n) * by.factor) >> by.shift);
}

// Out of line: rare, and long.
__device__ __noinline__ int64 offset_over_axes(const RepackOperand& x, uint32 batch) {
  int64 offset = 0;
#pragma unroll 1
  for (int axis = x.batch_rank - 1; axis >= 0; --axis) {
    const uint32 outer = batch / x.batch_extents[axis];
    offset += (batch - outer * x.batch_extents[axis]) * x.batch_strides[axis];
    batch = outer;
  }
  return offset;
}
__device__ __forceinline__ int64 batch_offset(const RepackOperand& x, uint32 batch) {
  return x.batch_rank <= 1 ? batch * x.batch_strides[0] : offset_over_axes(x, batch);
}

// Rounds to bf16. What is finite stays finite.
__device__ __forceinline__ float finite_in_bf16(float x) {
  const uint32 bits = __float_as_uint(x);
  const uint32 size = bits & 0x7fffffff;
  const bool overflows = size >= 0x7f7f8000 && size < 0x7f800000;
  return __uint_as_float(overflows ? (bits & 0x80000000) | 0x7f7f0000 : bits);
}
__device__ __forceinline__ uint32 narrow_pair(uint32 low, uint32 high) {
  return rounded_pair(finite_in_bf16(__uint_as_float(low)), finite_in_bf16(__uint_as_float(high)),
                      bf16{});
}

// Where loads may go.
struct Span {
  uint64 begin, end;
};

template <int kBytes>
__device__ __forceinline__ uint32 load_unit(uint64 address) {
  if constexpr (kBytes == 4) return __ldg(reinterpret_cast<const uint32*>(address));
  if constexpr (kBytes == 2) return __ldg(reinterpret_cast<const uint16*>(address));
  return __ldg(reinterpret_cast<const uint8*>(address));
}

// The 16 bytes at an aligned address of which only some are inside. Out of line: rare, and long.
__device__ __noinline__ uint4 load_partly(uint64 address, uint64 begin, uint64 end) {
  uint32 words[4] = {};
#pragma unroll
  for (int byte = 0; byte < 16; byte += UNIT) {
    const uint64 here = address + byte;
    if (here >= begin && here < end) words[byte / 4] |= load_unit<UNIT>(here) << (byte % 4 * 8);
  }
  return {words[0], words[1], words[2], words[3]};
}

__device__ __forceinline__ uint4 load_aligned(uint64 address, Span span) {
  if (address >= span.begin && address + 16 <= span.end) {
    return __ldg(reinterpret_cast<const uint4*>(address));
  }
  if (address + 16 <= span.begin || address >= span.end) return {0, 0, 0, 0};
  return load_partly(address, span.begin, span.end);
}

// Bytes offset ... offset + 15 of two neighbours, offset below 16.
__device__ __forceinline__ uint4 shifted(uint4 first, uint4 second, uint32 offset) {
  const bool by_two = offset & 8, by_one = offset & 4;
  const uint32 x0 = by_two ? first.z : first.x, x1 = by_two ? first.w : first.y;
  const uint32 x2 = by_two ? second.x : first.z, x3 = by_two ? second.y : first.w;
  const uint32 x4 = by_two ? second.z : second.x, x5 = by_two ? second.w : second.y;
  const uint32 y0 = by_one ? x1 : x0, y1 = by_one ? x2 : x1, y2 = by_one ? x3 : x2;
  const uint32 y3 = by_one ? x4 : x3, y4 = by_one ? x5 : x4;
  const uint32 bits = (offset & 3) * 8;
  return {__funnelshift_r(y0, y1, bits), __funnelshift_r(y1, y2, bits),
          __funnelshift_r(y2, y3, bits), __funnelshift_r(y3, y4, bits)};
}

// Copies lines. A chunk of the target is cut out of the aligned vectors that cover it, so that rows
// on odd addresses take hardly more memory transactions than aligned ones.
__device__ __forceinline__ void copy_lines(const RepackOperand& x, uint32 block) {
  constexpr int kChunks = NARROW ? 2 : 4;   // of a thread
  constexpr int kVectors = NARROW ? 3 : 2;  // that cover the source of one
  const uint32 total = x.pieces * x.lines * x.batch;
  const uint32 first = block * (kThreads * kChunks) + threadIdx.x;

  uint4 vectors[kChunks][kVectors];
  uint32 offsets[kChunks];
  char* targets[kChunks];
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const uint32 index = first + i * kThreads;
    targets[i] = nullptr;
    if (index >= total) continue;
    const uint32 line = divide(index, x.by_pieces);
    const uint32 chunk = index - line * x.pieces;
    const uint32 batch = divide(line, x.by_lines);
    targets[i] = x.target + (int64(line) * x.chunks + chunk) * 16;
    const uint64 matrix = reinterpret_cast<uint64>(x.source) + batch_offset(x, batch);
    const uint64 start = matrix + (line - batch * x.lines) * x.line_stride;
    const int64 line_bytes = int64(x.items) * BYTES;
    const Span span = {x.dense ? matrix : start,
                       (x.dense ? matrix + (x.lines - 1) * x.line_stride : start) + line_bytes};
    const uint64 address = start + uint64(chunk) * (kItems * BYTES);
    offsets[i] = address & 15;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const bool needed = v < kVectors - 1 || offsets[i] != 0;
      vectors[i][v] = needed ? load_aligned((address & ~uint64(15)) + v * 16, span) : uint4{};
    }
  }
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    if (targets[i] == nullptr) continue;
    uint4 chunk = shifted(vectors[i][0], vectors[i][1], offsets[i]);
    if constexpr (NARROW) {
      const uint4 second = shifted(vectors[i][1], vectors[i][2], offsets[i]);
      chunk = {narrow_pair(chunk.x, chunk.y), narrow_pair(chunk.z, chunk.w),
               narrow_pair(second.x, second.y), narrow_pair(second.z, second.w)};
    }
    *reinterpret_cast<uint4*>(targets[i]) = chunk;
  }
}

template <int kBytes>
struct bits_of {
  using type = uint32;
};
template <>
struct bits_of<2> {
  using type = uint16;
};
template <>
struct bits_of<1> {
  using type = uint8;
};

__device__ __forceinline__ uint32 load_item(uint64 address) {
  if constexpr (UNIT == BYTES) return load_unit<BYTES>(address);
  uint32 bits = 0;
#pragma unroll
  for (int byte = 0; byte < BYTES; ++byte) bits |= load_unit<1>(address + byte) << (byte * 8);
  return bits;
}

// A tile of 64 lines by 64 items: read along the lines' axis, where neighbours are expected in
// memory, written along the items'.
__device__ __forceinline__ void transpose_tile(const RepackOperand& x, uint32 block) {
  constexpr int kTile = 64;
  using Bits = typename bits_of<kOutBytes>::type;
  // With this many items between rows, the reads of a warp below meet no bank twice.
  constexpr int kPitch = kOutBytes == 1 ? kTile + 2 : kTile + 1;
  __shared__ Bits tile[kTile * kPitch];

  const uint32 tiles = x.line_tiles * x.item_tiles;
  const uint32 batch = block / tiles;
  const uint32 item_tile = (block - batch * tiles) / x.line_tiles;
  const uint32 line0 = (block - batch * tiles - item_tile * x.line_tiles) * kTile;
  const uint32 item0 = item_tile * kTile;
  const uint64 matrix = reinterpret_cast<uint64>(x.source) + batch_offset(x, batch);

  const uint32 line = threadIdx.x % kTile;
  constexpr int kStep = kThreads / kTile;
  uint32 bits[kTile / kStep];
#pragma unroll
  for (int i = 0; i < kTile / kStep; ++i) {
    const uint32 item = item0 + threadIdx.x / kTile + i * kStep;
    const bool inside = line0 + line < x.lines && item < x.items;
    bits[i] =
        inside ? load_item(matrix + (line0 + line) * x.line_stride + item * x.item_stride) : 0;
  }
#pragma unroll
  for (int i = 0; i < kTile / kStep; ++i) {
    if constexpr (NARROW) bits[i] = narrow_pair(bits[i], 0);
    tile[(threadIdx.x / kTile + i * kStep) * kPitch + line] = Bits(bits[i]);
  }
  __syncthreads();

  // 128 bytes of a line by neighbouring threads, or the 64 that a tile of bytes has.
  constexpr int kChunks = kTile / kItems;
  constexpr int kAcross = kChunks < 8 ? kChunks : 8;
#pragma unroll
  for (int i = threadIdx.x; i < kTile * kChunks; i += kThreads) {
    const uint32 chunk = i % kAcross + i / (kAcross * kTile) * kAcross;
    const uint32 row = i / kAcross % kTile;
    if (line0 + row >= x.lines || item0 + chunk * kItems >= x.items) continue;
    uint32 words[4] = {};
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const uint32 byte = item * kOutBytes;
      words[byte / 4] |= uint32(tile[(chunk * kItems + item) * kPitch + row]) << (byte % 4 * 8);
    }
    char* target = x.target + ((int64(batch) * x.lines + line0 + row) * x.chunks + chunk) * 16 +
                   int64(item0) * kOutBytes;
    *reinterpret_cast<uint4*>(target) = {words[0], words[1], words[2], words[3]};
  }
}

#if BYTES == 1
// Word i becomes byte i of each of the four.
__device__ __forceinline__ void transpose_words(uint32 (&x)[4]) {
  const uint32 low01 = __byte_perm(x[0], x[1], 0x5140), low23 = __byte_perm(x[2], x[3], 0x5140);
  const uint32 high01 = __byte_perm(x[0], x[1], 0x7362), high23 = __byte_perm(x[2], x[3], 0x7362);
  x[0] = __byte_perm(low01, low23, 0x5410);
  x[1] = __byte_perm(low01, low23, 0x7632);
  x[2] = __byte_perm(high01, high23, 0x5410);
  x[3] = __byte_perm(high01, high23, 0x7632);
}

// The same for bytes of which four neighbouring lines make an aligned word: a tile of 128 by 128,
// for whole cache lines on both sides.
__device__ __forceinline__ void transpose_wide_tile(const RepackOperand& x, uint32 block) {
  constexpr uint32 kTile = 128, kWords = kTile / 4, kGroups = kTile / 16;
  // A word between items for the writes, and 4 between groups of 16 of them for the reads.
  constexpr uint32 kPitch = kWords + 1, kGroupPitch = 16 * kPitch + 4;
  __shared__ uint32 tile[kGroups * kGroupPitch];

  const uint32 tiles = x.line_tiles * x.item_tiles;
  const uint32 batch = block / tiles;
  const uint32 item_tile = (block - batch * tiles) / x.line_tiles;
  const uint32 line0 = (block - batch * tiles - item_tile * x.line_tiles) * kTile;
  const uint32 item0 = item_tile * kTile;
  const uint64 matrix = reinterpret_cast<uint64>(x.source) + batch_offset(x, batch);

  const uint32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32 words[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32 item = item0 + warp + i * 8;
    const uint32 line = line0 + lane * 4;
    const bool inside = line < x.lines && item < x.items;
    words[i] = inside ? load_unit<4>(matrix + line + item * x.item_stride) : 0;
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32 item = warp + i * 8;
    tile[item / 16 * kGroupPitch + item % 16 * kPitch + lane] = words[i];
  }
  __syncthreads();

  const uint32 group = threadIdx.x % kGroups, quad = threadIdx.x / kGroups;
  if (item0 + group * 16 >= x.items || line0 + quad * 4 >= x.lines) return;
#pragma unroll
  for (int i = 0; i < 16; ++i) words[i] = tile[group * kGroupPitch + i * kPitch + quad];
  uint32 chunks[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32 square[4] = {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]};
    transpose_words(square);
#pragma unroll
    for (int line = 0; line < 4; ++line) chunks[line][i] = square[line];
  }
#pragma unroll
  for (int line = 0; line < 4; ++line) {
    const int64 at = int64(batch) * x.lines + line0 + quad * 4 + line;
    *reinterpret_cast<uint4*>(x.target + (at * x.chunks + group) * 16 + item0) = {
        chunks[line][0], chunks[line][1], chunks[line][2], chunks[line][3]};
  }
}
#endif

template <int kForm>
__device__ __forceinline__ void repack(const RepackOperand& x, uint32 block) {
  if constexpr (kForm == 1) copy_lines(x, block);
  if constexpr (kForm == 2) {
#if BYTES == 1
    if (x.wide) return transpose_wide_tile(x, block);
#endif
    transpose_tile(x, block);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    rooftune_kernel(const __grid_constant__ RepackArgs args) {
  const bool second = blockIdx.x >= args.a.blocks;
  const uint32 block = blockIdx.x - (second ? args.a.blocks : 0);
  if constexpr (A_FORM == B_FORM) {
    repack<A_FORM>(second ? args.b : args.a, block);
  } else if (second) {
    repack<B_FORM>(args.b, block);
  } else {
    repack<A_FORM>(args.a, block);
  }
}
