// How many elements of a piece of memory have exactly the bits that are asked for.
#include "device/cuda/types.cuh"
#include "ops/matmul/cuda/verify_args.h"

template <class Word>
__device__ uint64 count_words(const rooftune::VerifyCountArgs& args) {
  constexpr int kInVector = 16 / sizeof(Word);
  const auto* memory = static_cast<const uint8*>(args.memory);
  const auto address = reinterpret_cast<uint64>(memory);
  const Word wanted = Word(args.wanted);
  const int64 thread = blockIdx.x * int64(blockDim.x) + threadIdx.x;
  const int64 threads = gridDim.x * int64(blockDim.x);
  uint64 count = 0;
  if (address % sizeof(Word) != 0) {  // rare, and slow
    for (int64 at = thread; at < args.elements; at += threads) {
      Word word = 0;
      for (int byte = 0; byte < int(sizeof(Word)); ++byte) {
        word |= Word(memory[at * int64(sizeof(Word)) + byte]) << (8 * byte);
      }
      count += word == wanted;
    }
    return count;
  }
  // Single elements up to the first address of a vector, vectors, and the elements that remain.
  const auto* words = reinterpret_cast<const Word*>(memory);
  int64 head = int64((16 - address % 16) % 16 / sizeof(Word));
  if (head > args.elements) head = args.elements;
  const int64 vectors = (args.elements - head) / kInVector;
  const auto* vector = reinterpret_cast<const uint4*>(words + head);
#pragma unroll 2
  for (int64 at = thread; at < vectors; at += threads) {
    const uint4 four = vector[at];
    Word word[kInVector];
    memcpy(word, &four, sizeof word);
#pragma unroll
    for (int i = 0; i < kInVector; ++i) count += word[i] == wanted;
  }
  if (thread < head) count += words[thread] == wanted;
  const int64 tail = head + vectors * kInVector + thread;
  if (tail < args.elements) count += words[tail] == wanted;
  return count;
}

extern "C" __global__ void __launch_bounds__(rooftune::kVerifyThreads)
    rooftune_kernel(const __grid_constant__ rooftune::VerifyCountArgs args) {
  uint64 count = 0;
  switch (args.element_bytes) {
    case 2:
      count = count_words<uint16>(args);
      break;
    case 4:
      count = count_words<uint32>(args);
      break;
    case 8:
      count = count_words<uint64>(args);
      break;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    count += __shfl_xor_sync(0xffffffff, count, distance);
  }
  if (threadIdx.x % 32 == 0 && count != 0) atomicAdd(args.count, count);
}
