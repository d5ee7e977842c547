#include "ops/matmul/trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/panels.h"
#include "ops/matmul/verify.h"
#include "rooftune/float16.h"

namespace rooftune {
namespace {

// What no candidate would write: quiet NaNs with an unlikely payload; for integers a number that a
// sum reaches only after 131071 of the largest products.
constexpr std::uint16_t kPoison16 = 0x7fe5u;
constexpr std::uint32_t kPoison32 = 0x7fe5a17fu;
constexpr std::uint32_t kPoisonInteger = 0x80000001u;
constexpr std::uint64_t kPoison64 = 0x7ffe5a17f00dbeefu;

std::uint64_t poison_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return kPoison64;
    case DType::bf16:
    case DType::f16:
      return kPoison16;
    case DType::i32:
      return kPoisonInteger;
    default:
      return kPoison32;
  }
}

// The memory that a strided operand reaches: its lowest offset and how many elements from there.
struct Range {
  std::int64_t lowest = 0, elements = 1;
};

Range reach(const GemmArgs& gemm, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
            std::int64_t col_stride, const std::array<std::int64_t, kMaxBatchAxes>& batch) {
  std::int64_t low = 0, high = 0;
  const auto extend = [&](std::int64_t extent, std::int64_t stride) {
    const std::int64_t last = (extent - 1) * stride;
    (last < 0 ? low : high) += last;
  };
  extend(rows, row_stride);
  extend(cols, col_stride);
  for (int i = 0; i < gemm.batch_rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    extend(gemm.batch_extent[axis], batch[axis]);
  }
  return {low, high - low + 1};
}

struct Place {
  Buffer buffer;
  std::byte* begin = nullptr;  // of the range
  std::uint64_t bytes = 0;
};

void* first_element(const Place& place, const Range& range, DType dtype) {
  return place.begin - range.lowest * size_of(dtype);
}

// Fills memory with numbers made from those in +-[0.5, 1.5], the same for the same seed.
template <class T, class Make>
void fill_random(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, Make make) {
  std::uint64_t state = seed;
  for (std::uint64_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const double size = 0.5 + double(state >> 40) * 0x1p-24;
    const T value = make((state >> 33 & 1) != 0 ? size : -size);
    std::memcpy(memory + at, &value, sizeof(T));
  }
}

// Integers reach up to 126, or 252 without a sign: nearly the whole range of their type.
void fill_random(DType dtype, std::byte* memory, std::uint64_t bytes, std::uint64_t seed,
                 std::int64_t terms = 1) {
  // So that no sum leaves the range of its type.
  const double shrink = terms <= 65536 ? 1 : 65536.0 / double(terms);
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
    default:
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

class MatmulTrial final : public Trial<GemmArgs> {
 public:
  MatmulTrial(Client& client, const GemmArgs& args, std::uint64_t most_bytes)
      : client_(client), args_(args), most_bytes_(most_bytes) {}

  Status make(Stream stream) {
    out_range_ = reach(args_, args_.m, args_.n, args_.c_row, args_.c_col, args_.c_batch);
    auto out = make_place(out_range_, args_.c, args_.c_type);
    if (!out) return std::unexpected(out.error());
    out_ = *std::move(out);
    args_.c = first_element(out_, out_range_, args_.c_type);
    if (Status filled = poison(stream); !filled) return filled;
    if (Status made = make_check(); !made) return made;
    if (check_->conclusive()) return {};

    const Range a = reach(args_, args_.m, args_.k, args_.a_row, args_.a_col, args_.a_batch);
    const Range b = reach(args_, args_.k, args_.n, args_.b_row, args_.b_col, args_.b_batch);
    if (args_.packed != nullptr) {
      if (Status made = make_random_panels(); !made) return made;
    }
    for (const auto& [range, operand, place, dtype, seed] :
         {std::tuple{&a, &args_.a, &a_, args_.a_type, 1u}, {&b, &args_.b, &b_, args_.b_type, 2u}}) {
      if (operand == &args_.b && args_.packed != nullptr) continue;
      if (operand == &args_.b && args_.gram) {
        args_.b = args_.a;
        continue;
      }
      auto made = make_place(*range, *operand, dtype);
      if (!made) return std::unexpected(made.error());
      *place = *std::move(made);
      fill_random(dtype, place->begin, place->bytes, seed, args_.k);
      *operand = first_element(*place, *range, dtype);
    }
    random_operands_ = true;
    return make_check();
  }

  const GemmArgs& args() const override { return args_; }

  Status poison(Stream stream) override {
    // Little-endian, as every device is: the lower bytes come first.
    std::byte pattern[8];
    const std::size_t size = static_cast<std::size_t>(size_of(args_.c_type));
    const std::uint64_t word = poison_of(args_.c_type);
    std::memcpy(pattern, &word, sizeof pattern);
    if (Status done = client_.fill(stream, out_.begin, std::span(pattern, size), out_.bytes);
        !done) {
      return done;
    }
    if (args_.beta == 0) return {};
    // An accumulating product starts from the same numbers every time.
    return for_each_row([](std::byte* memory, std::uint64_t bytes, DType dtype,
                           std::uint64_t seed) { fill_random(dtype, memory, bytes, seed); });
  }

  Result<Check> check(Stream stream) override {
    if (Status done = client_.synchronize(stream); !done) return std::unexpected(done.error());
    Check check = check_->check(args_);
    if (random_operands_) check.conclusive = true;
    const std::uint64_t left = count_poison();
    const auto gaps =
        static_cast<std::uint64_t>(out_range_.elements - args_.batch * args_.m * args_.n);
    check.complete = left <= gaps;
    check.contained = left >= gaps;
    return check;
  }

  std::uint64_t scratch_bytes() const override {
    return out_.buffer.bytes() + a_.buffer.bytes() + b_.buffer.bytes();
  }

 private:
  std::uint64_t count_poison() const {
    const std::uint64_t wanted = poison_of(args_.c_type);
    switch (size_of(args_.c_type)) {
      case 2:
        return count_word<std::uint16_t>(out_.begin, out_.bytes, wanted);
      case 4:
        return count_word<std::uint32_t>(out_.begin, out_.bytes, wanted);
      default:
        return count_word<std::uint64_t>(out_.begin, out_.bytes, wanted);
    }
  }

  // Memory for a range, aligned as the original is within a cache line: alignment decides speed.
  Result<Place> make_place(const Range& range, const void* original, DType dtype) {
    constexpr std::uint64_t kLine = 64;
    const std::int64_t size = size_of(dtype);
    Place place;
    place.bytes = static_cast<std::uint64_t>(range.elements) * static_cast<std::uint64_t>(size);
    const std::uint64_t needed = scratch_bytes() + place.bytes + kLine;
    if (needed > most_bytes_) {
      return fail(ErrorKind::out_of_memory,
                  "measuring needs " + std::to_string(needed) +
                      " bytes, more than autotune.memory_bytes = " + std::to_string(most_bytes_));
    }
    auto buffer = client_.allocate(place.bytes + kLine);
    if (!buffer) return std::unexpected(buffer.error());
    place.buffer = *std::move(buffer);
    const auto first = reinterpret_cast<std::uintptr_t>(original) +
                       static_cast<std::uintptr_t>(range.lowest * size);
    place.begin = static_cast<std::byte*>(place.buffer.address()) + first % kLine;
    return place;
  }

  Status make_check() {
    GemmArgs seen = args_;
    Place plain;
    if (args_.packed != nullptr) {
      auto made = make_place(plain_rhs(), nullptr, args_.b_type);
      if (!made) return std::unexpected(made.error());
      plain = *std::move(made);
      unpack_columns(*args_.packed, 0, args_.n, plain.begin);
      seen.packed = nullptr;
      seen.b = plain.begin;
      seen.b_row = args_.n;
      seen.b_col = 1;
    }
    auto made = ProductCheck::make(seen);
    if (!made) return std::unexpected(made.error());
    check_ = *std::move(made);
    return {};
  }

  Range plain_rhs() const { return {0, args_.k * args_.n}; }

  // Random numbers in panels of the format that the packed operand has.
  Status make_random_panels() {
    auto plain = make_place(plain_rhs(), nullptr, args_.b_type);
    if (!plain) return std::unexpected(plain.error());
    fill_random(args_.b_type, plain->begin, plain->bytes, 2, args_.k);
    random_panels_ = *args_.packed;
    const std::int64_t panels =
        (args_.n + random_panels_.format.columns - 1) / random_panels_.format.columns;
    auto made = make_place({0, panels * random_panels_.panel_bytes}, nullptr, DType::u8);
    if (!made) return std::unexpected(made.error());
    b_ = *std::move(made);
    pack_panels(random_panels_, {plain->begin, args_.n, 1}, 0, panels, b_.begin);
    random_panels_.memory = b_.begin;
    args_.packed = &random_panels_;
    return {};
  }

  // Calls visit with each single element, or whole row where rows are dense.
  template <class Visit>
  Status for_each_row(Visit visit) {
    const std::int64_t size = size_of(args_.c_type);
    std::uint64_t seed = 3;
    for (std::int64_t index = 0; index < args_.batch; ++index) {
      auto* matrix = static_cast<std::byte*>(args_.c) + batch_offsets(args_, index).c * size;
      for (std::int64_t i = 0; i < args_.m; ++i) {
        std::byte* row = matrix + i * args_.c_row * size;
        if (args_.c_col == 1) {
          visit(row, static_cast<std::uint64_t>(args_.n * size), args_.c_type, ++seed);
          continue;
        }
        for (std::int64_t j = 0; j < args_.n; ++j) {
          visit(row + j * args_.c_col * size, static_cast<std::uint64_t>(size), args_.c_type,
                ++seed);
        }
      }
    }
    return {};
  }

  Client& client_;
  GemmArgs args_;
  const std::uint64_t most_bytes_;
  Range out_range_;
  Place out_, a_, b_;
  PackedRhs random_panels_;
  bool random_operands_ = false;
  std::optional<ProductCheck> check_;
};

}  // namespace

Result<std::unique_ptr<Trial<GemmArgs>>> make_matmul_trial(Client& client, const GemmArgs& args,
                                                           Stream stream,
                                                           std::uint64_t most_bytes) {
  auto trial = std::make_unique<MatmulTrial>(client, args, most_bytes);
  if (Status made = trial->make(stream); !made) return std::unexpected(made.error());
  return trial;
}

}  // namespace rooftune
