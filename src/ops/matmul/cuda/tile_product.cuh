// Products of 16 x 16 tiles on matrix units, in two kinds that have the same face:
//   mma   mma.sync with ldmatrix from swizzled shared memory
//   wmma  wmma.load, wmma.mma, wmma.store
// A step is what one product takes of k. The macros INPUT, A_PTX and B_PTX name the types;
// A_K_MAJOR and B_K_MAJOR say whether k is contiguous in shared memory.
#ifndef ROOFTUNE_TILE_PRODUCT_CUH_
#define ROOFTUNE_TILE_PRODUCT_CUH_

#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/tf32.cuh"
#include "ops/matmul/cuda/tile_stage.cuh"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// Values of INPUT.
#define INPUT_BF16 0
#define INPUT_F16 1
#define INPUT_TF32 2
#define INPUT_INT8 3
#define INPUT_F8 4

#if MMA_KIND

constexpr int kStepBytes = 32;

// 16 lines of the operand by 32 bytes of k: four matrices of 8 x 16 bytes. A's registers are (lines
// 0-7, first half of k), (8-15, first), (0-7, second), (8-15, second). Of B a product takes eight
// columns, in two registers that follow each other: lines and halves change places.
struct Fragment {
  uint32 word[4];
};

template <class S, bool kKMajor, bool kIsA>
struct FragmentReader {
  uint32 address, turn;

  // For the lines of a warp that begin at `first`, a multiple of the warp's share.
  __device__ __forceinline__ FragmentReader(uint32 stage, int first, int step, int lane) {
    // Lane 8 x + y gives the address of line y of matrix x.
    const int low = (lane >> 3) & 1, high = lane >> 4;
    const int eight = kIsA ? low : high, half = kIsA ? high : low;
    if constexpr (kKMajor) {
      const int line = first + (lane & 7) + eight * 8;
      address = stage + line * S::kPitch;
      turn = (step * 32 + half * 16) ^ S::turned(line);
    } else {
      const int line = step * 16 + (lane & 7) + half * 8;
      const int at = first * 2 + eight * 16;
      address = stage + at / S::kPiece * S::kPieceBytes + line * S::kPitch;
      turn = (at % S::kPiece) ^ S::turned(line);
    }
  }
  __device__ __forceinline__ Fragment read(int tile) const {
    Fragment f;
    if constexpr (kKMajor) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
                   : "r"(address + turn + tile * 16 * S::kPitch));
    } else {
      const uint32 at =
          address + tile * 32 / S::kPiece * S::kPieceBytes + (turn ^ uint32(tile * 32 % S::kPiece));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
                   : "r"(at));
    }
#if ROUND_FRAGMENTS
    for (uint32& word : f.word) word = to_tf32(word);
#endif
    return f;
  }
};

__device__ __forceinline__ uint32 load_word(uint32 at) {
  uint32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at));
  return word;
}
__device__ __forceinline__ uint32 load_halves(uint32 low, uint32 high) {
  uint16 l, h;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(l) : "r"(low));
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(h) : "r"(high));
  uint32 word;
  asm("mov.b32 %0, {%1, %2};" : "=r"(word) : "h"(l), "h"(h));
  return word;
}

// The same from lines as they are in global memory, which begin anywhere within 16 bytes. Eight
// lines repeat that, so it is found out once; with kKMajor the lines of a tile all begin alike, for
// the sake of the banks.
template <class S, bool kKMajor, bool kIsA, int kSize, int kTiles>
struct RawReader {
  uint32 at[kKMajor ? kTiles : 2];
  bool odd[kKMajor ? kTiles : 1];  // elements of 2 bytes begin in the middle of a word

  template <class L>
  __device__ __forceinline__ RawReader(const L& loader, int first, int lane) {
    const int g = lane >> 2, t = lane & 3;
    if constexpr (kKMajor) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int line = first + i * 16 + g;
        const uint32 skipped = loader.skipped(S::number_of(line));
        odd[i] = skipped & 2;
        at[i] = line * S::kPitch + (skipped & ~3u) + t * 4;
      }
    } else {
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        const int line = kSize == 2 ? t * 2 + next : t;
        at[next] = line * S::kPitch + loader.skipped(line) + (first + g) * kSize;
      }
    }
  }
  __device__ __forceinline__ Fragment read(uint32 stage, int step, int tile) const {
    Fragment f;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int eight = kIsA ? w & 1 : w >> 1, half = kIsA ? w >> 1 : w & 1;
      if constexpr (kKMajor) {
        const uint32 from = stage + at[tile] + step * 32 + eight * 8 * S::kPitch + half * 16;
        f.word[w] = load_word(from);
        if (kSize == 2 && odd[tile])
          f.word[w] = __funnelshift_r(f.word[w], load_word(from + 4), 16);
      } else {
        const int terms = 16 / kSize;  // of k in half a step
        const uint32 from =
            stage + (step * 2 + half) * terms * S::kPitch + (tile * 16 + eight * 8) * kSize;
        f.word[w] = kSize == 2 ? load_halves(from + at[0], from + at[1]) : load_word(from + at[0]);
      }
#if ROUND_FRAGMENTS
      f.word[w] = to_tf32(f.word[w]);
#endif
    }
    return f;
  }
};

#if INPUT == INPUT_BF16
#define MMA_TEXT "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#elif INPUT == INPUT_F16
#define MMA_TEXT "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#elif INPUT == INPUT_TF32
#define MMA_TEXT "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif INPUT == INPUT_INT8
#define MMA_TEXT "mma.sync.aligned.m16n8k32.row.col.s32." TEXT(A_PTX) "." TEXT(B_PTX) ".s32"
#else
#define MMA_TEXT "mma.sync.aligned.m16n8k32.row.col.f32." TEXT(A_PTX) "." TEXT(B_PTX) ".f32"
#endif

#if INPUT == INPUT_INT8
using Sum = int;
#define SUM_OPERAND "+r"
#else
using Sum = float;
#define SUM_OPERAND "+f"
#endif

// Of 16 x 16 sums: two m16n8 accumulators.
struct Sums {
  Sum value[8];
};

__device__ __forceinline__ void multiply(Sums& sums, const Fragment& a, const Fragment& b) {
#if INPUT != INPUT_F8 || __CUDA_ARCH__ >= 890
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // of the columns
    Sum* d = sums.value + half * 4;
    asm(MMA_TEXT " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : SUM_OPERAND(d[0]), SUM_OPERAND(d[1]), SUM_OPERAND(d[2]), SUM_OPERAND(d[3])
        : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[half * 2]),
          "r"(b.word[half * 2 + 1]));
  }
#else
  asm volatile("trap;");  // the host refuses f8 here
#endif
}

// Writes the tile to f32 or i32 memory; column_of says where each of its columns goes.
template <class ColumnOf>
__device__ __forceinline__ void write_sums(const Sums& sums, Sum* to, int pitch, int lane,
                                           ColumnOf column_of) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int row = (lane >> 2) + ((e >> 1) & 1) * 8;
    const int column = (e >> 2) * 8 + (lane & 3) * 2 + (e & 1);
    to[row * pitch + column_of(column)] = sums.value[e];
  }
}

#else  // wmma

#if A_K_MAJOR
#define A_ORDER "row"
#else
#define A_ORDER "col"
#endif
#if B_K_MAJOR
#define B_ORDER "col"
#else
#define B_ORDER "row"
#endif

#if INPUT == INPUT_INT8
using Sum = int;
#define SUM_OPERAND "+r"
constexpr int kStepBytes = 16;
constexpr int kFragmentWords = 2;
#define WMMA_SHAPE "m16n16k16"
#define WMMA_TYPES "s32." TEXT(A_PTX) "." TEXT(A_PTX) ".s32"
#define WMMA_TYPE TEXT(A_PTX)
#define WMMA_SUM "s32"
#else
using Sum = float;
#define SUM_OPERAND "+f"
constexpr int kStepBytes = 32;
#define WMMA_SUM "f32"
#if INPUT == INPUT_BF16
constexpr int kFragmentWords = 4;
#define WMMA_SHAPE "m16n16k16"
#define WMMA_TYPES "f32.bf16.bf16.f32"
#define WMMA_TYPE "bf16"
#elif INPUT == INPUT_F16
constexpr int kFragmentWords = 8;
#define WMMA_SHAPE "m16n16k16"
#define WMMA_TYPES "f32.f32"
#define WMMA_TYPE "f16"
#else
constexpr int kFragmentWords = 4;
#define WMMA_SHAPE "m16n16k8"
#define WMMA_TYPES "f32.tf32.tf32.f32"
#define WMMA_TYPE "tf32"
#endif
#endif

struct Fragment {
  uint32 word[kFragmentWords];
};
struct Sums {
  Sum value[8];
};

template <bool kIsA>
__device__ __forceinline__ Fragment load_fragment(uint32 address, int pitch) {
  Fragment f;
#define WMMA_LOAD(WHICH, ORDER) \
  "wmma.load." WHICH ".sync.aligned." ORDER "." WMMA_SHAPE ".shared." WMMA_TYPE
  if constexpr (kFragmentWords == 2) {
    if constexpr (kIsA) {
      asm volatile(WMMA_LOAD("a", A_ORDER) " {%0, %1}, [%2], %3;"
                   : "=r"(f.word[0]), "=r"(f.word[1])
                   : "r"(address), "r"(pitch));
    } else {
      asm volatile(WMMA_LOAD("b", B_ORDER) " {%0, %1}, [%2], %3;"
                   : "=r"(f.word[0]), "=r"(f.word[1])
                   : "r"(address), "r"(pitch));
    }
  } else if constexpr (kFragmentWords == 4) {
    if constexpr (kIsA) {
      asm volatile(WMMA_LOAD("a", A_ORDER) " {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
                   : "r"(address), "r"(pitch));
    } else {
      asm volatile(WMMA_LOAD("b", B_ORDER) " {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
                   : "r"(address), "r"(pitch));
    }
  } else {
    if constexpr (kIsA) {
      asm volatile(WMMA_LOAD("a", A_ORDER) " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3]),
                     "=r"(f.word[4]), "=r"(f.word[5]), "=r"(f.word[6]), "=r"(f.word[7])
                   : "r"(address), "r"(pitch));
    } else {
      asm volatile(WMMA_LOAD("b", B_ORDER) " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                   : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3]),
                     "=r"(f.word[4]), "=r"(f.word[5]), "=r"(f.word[6]), "=r"(f.word[7])
                   : "r"(address), "r"(pitch));
    }
  }
#undef WMMA_LOAD
#if ROUND_FRAGMENTS
  for (uint32& word : f.word) word = to_tf32(word);
#endif
  return f;
}

template <class S, bool kKMajor, bool kIsA>
struct WmmaReader {
  uint32 stage;
  int first, step;

  __device__ __forceinline__ Fragment read(int tile) const {
    const int mn = first + tile * 16;
    const uint32 at =
        kKMajor ? S::offset(mn, step * kStepBytes) : S::offset(step * 16, mn * int(sizeof(A_TYPE)));
    return load_fragment<kIsA>(stage + at, S::kPitch / int(sizeof(A_TYPE)));
  }
};

__device__ __forceinline__ void multiply(Sums& sums, const Fragment& a, const Fragment& b) {
  Sum* d = sums.value;
#define WMMA_MMA "wmma.mma.sync.aligned." A_ORDER "." B_ORDER "." WMMA_SHAPE "." WMMA_TYPES
#define SUM_OPERANDS                                                                             \
  SUM_OPERAND(d[0]), SUM_OPERAND(d[1]), SUM_OPERAND(d[2]), SUM_OPERAND(d[3]), SUM_OPERAND(d[4]), \
      SUM_OPERAND(d[5]), SUM_OPERAND(d[6]), SUM_OPERAND(d[7])
#define SUM_TEXT "{%0, %1, %2, %3, %4, %5, %6, %7}"
  if constexpr (kFragmentWords == 2) {
    asm(WMMA_MMA " " SUM_TEXT ", {%8, %9}, {%10, %11}, " SUM_TEXT ";"
        : SUM_OPERANDS
        : "r"(a.word[0]), "r"(a.word[1]), "r"(b.word[0]), "r"(b.word[1]));
  } else if constexpr (kFragmentWords == 4) {
    asm(WMMA_MMA " " SUM_TEXT ", {%8, %9, %10, %11}, {%12, %13, %14, %15}, " SUM_TEXT ";"
        : SUM_OPERANDS
        : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]),
          "r"(b.word[1]), "r"(b.word[2]), "r"(b.word[3]));
  } else {
    asm(WMMA_MMA " " SUM_TEXT
                 ", {%8, %9, %10, %11, %12, %13, %14, %15}, "
                 "{%16, %17, %18, %19, %20, %21, %22, %23}, " SUM_TEXT ";"
        : SUM_OPERANDS
        : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(a.word[4]),
          "r"(a.word[5]), "r"(a.word[6]), "r"(a.word[7]), "r"(b.word[0]), "r"(b.word[1]),
          "r"(b.word[2]), "r"(b.word[3]), "r"(b.word[4]), "r"(b.word[5]), "r"(b.word[6]),
          "r"(b.word[7]));
  }
}

// Where wmma keeps an element is its secret: the store alone knows.
__device__ __forceinline__ void write_sums(const Sums& sums, uint32 to, int pitch) {
  const Sum* d = sums.value;
#if INPUT == INPUT_INT8
#define SUM_INPUT "r"
#else
#define SUM_INPUT "f"
#endif
  asm volatile("wmma.store.d.sync.aligned.row." WMMA_SHAPE ".shared." WMMA_SUM
               " [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(to),
               SUM_INPUT(d[0]), SUM_INPUT(d[1]), SUM_INPUT(d[2]), SUM_INPUT(d[3]), SUM_INPUT(d[4]),
               SUM_INPUT(d[5]), SUM_INPUT(d[6]), SUM_INPUT(d[7]), "r"(pitch)
               : "memory");
}

#endif

#endif  // ROOFTUNE_TILE_PRODUCT_CUH_
