#include "ops/matmul/trial.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/matmul/cpu/panels.h"
#include "ops/matmul/matmul_set.h"
#include "ops/matmul/verify.h"

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

enum class Filling : std::uint8_t { random, repeating };

struct RandomOperands {
  Place a, b;
  PackedRhs panels;  // in b
  std::uint64_t bytes() const { return a.buffer.bytes() + b.buffer.bytes(); }
};

struct Copy {
  RandomOperands operands;
  Place out;
};

class MatmulTrial final : public Trial<GemmArgs> {
 public:
  MatmulTrial(Client& client, std::unique_ptr<TrialMemory> memory, const GemmArgs& args,
              std::uint64_t most_bytes)
      : client_(client), memory_(std::move(memory)), args_(args), most_bytes_(most_bytes) {}

  Status make(Stream stream) {
    if (Status made = make_output(stream); !made) return made;
    if (Status made = make_check(stream); !made) return made;
    return check_->conclusive() ? Status{} : replace_operands(stream);
  }

  // Without a look at the caller's operands.
  Status make_with_own_operands(Stream stream) {
    if (args_.packed != nullptr) {
      return fail(ErrorKind::unsupported, "a packed operand is the caller's");
    }
    Status made = make_output(stream);
    return made ? replace_operands(stream) : made;
  }

  const GemmArgs& args() const override { return args_; }

  Result<std::vector<GemmArgs>> copies(std::size_t count, Stream stream,
                                       std::uint64_t most_bytes) override {
    most_bytes_ = most_bytes;
    std::vector<GemmArgs> problems;
    for (std::size_t i = 0; i < count; ++i) {
      Status made = make_copy(stream, problems.emplace_back(args_));
      if (made) continue;
      copies_.clear();
      return std::unexpected(made.error());
    }
    return problems;
  }

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
    return memory_->start_output(stream, args_);
  }

  Result<Check> check(Stream stream) override {
    // What a device looks at by itself is in the order of the stream.
    Status done;
    if (client_.capabilities().host_memory) done = client_.synchronize(stream);
    // Where nothing lies beside the elements, a NaN that stayed shows in the sums of its row.
    const bool sums_tell = gaps() == 0 && args_.c_type != DType::i32;
    if (done && !sums_tell) done = begin_count(stream);
    if (!done) return std::unexpected(done.error());
    auto check = check_->check(args_);
    if (!check) return check;
    if (random_operands_) check->conclusive = true;
    if (sums_tell && std::isfinite(check->error)) return check;
    if (sums_tell) done = begin_count(stream);  // to tell what was not written from other NaN
    if (!done) return std::unexpected(done.error());
    const auto left = memory_->counted(stream);
    if (!left) return std::unexpected(left.error());
    check->complete = *left <= gaps();
    check->contained = *left >= gaps();
    return check;
  }

  std::uint64_t scratch_bytes() const override {
    std::uint64_t bytes = out_.buffer.bytes() + random_.bytes();
    if (check_) bytes += check_->device_bytes();
    for (const auto& copy : copies_) bytes += copy->out.buffer.bytes() + copy->operands.bytes();
    return bytes;
  }

 private:
  // Elements between those of the output.
  std::uint64_t gaps() const {
    return static_cast<std::uint64_t>(out_range_.elements - args_.batch * args_.m * args_.n);
  }
  Status begin_count(Stream stream) {
    return memory_->begin_count(stream, out_.begin, out_range_.elements, size_of(args_.c_type),
                                poison_of(args_.c_type));
  }

  Status make_output(Stream stream) {
    out_range_ = reach(args_, args_.m, args_.n, args_.c_row, args_.c_col, args_.c_batch);
    auto out = make_place(out_range_, args_.c, args_.c_type);
    if (!out) return std::unexpected(out.error());
    out_ = *std::move(out);
    args_.c = first_element(out_, out_range_, args_.c_type);
    return poison(stream);
  }

  Status replace_operands(Stream stream) {
    if (Status made = make_random_operands(stream, args_, random_, Filling::random); !made)
      return made;
    random_operands_ = true;
    return make_check(stream);
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

  Status make_check(Stream stream) {
    GemmArgs seen = args_;
    Place plain;
    if (args_.packed != nullptr) {
      auto made = make_place(plain_rhs(), nullptr, args_.b_type);
      if (!made) return std::unexpected(made.error());
      plain = *std::move(made);
      seen = with_plain_rhs(args_, plain.begin);
    }
    check_.reset();  // its memory is free for the next one
    auto made = ProductCheck::make(seen, memory_->passes(stream),
                                   high_policy_error(client_.capabilities()));
    if (!made) return std::unexpected(made.error());
    check_ = *std::move(made);
    return {};
  }

  Range plain_rhs() const { return {0, args_.k * args_.n}; }

  // Replaces the operands of `args` by random ones of the same layout.
  Status make_random_operands(Stream stream, GemmArgs& args, RandomOperands& random,
                              Filling filling) {
    const Range a = reach(args, args.m, args.k, args.a_row, args.a_col, args.a_batch);
    const Range b = reach(args, args.k, args.n, args.b_row, args.b_col, args.b_batch);
    if (args.packed != nullptr) {
      if (Status made = make_random_panels(stream, args, random); !made) return made;
    }
    for (const auto& [range, operand, place, dtype, seed] :
         {std::tuple{&a, &args.a, &random.a, args.a_type, 1u},
          {&b, &args.b, &random.b, args.b_type, 2u}}) {
      if (operand == &args.b && args.packed != nullptr) continue;
      if (operand == &args.b && args.gram) {
        args.b = args.a;
        continue;
      }
      auto made = make_place(*range, *operand, dtype);
      if (!made) return std::unexpected(made.error());
      *place = *std::move(made);
      Status filled =
          filling == Filling::random
              ? memory_->fill_random(stream, dtype, place->begin, range->elements, seed, args.k)
              : memory_->fill_repeating(stream, dtype, place->begin, range->elements, args.k);
      if (!filled) return filled;
      *operand = first_element(*place, *range, dtype);
    }
    return {};
  }

  // Random numbers in panels of the format that the packed operand has.
  Status make_random_panels(Stream stream, GemmArgs& args, RandomOperands& random) {
    auto plain = make_place(plain_rhs(), nullptr, args.b_type);
    if (!plain) return std::unexpected(plain.error());
    Status filled =
        memory_->fill_random(stream, args.b_type, plain->begin, args.k * args.n, 2, args.k);
    if (!filled) return filled;
    random.panels = *args.packed;
    const std::int64_t panels =
        (args.n + random.panels.format.columns - 1) / random.panels.format.columns;
    auto made = make_place({0, panels * random.panels.panel_bytes}, nullptr, DType::u8);
    if (!made) return std::unexpected(made.error());
    random.b = *std::move(made);
    pack_panels(random.panels, {plain->begin, args.n, 1}, 0, panels, random.b.begin);
    random.panels.memory = random.b.begin;
    args.packed = &random.panels;
    return {};
  }

  Status make_copy(Stream stream, GemmArgs& args) {
    Copy& copy = *copies_.emplace_back(std::make_unique<Copy>());
    auto out = make_place(out_range_, args.c, args.c_type);
    if (!out) return std::unexpected(out.error());
    copy.out = *std::move(out);
    args.c = first_element(copy.out, out_range_, args.c_type);
    if (Status made = make_random_operands(stream, args, copy.operands, Filling::repeating); !made)
      return made;
    // An output that is read too holds numbers; any other is touched once, so that it is there.
    if (args.beta != 0) return memory_->start_output(stream, args);
    constexpr std::byte kAny{};
    return client_.fill(stream, copy.out.begin, std::span(&kAny, 1), copy.out.bytes);
  }

  Client& client_;
  const std::unique_ptr<TrialMemory> memory_;
  GemmArgs args_;
  std::uint64_t most_bytes_;
  Range out_range_;
  Place out_;
  RandomOperands random_;  // empty where the caller's are used
  bool random_operands_ = false;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::optional<ProductCheck> check_;
};

}  // namespace

Result<std::unique_ptr<Trial<GemmArgs>>> make_matmul_trial(Client& client, const GemmArgs& args,
                                                           Stream stream, std::uint64_t most_bytes,
                                                           std::unique_ptr<TrialMemory> memory) {
  auto trial = std::make_unique<MatmulTrial>(client, std::move(memory), args, most_bytes);
  if (Status made = trial->make(stream); !made) return std::unexpected(made.error());
  return trial;
}

Result<std::unique_ptr<Trial<GemmArgs>>> make_matmul_rehearsal(
    Client& client, const GemmArgs& args, Stream stream, std::uint64_t most_bytes,
    std::unique_ptr<TrialMemory> memory) {
  auto trial = std::make_unique<MatmulTrial>(client, std::move(memory), args, most_bytes);
  if (Status made = trial->make_with_own_operands(stream); !made) {
    return std::unexpected(made.error());
  }
  return trial;
}

}  // namespace rooftune
