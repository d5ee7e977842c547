#include "ops/matmul/result_check.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/matmul/matmul_set.h"
#include "ops/matmul/verify.h"
#include "ops/output_runs.h"

namespace rooftune {
namespace {

OutputRuns runs_of(const GemmArgs& gemm) {
  const std::int64_t size = size_of(gemm.c_type);
  std::vector<OutputRuns::Axis> axes = {{gemm.m, gemm.c_row * size}, {gemm.n, gemm.c_col * size}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(gemm.batch_rank); ++i) {
    axes.push_back({gemm.batch_extent[i], gemm.c_batch[i] * size});
  }
  return OutputRuns(std::move(axes), size);
}

class MatmulResultCheck final : public ResultCheck {
 public:
  MatmulResultCheck(Client& client, const GemmArgs& args)
      : client_(client),
        args_(args),
        runs_(runs_of(args)),
        output_(static_cast<std::byte*>(args.c) + runs_.first()) {}

  Status make(Stream stream, std::uint64_t most_bytes, std::unique_ptr<MatrixPasses> passes) {
    if (Status ready = client_.synchronize(stream); !ready) return ready;
    try {
      std::vector<std::byte> plain;
      GemmArgs seen = args_;
      if (args_.packed != nullptr) {
        const std::uint64_t bytes =
            static_cast<std::uint64_t>(args_.k * args_.n * size_of(args_.b_type));
        if (bytes > most_bytes) return too_much(bytes, most_bytes);
        plain.resize(bytes);
        seen = with_plain_rhs(args_, plain.data());
      }
      auto check =
          ProductCheck::make(seen, std::move(passes), high_policy_error(client_.capabilities()));
      if (!check) return std::unexpected(check.error());
      check_ = *std::move(check);
      return args_.beta != 0 ? keep_output(stream, most_bytes) : restore(stream);
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::out_of_memory, "no memory to check a result");
    }
  }

  Result<Check> check(Stream stream) override {
    if (Status done = client_.synchronize(stream); !done) return std::unexpected(done.error());
    return check_->check(args_);
  }

  Status restore(Stream stream) override {
    if (args_.beta != 0) {
      return runs_.for_each([&](std::int64_t index, std::int64_t at) {
        return client_.write(stream, output_ + at, kept_.data() + place(index, at), run_bytes());
      });
    }
    // A NaN of any type, at any alignment; as an integer -1, which an exact check tells from
    // whatever else is right.
    constexpr std::array kPoison = {std::byte{0xff}};
    return runs_.for_each([&](std::int64_t, std::int64_t at) {
      return client_.fill(stream, output_ + at, kPoison, run_bytes());
    });
  }

 private:
  static std::unexpected<Error> too_much(std::uint64_t bytes, std::uint64_t most_bytes) {
    return fail(ErrorKind::out_of_memory,
                "checking a result needs " + std::to_string(bytes) +
                    " bytes, more than autotune.memory_bytes = " + std::to_string(most_bytes));
  }

  std::uint64_t run_bytes() const { return static_cast<std::uint64_t>(runs_.bytes_of_run()); }
  // A device sends all that the output reaches over at once: each transfer takes long. The host
  // takes run by run, since an output may reach over any amount of memory.
  bool whole() const { return !client_.capabilities().host_memory; }
  std::size_t place(std::int64_t index, std::int64_t at) const {
    return static_cast<std::size_t>(whole() ? at : index * runs_.bytes_of_run());
  }

  Status keep_output(Stream stream, std::uint64_t most_bytes) {
    const auto bytes =
        static_cast<std::uint64_t>(whole() ? runs_.reach() : runs_.count() * runs_.bytes_of_run());
    if (bytes > most_bytes) return too_much(bytes, most_bytes);
    kept_.resize(bytes);
    if (whole()) return client_.read(stream, kept_.data(), output_, bytes);
    return runs_.for_each([&](std::int64_t index, std::int64_t at) {
      std::memcpy(kept_.data() + place(index, at), output_ + at, run_bytes());
      return Status{};
    });
  }

  Client& client_;
  const GemmArgs args_;
  const OutputRuns runs_;
  std::byte* const output_;
  std::optional<ProductCheck> check_;
  std::vector<std::byte> kept_;  // the output before the call, where it is read
};

}  // namespace

Result<std::unique_ptr<ResultCheck>> make_matmul_result_check(
    Client& client, const GemmArgs& args, Stream stream, std::uint64_t most_bytes,
    std::unique_ptr<MatrixPasses> passes) {
  auto check = std::make_unique<MatmulResultCheck>(client, args);
  if (Status made = check->make(stream, most_bytes, std::move(passes)); !made) {
    return std::unexpected(made.error());
  }
  return check;
}

}  // namespace rooftune
