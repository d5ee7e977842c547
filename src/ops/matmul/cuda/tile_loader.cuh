// Brings an operand's tiles from global to shared memory: by all threads of a group through
// registers, in one of three ways, or by bulk tensor copies.
#ifndef ROOFTUNE_TILE_LOADER_CUH_
#define ROOFTUNE_TILE_LOADER_CUH_

#include "ops/matmul/cuda/accelerated_args.h"
#include "ops/matmul/cuda/barriers.cuh"
#include "ops/matmul/cuda/tf32.cuh"
#include "ops/matmul/cuda/tile_stage.cuh"

#define LOAD_ALIGNED 0  // lines of global memory are aligned to 16 bytes, and stay lines
#define LOAD_SHIFTED 1  // they are aligned to elements: two aligned loads hold the 16 bytes wanted
#define LOAD_GATHER 2   // elements at any strides; lines of k are put together from single loads
#define LOAD_BULK 3     // bulk tensor copies
#define LOAD_RAW \
  4  // whole aligned 16 bytes as they are in memory, one more than a line needs;
     // fragments are then put together from where their elements came to lie

__device__ __forceinline__ uint4 load_16(const char* from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(__cvta_generic_to_global(from)));
  return v;
}

__device__ __forceinline__ void store_16(uint32 to, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
               "r"(v.w)
               : "memory");
}

template <int kBytes>
struct word_of;
template <>
struct word_of<1> {
  using type = uint8;
};
template <>
struct word_of<2> {
  using type = uint16;
};
template <>
struct word_of<4> {
  using type = uint32;
};

template <int kSize>
__device__ __forceinline__ void store_element(uint32 to, const char* from) {
  if constexpr (kSize == 2) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(*reinterpret_cast<const uint16*>(from))
                 : "memory");
  } else {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(*reinterpret_cast<const uint32*>(from))
                 : "memory");
  }
}
template <int kSize>
__device__ __forceinline__ void store_zero(uint32 to) {
  if constexpr (kSize == 2) {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(uint16(0)) : "memory");
  } else {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(0) : "memory");
  }
}

// `valid` elements at a byte distance of `step`, then zeros.
template <int kSize>
__device__ __forceinline__ uint4 load_elements(const char* from, int64 step, int valid) {
  uint64 low = 0, high = 0;
#pragma unroll 1
  for (int e = 0; e < valid; ++e) {
    const uint64 x = *reinterpret_cast<const typename word_of<kSize>::type*>(from + e * step);
    const int bits = e * kSize * 8;
    if (bits < 64) {
      low |= x << bits;
    } else {
      high |= x << (bits - 64);
    }
  }
  return {uint32(low), uint32(low >> 32), uint32(high), uint32(high >> 32)};
}

// Bytes shift ... shift + 15 of two neighbouring vectors.
__device__ __forceinline__ uint4 shifted(uint4 a, uint4 b, uint32 shift) {
  const bool two = shift & 8, one = shift & 4;
  const uint32 w0 = two ? a.z : a.x, w1 = two ? a.w : a.y, w2 = two ? b.x : a.z,
               w3 = two ? b.y : a.w, w4 = two ? b.z : b.x, w5 = two ? b.w : b.y;
  const uint32 v0 = one ? w1 : w0, v1 = one ? w2 : w1, v2 = one ? w3 : w2, v3 = one ? w4 : w3,
               v4 = one ? w5 : w4;
  const uint32 bits = (shift & 3) * 8;
  return {__funnelshift_r(v0, v1, bits), __funnelshift_r(v1, v2, bits),
          __funnelshift_r(v2, v3, bits), __funnelshift_r(v3, v4, bits)};
}

// One operand of one block, in bytes. A line is what is contiguous in memory (for LOAD_GATHER, what
// will be): terms of k for one row of A or column of B when kKMajor, else rows or columns for one
// k.
struct Lines {
  const char* data;
  int64 pitch;   // from line to line
  int64 step;    // from element to element of a line; only LOAD_GATHER looks at it
  int64 lines;   // how many there are,
  int64 length;  // and elements in each
  bool packed;   // a line begins where the one before ends
};

// kThreads threads, of which this is number `thread`, copy tiles of kKMajor ? kMn lines of kK
// elements : kK lines of kMn elements. fetch() asks for a tile, put() writes it to shared memory.
template <class S, int kMode, bool kKMajor, int kSize, int kThreads, bool kTf32>
struct Loader {
  static constexpr int kPerLine = S::kLineBytes / 16;
  static constexpr int kChunkElements = 16 / kSize;
  static constexpr int kLineElements = S::kLineBytes / kSize;
  static constexpr int kCopiesPerLine = kPerLine + (kMode == LOAD_RAW);
  static constexpr int kChunks = S::kLines * kPerLine / kThreads;
  static constexpr int kK = kKMajor ? kLineElements : S::kLines;
  static_assert(kMode == LOAD_RAW || kChunks * kThreads == S::kLines * kPerLine);
  static_assert(kMode == LOAD_RAW || kThreads % kPerLine == 0);

  const Lines& from;
  int64 first;  // line or element of the tile, along m or n
  int thread;
  uint4 chunk[kChunks];
  uint4 next[kMode == LOAD_SHIFTED ? kChunks : 1];
  uint32 shift[kMode == LOAD_SHIFTED ? kChunks : 1];

  __device__ __forceinline__ Loader(const Lines& from_, int64 first_, int thread_)
      : from(from_), first(first_), thread(thread_) {}

  // Neighbouring threads take neighbouring bytes of global memory.
  __device__ __forceinline__ int line(int i) const {
    return kMode == LOAD_GATHER ? (thread + i * kThreads) % S::kLines
                                : thread / kPerLine + i * (kThreads / kPerLine);
  }
  __device__ __forceinline__ int column(int i) const {
    return kMode == LOAD_GATHER ? (thread + i * kThreads) / S::kLines : thread % kPerLine;
  }

  __device__ __forceinline__ void fetch(int tile) {
    const int64 k = int64(tile) * kK;
    const int64 line0 = kKMajor ? first : k, element0 = kKMajor ? k : first;
    const char* data = from.data + line0 * from.pitch + element0 * from.step;
    const int64 lines = from.lines - line0, length = from.length - element0;
    if constexpr (kMode == LOAD_GATHER) {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const int at = column(i) * kChunkElements;
        const char* p = data + line(i) * from.pitch + at * from.step;
        if (line(i) < lines && length - at >= kChunkElements) {
          union {
            uint4 vector;
            typename word_of<kSize>::type element[kChunkElements];
          } all;
#pragma unroll
          for (int e = 0; e < kChunkElements; ++e) {
            all.element[e] =
                *reinterpret_cast<const typename word_of<kSize>::type*>(p + e * from.step);
          }
          chunk[i] = all.vector;
        } else {
          chunk[i] = load_elements<kSize>(p, from.step, valid(line(i), at, lines, length));
        }
      }
      return;
    }
    data += int64(thread / kPerLine) * from.pitch + thread % kPerLine * 16;
    const int64 leap = from.pitch * (kThreads / kPerLine);
    bool whole = lines >= S::kLines && length >= kLineElements;
    if constexpr (kMode == LOAD_SHIFTED) {
      // The aligned loads reach up to 15 bytes further on either side; those must be elements too.
      const bool before = element0 > 0 || (from.packed && line0 > 0);
      const bool after =
          length >= kLineElements + kChunkElements || (from.packed && lines > S::kLines);
      whole = whole && before && after;
    }
    if (whole) {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const char* p = data + i * leap;
        if constexpr (kMode == LOAD_SHIFTED) {
          shift[i] = uint32(reinterpret_cast<uint64>(p)) & 15;
          p -= shift[i];
          next[i] = load_16(p + 16);
        }
        chunk[i] = load_16(p);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const int at = thread % kPerLine * kChunkElements;
        const int count = valid(line(i), at, lines, length);
        const char* p = data + i * leap;
        if (kMode == LOAD_ALIGNED && count == kChunkElements) {
          chunk[i] = load_16(p);
        } else {
          chunk[i] = load_elements<kSize>(p, kSize, count);
        }
        if constexpr (kMode == LOAD_SHIFTED) shift[i] = 0;
      }
    }
  }

  __device__ __forceinline__ void put(uint32 stage) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      uint4 v = chunk[i];
      if constexpr (kMode == LOAD_SHIFTED) v = shifted(v, next[i], shift[i]);
      if constexpr (kTf32) v = {to_tf32(v.x), to_tf32(v.y), to_tf32(v.z), to_tf32(v.w)};
      store_16(stage + S::offset(line(i), column(i) * 16), v);
    }
  }

  // The same without registers in between, by copies that come later: aligned lines or raw ones.
  __device__ __forceinline__ void copy(int tile, uint32 stage) const {
    if constexpr (kMode == LOAD_RAW) {
      copy_raw(tile, stage);
      return;
    }
    const int64 k = int64(tile) * kK;
    const int64 line0 = kKMajor ? first : k, element0 = kKMajor ? k : first;
    const char* data = from.data + line0 * from.pitch + element0 * kSize;
    const int64 lines = from.lines - line0, length = from.length - element0;
    if (lines >= S::kLines && length >= kLineElements) {
      const char* p = data + int64(thread / kPerLine) * from.pitch + thread % kPerLine * 16;
      const int64 leap = from.pitch * (kThreads / kPerLine);
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        copy_async(stage + S::offset(line(i), column(i) * 16), p, 16);
        p += leap;
      }
      return;
    }
#pragma unroll 1
    for (int i = 0; i < kChunks; ++i) {
      const int at = column(i) * kChunkElements;
      const int count = valid(line(i), at, lines, length);
      // Without a byte to read, any address of the operand will do.
      const char* p = count > 0 ? data + line(i) * from.pitch + at * kSize : from.data;
      copy_async(stage + S::offset(line(i), column(i) * 16), p, count * kSize);
    }
  }

  __device__ __forceinline__ void copy_raw(int tile, uint32 stage) const {
    constexpr int kCopies = S::kLines * kCopiesPerLine;
    const int64 k = int64(tile) * kK;
    const int64 line0 = kKMajor ? first : k, element0 = kKMajor ? k : first;
    const char* data = from.data + line0 * from.pitch + element0 * kSize;
    const int64 lines = from.lines - line0, length = from.length - element0;
    constexpr int kRounds = (kCopies + kThreads - 1) / kThreads;
    // What lies before and after a line is read too: it must be of the operand, and zero where it
    // counts as a term of k.
    const bool before = element0 > 0 || (from.packed && line0 > 0);
    const bool after = length >= kLineElements + kChunkElements ||
                       (!kKMajor && from.packed &&
                        (lines - S::kLines) * from.length >= kLineElements + kChunkElements);
    if (lines >= S::kLines && before && after) {
#pragma unroll
      for (int i = 0; i < kRounds; ++i) {
        const int q = thread + i * kThreads;
        const int number = q / kCopiesPerLine, at = q % kCopiesPerLine * 16;
        const char* line = data + number * from.pitch;
        if (kCopies % kThreads == 0 || q < kCopies) {
          copy_async(stage + S::line_of(number) * S::kPitch + at,
                     line - (uint32(reinterpret_cast<uint64>(line)) & 15) + at, 16);
        }
      }
      return;
    }
#pragma unroll 1
    for (int q = thread; q < kCopies; q += kThreads) {
      const int number = q / kCopiesPerLine, at = q % kCopiesPerLine * 16;
      const char* line = data + number * from.pitch;
      const char* p = line - (uint32(reinterpret_cast<uint64>(line)) & 15) + at;
      const uint32 to = stage + S::line_of(number) * S::kPitch + at;
      const int64 left = number < lines ? line + length * kSize - p : 0;
      const int count = left < 0 ? 0 : left < 16 ? int(left) : 16;
      const char* begin = from.packed ? from.data : line - element0 * kSize;
      if (count == 0 || p >= begin) {
        // Without a byte to read, any address of the operand will do.
        copy_async(to, count > 0 ? p : from.data, count);
      } else {
        // These 16 bytes begin before the operand does; what lies there is never looked at.
#pragma unroll 1
        for (int byte = int(begin - p); byte < count; byte += kSize) {
          store_element<kSize>(to + byte, p + byte);
        }
#pragma unroll 1
        for (int byte = count; byte < 16; byte += kSize) store_zero<kSize>(to + byte);
      }
    }
  }

  // How far into the first 16 bytes of line `number` of a tile its elements begin.
  __device__ __forceinline__ uint32 skipped(int number) const {
    const char* line = from.data + (kKMajor ? first + number : int64(number)) * from.pitch +
                       (kKMajor ? 0 : first * kSize);
    return uint32(reinterpret_cast<uint64>(line)) & 15;
  }

 private:
  __device__ __forceinline__ static int valid(int line, int at, int64 lines, int64 length) {
    const int64 left = line < lines ? length - at : 0;
    return left < 0 ? 0 : left < kChunkElements ? int(left) : kChunkElements;
  }
};

#if __CUDA_ARCH__ >= 900
// By one thread. The copies arrive on `barrier`.
template <class S, bool kKMajor, int kSize>
__device__ __forceinline__ void copy_bulk(const rooftune::TensorMap& map, int first, int k,
                                          int matrix, uint32 stage, uint32 barrier) {
  const int line = kKMajor ? first : k, element = kKMajor ? k : first;
#pragma unroll
  for (int piece = 0; piece < S::kPieces; ++piece) {
    copy_tensor(stage + piece * S::kPieceBytes, &map, barrier,
                element + piece * (S::kPiece / kSize), line, matrix);
  }
}
#endif

#endif  // ROOFTUNE_TILE_LOADER_CUH_
