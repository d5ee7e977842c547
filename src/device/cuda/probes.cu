// Probe kernels: what the plain units, the mma.sync units and the memory of a GPU can do. One of
// the macros PROBE_... chooses; the argument is ProbeArgs of rooftune/device.h.
using uint16 = unsigned short;
using uint32 = unsigned int;
using uint64 = unsigned long long;

struct Args {
  void* destination;
  const void* source;
  uint64 bytes;
  uint64 repeats;
  void* sink;
};

// Random bits: units draw less power on zeros and would then show rates that no product reaches.
__device__ __forceinline__ uint32 scrambled(uint32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// Two 16-bit numbers of size 1 to 2 and random sign; bf16 and f16 differ in where the exponent
// ends.
__device__ __forceinline__ uint32 random_pair(uint32 seed, uint32 one, uint32 fraction) {
  const uint32 bits = scrambled(seed);
  return (bits & (0x80008000u | fraction * 0x10001u)) | one * 0x10001u;
}

#if defined(PROBE_LAUNCH)

extern "C" __global__ void rooftune_kernel(const __grid_constant__ Args args) {}

#elif defined(PROBE_FMA)

// Independent chains hide the latency of four cycles; two operands come from registers, so that no
// register bank is asked twice.
constexpr int kChains = 16;
constexpr int kUnroll = 8;

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ Args args) {
  const uint32 thread = blockIdx.x * blockDim.x + threadIdx.x;
  Number sums[kChains];
  for (int i = 0; i < kChains; ++i)
    sums[i] = Number(0.5) + Number(scrambled(thread + i)) * Number(0x1p-33);
  const Number factor = Number(0.999) + Number(scrambled(thread)) * Number(0x1p-43);
  const Number term = Number(0.0009);
  for (uint64 repeat = 0; repeat < args.repeats; ++repeat) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * factor + term;
    }
  }
  Number all = 0;
  for (int i = 0; i < kChains; ++i) all += sums[i];
  if (all == Number(-1)) static_cast<Number*>(args.sink)[0] = all;  // never: sums stay positive
}

#elif defined(PROBE_HALVES) || defined(PROBE_DOT)

constexpr int kChains = 16;
constexpr int kUnroll = 8;

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ Args args) {
  const uint32 thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = random_pair(thread + i, ONE, FRACTION);
  const uint32 factor = random_pair(thread * 31 + 7, ONE - 0x80, 0x7f);  // below 1: sums stay small
  const uint32 term = random_pair(thread * 37 + 5, ONE, FRACTION);
  for (uint64 repeat = 0; repeat < args.repeats; ++repeat) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) {
#ifdef PROBE_DOT
        asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sums[i]) : "r"(factor), "r"(term));
#else
        asm("fma.rn." HALVES "x2 %0, %0, %1, %2;" : "+r"(sums[i]) : "r"(factor), "r"(term));
#endif
      }
    }
  }
  uint32 all = 0;
  for (int i = 0; i < kChains; ++i) all ^= sums[i];
  if (all == 0x12345677u && args.repeats == 0) static_cast<uint32*>(args.sink)[0] = all;
}

#elif defined(PROBE_MMA)

// mma.sync from registers; MMA is the instruction. A_WORDS: registers of the left operand.
constexpr int kTiles = 8;

#if defined(MMA_F64)
using Word = double;
using Sum = double;
__device__ __forceinline__ double random_word(uint32 seed) {
  return double(int(scrambled(seed))) * 0x1p-31;
}
#else
using Word = uint32;
using Sum = MMA_SUM;
__device__ __forceinline__ uint32 random_word(uint32 seed) {
  return (scrambled(seed) & RANDOM_BITS) | FIXED_BITS;
}
#endif

__device__ __forceinline__ void multiply(Sum (&c)[4], const Word (&a)[8], const Word (&b)[4]) {
#if defined(MMA_F64)
#if MMA_F64 == 16
  asm volatile(MMA
               " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
               "{%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                 "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
  asm volatile(MMA " {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a[0]), "d"(b[0]));
#endif
#else
  asm volatile(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : MMA_CONSTRAINT(c[0]), MMA_CONSTRAINT(c[1]), MMA_CONSTRAINT(c[2]),
                 MMA_CONSTRAINT(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    rooftune_kernel(const __grid_constant__ Args args) {
  const uint32 thread = blockIdx.x * blockDim.x + threadIdx.x;
  Word a[8], b[4];
  Sum c[kTiles][4] = {};
  for (int i = 0; i < 8; ++i) a[i] = random_word(thread * 12 + i);
  for (int i = 0; i < 4; ++i) b[i] = random_word(thread * 12 + 8 + i);
  for (uint64 repeat = 0; repeat < args.repeats; ++repeat) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) multiply(c[t], a, b);
  }
  Sum all = 0;
  for (int t = 0; t < kTiles; ++t) {
    for (int i = 0; i < 4; ++i) all += c[t][i];
  }
  if (all == Sum(-12345) && args.repeats == 0) static_cast<Sum*>(args.sink)[0] = all;
}

#elif defined(PROBE_MEMORY)

// Passes over the memory by all threads, 64 bytes a thread at a time. Loads go past the first-level
// cache, which no two products share.
__device__ __forceinline__ uint4 load(const uint4* at) {
  uint4 words;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "l"(at));
  return words;
}

extern "C" __global__ void __launch_bounds__(1024)
    rooftune_kernel(const __grid_constant__ Args args) {
  constexpr int kUnroll = 4;
  const uint64 count = args.bytes / 16;
  const uint64 threads = uint64(gridDim.x) * blockDim.x;
  const uint64 first = uint64(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint4* source = static_cast<const uint4*>(args.source);
  uint4* destination = static_cast<uint4*>(args.destination);
  uint4 sum = make_uint4(uint32(first), 1, 2, 3);
  for (uint64 repeat = 0; repeat < args.repeats; ++repeat) {
    for (uint64 i = first; i < count; i += threads * kUnroll) {
      uint4 words[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const uint64 at = i + u * threads;
        if (MEMORY_READS && at < count) words[u] = load(source + at);
        if (!MEMORY_READS) words[u] = make_uint4(uint32(at), uint32(repeat), 0x3f8ccccdu, sum.x);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const uint64 at = i + u * threads;
        if (at >= count) continue;
        if (MEMORY_WRITES) {
          destination[at] = words[u];
        } else {
          sum.x ^= words[u].x;
          sum.y ^= words[u].y;
          sum.z ^= words[u].z;
          sum.w ^= words[u].w;
        }
      }
    }
  }
  if (!MEMORY_WRITES && (sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345677u && args.repeats == 0) {
    *reinterpret_cast<uint4*>(args.sink) = sum;
  }
}

#endif
