#include "ops/reduce/result_check.h"

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ops/output_runs.h"
#include "ops/reduce/comparison.h"
#include "ops/reduce/reference.h"

namespace rooftune {
namespace {

OutputRuns runs_of(const SumArgs& args) {
  const std::int64_t size = size_of(args.dtype);
  std::vector<OutputRuns::Axis> axes;
  for (int at = 0; at < args.keep_rank; ++at) {
    axes.push_back({args.keep_extent[at], args.out_keep[at] * size});
  }
  return OutputRuns(std::move(axes), size);
}

class SumResultCheck final : public ResultCheck {
 public:
  SumResultCheck(Client& client, const SumArgs& args)
      : client_(client),
        args_(args),
        runs_(runs_of(args)),
        lowest_(static_cast<std::byte*>(args.out) + runs_.first()) {}

  Status make(Stream stream, std::uint64_t most_bytes) {
    const std::uint64_t needed = SumReference::bytes_for(args_) + copied_bytes();
    if (needed > most_bytes) {
      return fail(ErrorKind::out_of_memory,
                  "checking a result needs " + std::to_string(needed) +
                      " bytes, more than autotune.memory_bytes = " + std::to_string(most_bytes));
    }
    auto reference = SumReference::make(client_, args_, stream);
    if (!reference) return std::unexpected(reference.error());
    reference_ = *std::move(reference);
    return restore(stream);
  }

  Result<Check> check(Stream stream) override {
    if (Status done = client_.synchronize(stream); !done) return std::unexpected(done.error());
    if (client_.capabilities().host_memory) {
      return compare_sums(args_, reference_, static_cast<const std::byte*>(args_.out)).check;
    }
    try {
      std::vector<std::byte> copy(copied_bytes());
      Status done = client_.read(stream, copy.data(), lowest_, copy.size());
      if (!done) return std::unexpected(done.error());
      return compare_sums(args_, reference_, copy.data() - runs_.first()).check;
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::out_of_memory, "no memory on the host to check a result");
    }
  }

  Status restore(Stream stream) override {
    return runs_.for_each([&](std::int64_t, std::int64_t at) {
      return client_.fill(stream, lowest_ + at, sum_poison(args_.dtype),
                          static_cast<std::uint64_t>(runs_.bytes_of_run()));
    });
  }

 private:
  // A device sends all that the output reaches over at once: each transfer takes long.
  std::uint64_t copied_bytes() const {
    return client_.capabilities().host_memory ? 0 : static_cast<std::uint64_t>(runs_.reach());
  }

  Client& client_;
  const SumArgs args_;
  const OutputRuns runs_;
  std::byte* const lowest_;  // of the output's elements
  SumReference reference_;
};

}  // namespace

Result<std::unique_ptr<ResultCheck>> make_sum_result_check(Client& client, const SumArgs& args,
                                                           Stream stream,
                                                           std::uint64_t most_bytes) {
  auto check = std::make_unique<SumResultCheck>(client, args);
  if (Status made = check->make(stream, most_bytes); !made) return std::unexpected(made.error());
  return check;
}

}  // namespace rooftune
