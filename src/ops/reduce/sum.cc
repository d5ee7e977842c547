// Session::sum and what belongs to it.
#include <array>
#include <cstddef>
#include <string>

#include "ops/reduce/cpu/candidates.h"
#include "ops/reduce/problem.h"
#include "ops/reduce/reference.h"
#include "ops/session_operations.h"

namespace rooftune {
namespace {

// The sum of nothing.
Status write_zeros(Client& client, const SumArgs& args, Stream stream) {
  const std::int64_t bytes = size_of(args.dtype);
  const std::array<std::byte, 8> zero{};
  Status done;
  const auto fill = [&](std::int64_t offset, std::int64_t elements) {
    return client.fill(stream, static_cast<std::byte*>(args.out) + offset * bytes,
                       std::span(zero).first(static_cast<std::size_t>(bytes)),
                       static_cast<std::uint64_t>(elements * bytes));
  };
  if (args.keep_rank == 0 || (args.keep_rank == 1 && args.out_keep[0] == 1)) {
    return fill(0, args.outputs);
  }
  for_each_output(args, [&](std::int64_t, std::int64_t offset) {
    if (done) done = fill(offset, 1);
  });
  return done;
}

}  // namespace

Status Session::sum(const ConstView& in, const View& out, std::span<const int> axes,
                    const SumOptions& options) {
  const auto made = make_sum_args(in, out, axes);
  if (!made) [[unlikely]]
    return std::unexpected(made.error());
  const SumArgs& args = *made;
  auto& tuner = *operations_->sum;
  if (options.strategy == Strategy::named && !tuner.set().find(options.candidate)) {
    for (const CpuSumCandidate& row : cpu_sum_candidates()) {
      if (row.name != options.candidate) continue;
      return fail(ErrorKind::unsupported,
                  "candidate " + std::string(row.name) + " needs instruction set " +
                      std::string(to_string(row.isa)) + " on " + client().name());
    }
  }
  if (args.outputs == 0 || args.terms == 0) [[unlikely]] {
    if (options.report != nullptr) *options.report = {};
    return args.outputs == 0 ? Status{} : write_zeros(client(), args, options.stream);
  }
  if (options.strategy == Strategy::named) {
    return tuner.force(options.candidate, args, options.stream, options.report);
  }
  const SumKey key = make_sum_key(args, settings().autotune.level, client().capabilities().threads);
  if (options.strategy == Strategy::untuned) {
    return tuner.untuned(key, args, options.stream, options.report);
  }
  return tuner.execute(key, args, options.stream, options.report);
}

std::vector<std::string> Session::sum_candidates() const { return operations_->sum->names(); }

}  // namespace rooftune
