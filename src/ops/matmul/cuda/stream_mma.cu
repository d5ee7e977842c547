// A few vectors against a matrix of 16-bit or 8-bit elements at the memory's rate. The matrix goes
// from memory to registers 16 bytes a lane and from there to the tensor cores: they take rows of it
// as their 16 and the vectors as their 8, and the order of k inside a step is whatever the loads
// give, the same for both operands.
#include "ops/matmul/cuda/stream.cuh"

constexpr int kVectorTiles = (VECTORS + 7) / 8;

// --- One instruction: 16 rows x 8 vectors, 16 terms of f16 or bf16, or 32 of bytes.
#define ROOFTUNE_MMA(W, X, SHAPE, TYPES, SUM, LETTER)                                        \
  __device__ __forceinline__ void mma(SUM* c, const uint32* w, uint32 x0, uint32 x1, W, X) { \
    asm("mma.sync.aligned." SHAPE ".row.col." TYPES                                          \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                   \
        : "+" LETTER(c[0]), "+" LETTER(c[1]), "+" LETTER(c[2]), "+" LETTER(c[3])             \
        : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(x0), "r"(x1));                     \
  }
ROOFTUNE_MMA(bf16, bf16, "m16n8k16", "f32.bf16.bf16.f32", float, "f")
ROOFTUNE_MMA(f16, f16, "m16n8k16", "f32.f16.f16.f32", float, "f")
ROOFTUNE_MMA(int8, int8, "m16n8k32", "s32.s8.s8.s32", int, "r")
ROOFTUNE_MMA(int8, uint8, "m16n8k32", "s32.s8.u8.s32", int, "r")
ROOFTUNE_MMA(uint8, int8, "m16n8k32", "s32.u8.s8.s32", int, "r")
ROOFTUNE_MMA(uint8, uint8, "m16n8k32", "s32.u8.u8.s32", int, "r")

// --- What the instruction is given: f8 becomes f16, which holds all of it.
template <class T>
struct traits {
  using Fed = T;
  static constexpr bool kF8 = false;
};
template <>
struct traits<f8e4m3> {
  using Fed = f16;
  static constexpr bool kF8 = true;
};
template <>
struct traits<f8e5m2> {
  using Fed = f16;
  static constexpr bool kF8 = true;
};
constexpr bool kF8 = traits<WElement>::kF8;
[[maybe_unused]] constexpr bool kBytes =
    sizeof(Sum) == 4 && Sum(0.5f) == Sum(0);  // sums are integers
using WFed = traits<WElement>::Fed;
using XFed = traits<XElement>::Fed;

// The two lower bytes of a word, one f8 each, as two f16.
__device__ __forceinline__ uint32 as_f16(uint32 pair, f8e5m2) {
  return __byte_perm(pair, 0, 0x1404);
}
__device__ __forceinline__ uint32 as_f16(uint32 pair, f8e4m3) {
  uint32 wide;
#if __CUDA_ARCH__ >= 890
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(wide) : "h"(uint16(pair)));
#else
  // Its exponent is 8 too small once its bits are in place.
  const uint32 spread = __byte_perm(pair, 0, 0x1404);
  asm("mul.f16x2 %0, %1, %2;" : "=r"(wide) : "r"((spread & 0x7f007f00) >> 1), "r"(0x5c005c00));
  if ((spread & 0x7f00) == 0x7f00) wide |= 0x7fff;
  if ((spread & 0x7f000000) == 0x7f000000) wide |= 0x7fff0000;
  wide |= spread & 0x80008000;
#endif
  return wide;
}
// Other types are never converted.
template <class T>
__device__ __forceinline__ uint32 as_f16(uint32 pair, T) {
  return pair;
}

// Part `s` of a load along k: the lane's lower and upper terms of one instruction.
[[maybe_unused]] constexpr int kParts = kF8 ? 4 : 2;
template <class T>
__device__ __forceinline__ uint32 lower(const uint32* words, int s, T type) {
  return kF8 ? as_f16(words[s], type) : words[2 * s % 4];
}
template <class T>
__device__ __forceinline__ uint32 upper(const uint32* words, int s, T type) {
  return kF8 ? as_f16(words[s] >> 16, type) : words[(2 * s + 1) % 4];
}

struct Product {
#if COLUMNS
  // A lane has kElements neighbouring rows and kTerms neighbouring terms.
  static constexpr int kTerms = kBytes ? 8 : 4, kLoads = kTerms, kTiles = kElements / 2;
#else
  // A lane has two rows of each tile and kTerms neighbouring terms.
  static constexpr int kTerms = kElements, kLoads = 2 * ROW_GROUPS, kTiles = ROW_GROUPS;
#endif
  static constexpr int kXWords = kTerms * int(sizeof(XElement)) / 4;
  Sum sums[kTiles][kVectorTiles][4] = {};

  template <bool kGuard>
  __device__ __forceinline__ void multiply(const Words (&w)[kLoads],
                                           const rooftune::StreamArgs& args, const Place& place,
                                           const XElement* from, int64 k) {
    uint32 x[kVectorTiles][kXWords];
#pragma unroll
    for (int t = 0; t < kVectorTiles; ++t) {
      const int64 v = at_most(t * 8 + place.lane_r, args.vectors - 1);
      load_x<kGuard, kTerms>(x[t], args, from + v * args.x_v, k);
    }
#if COLUMNS
    columns(w, x);
#else
    rows(w, x);
#endif
  }

#if COLUMNS
  __device__ __forceinline__ void columns(const Words (&w)[kLoads],
                                          const uint32 (&x)[kVectorTiles][kXWords]) {
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      // Row by row instead of term by term.
      if (sizeof(WElement) == 2) {
        const uint32 part[4] = {__byte_perm(w[0].word[m], w[1].word[m], 0x5410),
                                __byte_perm(w[0].word[m], w[1].word[m], 0x7632),
                                __byte_perm(w[2].word[m], w[3].word[m], 0x5410),
                                __byte_perm(w[2].word[m], w[3].word[m], 0x7632)};
#pragma unroll
        for (int t = 0; t < kVectorTiles; ++t)
          mma(sums[m % kTiles][t], part, x[t][0], x[t][1], WFed(), XFed());
      } else {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const uint32 order = h == 0 ? 0x5140 : 0x7362;  // rows 0 and 1, or 2 and 3, of the four
          uint32 pairs[kTerms / 2];
#pragma unroll
          for (int i = 0; i < kTerms / 2; ++i)
            pairs[i] = __byte_perm(w[2 * i].word[m], w[2 * i + 1].word[m], order);
          uint32 part[4];
          if (kBytes) {
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              part[2 * i] = __byte_perm(pairs[2 * i % (kTerms / 2)],
                                        pairs[(2 * i + 1) % (kTerms / 2)], 0x5410);
              part[2 * i + 1] = __byte_perm(pairs[2 * i % (kTerms / 2)],
                                            pairs[(2 * i + 1) % (kTerms / 2)], 0x7632);
            }
          } else {
            part[0] = as_f16(pairs[0], WElement());
            part[1] = as_f16(pairs[0] >> 16, WElement());
            part[2] = as_f16(pairs[1], WElement());
            part[3] = as_f16(pairs[1] >> 16, WElement());
          }
#pragma unroll
          for (int t = 0; t < kVectorTiles; ++t) {
            const uint32 x0 = kBytes ? x[t][0] : as_f16(x[t][0], XElement());
            const uint32 x1 = kBytes ? x[t][1] : as_f16(x[t][0] >> 16, XElement());
            mma(sums[(2 * m + h) % kTiles][t], part, x0, x1, WFed(), XFed());
          }
        }
      }
    }
  }
#else
  __device__ __forceinline__ void rows(const Words (&w)[kLoads],
                                       const uint32 (&x)[kVectorTiles][kXWords]) {
#pragma unroll
    for (int s = 0; s < kParts; ++s) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        const uint32* upside = w[2 * m].word;
        const uint32* downside = w[2 * m + 1].word;
        const WElement type{};
        const uint32 part[4] = {lower(upside, s, type), lower(downside, s, type),
                                upper(upside, s, type), upper(downside, s, type)};
#pragma unroll
        for (int t = 0; t < kVectorTiles; ++t)
          mma(sums[m][t], part, lower(x[t], s, XElement()), upper(x[t], s, XElement()), WFed(),
              XFed());
      }
    }
  }
#endif

  __device__ __forceinline__ void write(const Place& place, int round) const {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int t = 0; t < kVectorTiles; ++t) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int v = t * 8 + place.lane_k * 2 + i % 2;
          const int r = COLUMNS ? place.lane_r * kElements + 2 * m + i / 2
                                : m * 16 + i / 2 * 8 + place.lane_r;
          sum_at(round, threadIdx.x / 32, v, r) = sums[m][t][i];
        }
      }
    }
  }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) ROOFTUNE_CLUSTER
    rooftune_kernel(const __grid_constant__ rooftune::StreamArgs args) {
  stream<Product>(args);
}
