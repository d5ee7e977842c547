#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/trial_memory.h"
#include "rooftune/float16.h"
#include "rooftune/float8.h"

namespace rooftune {
namespace {

// A linear congruential generator, one step or several at once.
struct Step {
  std::uint64_t factor = 6364136223846793005ull, summand = 1442695040888963407ull;
  constexpr std::uint64_t operator()(std::uint64_t state) const { return state * factor + summand; }
};

constexpr Step steps(int count) {
  constexpr Step kOne;
  Step all{1, 0};
  for (int i = 0; i < count; ++i) all = {all.factor * kOne.factor, kOne(all.summand)};
  return all;
}

// Fills memory with numbers made from those in +-[0.5, 1.5], the same for the same seed. Every
// state follows from the one some places before it, so that the processor works on several at once:
// the operands of a search may be hundreds of megabytes.
template <class T, class Make>
void fill_random(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, Make make) {
  constexpr int kLanes = 8;
  constexpr Step kStride = steps(kLanes);
  std::uint64_t states[kLanes];
  states[0] = Step()(seed);
  for (int i = 1; i < kLanes; ++i) states[i] = Step()(states[i - 1]);
  const auto write = [&](std::uint64_t index, std::uint64_t state) {
    const double size = 0.5 + double(state >> 40) * 0x1p-24;
    const T value = make((state >> 33 & 1) != 0 ? size : -size);
    std::memcpy(memory + index * sizeof(T), &value, sizeof(T));
  };
  const std::uint64_t elements = bytes / sizeof(T);
  std::uint64_t at = 0;
  for (; at + kLanes <= elements; at += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      write(at + std::uint64_t(i), states[i]);
      states[i] = kStride(states[i]);
    }
  }
  for (int i = 0; at < elements; ++at, ++i) write(at, states[i]);
}

// Integers reach up to 126, or 252 without a sign: nearly the whole range of their type.
void fill_bytes(DType dtype, std::byte* memory, std::uint64_t bytes, std::uint64_t seed,
                std::int64_t terms = 1) {
  const double shrink = byte_shrink(terms);
  const auto fill = [&]<class T>(T, auto make) { fill_random<T>(memory, bytes, seed, make); };
  switch (dtype) {
    case DType::f64:
      return fill(double(), [](double x) { return x; });
    case DType::bf16:
      return fill(BFloat16(), [](double x) { return BFloat16(float(x)); });
    case DType::f16:
      return fill(Float16(), [](double x) { return Float16(float(x)); });
    case DType::i32:
      return fill(std::int32_t(), [](double x) { return std::int32_t(x * 1000); });
    case DType::i8:
      return fill(std::int8_t(), [=](double x) {
        return std::int8_t(std::lrint(x * std::max(84 * shrink, 2.0)));
      });
    case DType::u8:
      return fill(std::uint8_t(), [=](double x) {
        return std::uint8_t(
            std::lrint(std::max(126 * shrink, 3.0) + x * std::max(84 * shrink, 2.0)));
      });
    case DType::f8e4m3:
      return fill(Float8E4M3(), [](double x) { return Float8E4M3(float(x)); });
    case DType::f8e5m2:
      return fill(Float8E5M2(), [](double x) { return Float8E5M2(float(x)); });
    case DType::f32:
      return fill(float(), [](double x) { return float(x); });
  }
}

template <class Word>
std::uint64_t count_word(const std::byte* memory, std::uint64_t bytes, std::uint64_t wanted) {
  std::uint64_t count = 0;
  for (std::uint64_t at = 0; at < bytes; at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, memory + at, sizeof word);
    count += word == wanted;
  }
  return count;
}

class HostTrialMemory final : public TrialMemory {
 public:
  explicit HostTrialMemory(Client* client) : client_(client) {}

  Status fill_random(Stream, DType dtype, void* memory, std::int64_t elements, std::uint64_t seed,
                     std::int64_t terms) override {
    fill_bytes(dtype, static_cast<std::byte*>(memory),
               static_cast<std::uint64_t>(elements * size_of(dtype)), seed, terms);
    return {};
  }

  Status fill_repeating(Stream stream, DType dtype, void* memory, std::int64_t elements,
                        std::int64_t terms) override {
    // No power of two, so that rows of matrices are not alike.
    constexpr std::int64_t kPeriod = 100'003;
    const std::int64_t first = std::min(elements, kPeriod);
    Status filled = fill_random(stream, dtype, memory, first, 1, terms);
    auto* const bytes = static_cast<std::byte*>(memory);
    const std::int64_t size = size_of(dtype);
    for (std::int64_t done = first; done < elements; done += first) {
      std::memcpy(bytes + done * size, bytes,
                  static_cast<std::size_t>(std::min(first, elements - done) * size));
    }
    return filled;
  }

  Status start_output(Stream, const GemmArgs& gemm) override {
    const std::int64_t size = size_of(gemm.c_type);
    std::uint64_t seed = 3;
    const auto fill = [&](std::byte* memory, std::int64_t elements) {
      fill_bytes(gemm.c_type, memory, static_cast<std::uint64_t>(elements * size), ++seed);
    };
    for (std::int64_t index = 0; index < gemm.batch; ++index) {
      auto* matrix = static_cast<std::byte*>(gemm.c) + batch_offsets(gemm, index).c * size;
      for (std::int64_t i = 0; i < gemm.m; ++i) {
        std::byte* row = matrix + i * gemm.c_row * size;
        if (gemm.c_col == 1) {
          fill(row, gemm.n);
          continue;
        }
        for (std::int64_t j = 0; j < gemm.n; ++j) fill(row + j * gemm.c_col * size, 1);
      }
    }
    return {};
  }

  Status begin_count(Stream, const void* memory, std::int64_t elements, std::int64_t element_bytes,
                     std::uint64_t wanted) override {
    const auto* begin = static_cast<const std::byte*>(memory);
    const auto bytes = static_cast<std::uint64_t>(elements * element_bytes);
    switch (element_bytes) {
      case 2:
        counted_ = count_word<std::uint16_t>(begin, bytes, wanted);
        return {};
      case 4:
        counted_ = count_word<std::uint32_t>(begin, bytes, wanted);
        return {};
      default:
        counted_ = count_word<std::uint64_t>(begin, bytes, wanted);
        return {};
    }
  }
  Result<std::uint64_t> counted(Stream) override { return counted_; }

  std::unique_ptr<MatrixPasses> passes(Stream) override { return host_matrix_passes(client_); }

 private:
  Client* const client_;
  std::uint64_t counted_ = 0;
};

}  // namespace

double byte_shrink(std::int64_t terms) { return terms <= 65536 ? 1 : 65536.0 / double(terms); }

std::unique_ptr<TrialMemory> host_trial_memory(Client* client) {
  return std::make_unique<HostTrialMemory>(client);
}

}  // namespace rooftune
