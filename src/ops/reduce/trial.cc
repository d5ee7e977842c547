#include "ops/reduce/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "ops/reduce/comparison.h"
#include "ops/reduce/problem.h"

namespace rooftune {
namespace {

// Elements before and behind the output that nobody may write: more than the widest vector.
constexpr std::int64_t kMargin = 32;

// The output of the trial keeps its alignment to a cache line.
constexpr std::uintptr_t kLine = 64;

// Memory that an operand may reach over for each of its elements before it is made dense.
constexpr std::int64_t kThin = 8;

// The smallest and the largest offset of an operand.
struct Reach {
  std::int64_t lowest = 0, highest = 0;
  void add(std::int64_t extent, std::int64_t step) {
    (step < 0 ? lowest : highest) += (extent - 1) * step;
  }
  std::int64_t elements() const { return highest - lowest + 1; }
};

Reach input_reach(const SumArgs& args) {
  Reach reach;
  for (int at = 0; at < args.keep_rank; ++at) reach.add(args.keep_extent[at], args.in_keep[at]);
  for (int at = 0; at < args.reduce_rank; ++at) {
    reach.add(args.reduce_extent[at], args.in_reduce[at]);
  }
  return reach;
}

bool is_thin(const Reach& reach, std::int64_t elements) {
  return reach.elements() / kThin > elements + 512;
}

// Memory of the device that lies to a cache line as `like` does. `margin` bytes are free before it.
Result<std::byte*> allocate_like(Client& client, const void* like, std::int64_t margin,
                                 std::int64_t bytes, Buffer& buffer) {
  auto allocated = client.allocate(static_cast<std::uint64_t>(bytes + 2 * margin) + 2 * kLine);
  if (!allocated) return std::unexpected(allocated.error());
  buffer = *std::move(allocated);
  const auto begin =
      reinterpret_cast<std::uintptr_t>(buffer.address()) + static_cast<std::uintptr_t>(margin);
  const std::uintptr_t shift = (reinterpret_cast<std::uintptr_t>(like) - begin) % kLine;
  return static_cast<std::byte*>(buffer.address()) + margin + shift;
}

// From -8 to 8 without 0: every order of additions gives the same sum, and every term shows.
template <class T>
Status write_integers(Client& client, Stream stream, std::byte* to, std::int64_t elements) {
  // Each write to a device waits for it.
  constexpr std::int64_t kChunk = std::int64_t{1} << 16;
  std::vector<T> chunk(static_cast<std::size_t>(std::min(kChunk, elements)));
  std::uint64_t state = 1;
  for (std::int64_t begin = 0; begin < elements; begin += kChunk) {
    const std::int64_t count = std::min(kChunk, elements - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const int value = static_cast<int>(state >> 60) - 8;
      chunk[static_cast<std::size_t>(i)] = static_cast<T>(value < 0 ? value : value + 1);
    }
    Status written = client.write(stream, to + begin * std::int64_t{sizeof(T)}, chunk.data(),
                                  static_cast<std::uint64_t>(count) * sizeof(T));
    if (!written) return written;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SumTrial>> SumTrial::make(Client& client, const SumArgs& problem,
                                                 Stream stream) {
  std::unique_ptr<SumTrial> trial(new SumTrial(client));
  trial->args_ = problem;
  if (Status made = trial->make_output(problem); !made) return std::unexpected(made.error());
  auto reference = SumReference::make(client, problem, stream);
  if (!reference) return std::unexpected(reference.error());
  trial->reference_ = *std::move(reference);
  if (!trial->reference_.conclusive()) {
    Status replaced = trial->replace_input(problem, stream);
    // Without memory for a better input the caller's has to do, and checks are inconclusive.
    if (!replaced && replaced.error().kind != ErrorKind::out_of_memory) {
      return std::unexpected(replaced.error());
    }
  }
  return trial;
}

Result<std::unique_ptr<SumTrial>> SumTrial::make_with_own_input(Client& client,
                                                                const SumArgs& problem,
                                                                Stream stream,
                                                                std::uint64_t most_bytes) {
  const double needed = double(input_reach(problem).elements()) * double(size_of(problem.dtype)) +
                        double(SumReference::bytes_for(problem));
  if (needed > double(most_bytes)) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("an input of its own takes {} bytes, more than "
                            "autotune.memory_bytes = {}",
                            needed, most_bytes));
  }
  std::unique_ptr<SumTrial> trial(new SumTrial(client));
  trial->args_ = problem;
  Status made = trial->make_output(problem);
  if (made) made = trial->replace_input(problem, stream);
  if (!made) return std::unexpected(made.error());
  return trial;
}

Status SumTrial::make_output(const SumArgs& problem) {
  Reach reach;
  for (int at = 0; at < problem.keep_rank; ++at) {
    reach.add(problem.keep_extent[at], problem.out_keep[at]);
  }
  if (is_thin(reach, problem.outputs)) {
    std::int64_t step = 1;
    for (int at = problem.keep_rank - 1; at >= 0; --at) {
      args_.out_keep[at] = step;
      step *= problem.keep_extent[at];
    }
    reach = {0, problem.outputs - 1};
  }
  const std::int64_t bytes = size_of(problem.dtype);
  const auto* lowest = static_cast<const std::byte*>(problem.out) + reach.lowest * bytes;
  elements_ = reach.elements() + 2 * kMargin;
  const auto place =
      allocate_like(client_, lowest, kMargin * bytes, reach.elements() * bytes, output_);
  if (!place) return std::unexpected(place.error());
  first_ = *place - kMargin * bytes;
  args_.out = *place - reach.lowest * bytes;
  return {};
}

Result<std::byte*> SumTrial::make_input(const SumArgs& problem, Stream stream, Buffer& buffer) {
  const Reach reach = input_reach(problem);
  if (is_thin(reach, static_cast<std::int64_t>(sum_inputs(problem)))) {
    return fail(ErrorKind::out_of_memory, "the input is spread too thinly to be replaced");
  }
  const std::int64_t bytes = size_of(problem.dtype);
  const auto place = allocate_like(client_, problem.in, 0, reach.elements() * bytes, buffer);
  if (!place) return place;
  Status written = problem.dtype == DType::f32
                       ? write_integers<float>(client_, stream, *place, reach.elements())
                       : write_integers<double>(client_, stream, *place, reach.elements());
  if (!written) return std::unexpected(written.error());
  return place;
}

Status SumTrial::replace_input(const SumArgs& problem, Stream stream) {
  Buffer buffer;
  const auto place = make_input(problem, stream, buffer);
  if (!place) return std::unexpected(place.error());
  SumArgs replaced = problem;
  replaced.in = *place;
  auto reference = SumReference::make(client_, replaced, stream);
  if (!reference) return std::unexpected(reference.error());
  input_ = std::move(buffer);
  args_.in = replaced.in;
  reference_ = *std::move(reference);
  return {};
}

// Copies share the output: it is smaller than the input, and nobody reads it.
Result<std::vector<SumArgs>> SumTrial::copies(std::size_t count, Stream stream,
                                              std::uint64_t most_bytes) {
  std::vector<SumArgs> problems(count, args_);
  for (SumArgs& problem : problems) {
    const auto place = make_input(args_, stream, copies_.emplace_back());
    if (place && scratch_bytes() <= most_bytes) {
      problem.in = *place;
      continue;
    }
    copies_.clear();
    if (!place) return std::unexpected(place.error());
    return fail(ErrorKind::out_of_memory,
                fmt::format("{} copies of the input take more than autotune.memory_bytes = {}",
                            count, most_bytes));
  }
  return problems;
}

std::uint64_t SumTrial::scratch_bytes() const {
  std::uint64_t bytes = input_.bytes() + output_.bytes() + reference_.bytes();
  for (const Buffer& copy : copies_) bytes += copy.bytes();
  return bytes;
}

Status SumTrial::poison(Stream stream) {
  return client_.fill(stream, first_, sum_poison(args_.dtype),
                      static_cast<std::uint64_t>(elements_ * size_of(args_.dtype)));
}

Result<Check> SumTrial::check(Stream stream) {
  const auto bytes = static_cast<std::size_t>(elements_ * size_of(args_.dtype));
  const std::unique_ptr<std::byte[]> host(new (std::nothrow) std::byte[bytes]);
  if (host == nullptr) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("no memory on the host to check {} elements", elements_));
  }
  Status done = client_.read(stream, host.get(), first_, bytes);
  if (!done) return std::unexpected(done.error());
  const std::ptrdiff_t base = static_cast<const std::byte*>(args_.out) - first_;
  auto [check, written] = compare_sums(args_, reference_, host.get() + base);
  // Whatever else was written lies between the outputs or beside them.
  check.contained = elements_ - count_sum_poison(args_.dtype, host.get(), elements_) == written;
  return check;
}

}  // namespace rooftune
