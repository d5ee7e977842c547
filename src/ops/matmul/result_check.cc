#include "ops/matmul/result_check.h"

#include <algorithm>
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

namespace rooftune {
namespace {

// The elements of an output as runs that are contiguous in memory, in ascending order. In bytes.
class Runs {
 public:
  explicit Runs(const GemmArgs& gemm) {
    const std::int64_t size = size_of(gemm.c_type);
    std::vector<Axis> axes = {{gemm.m, gemm.c_row * size}, {gemm.n, gemm.c_col * size}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(gemm.batch_rank); ++i) {
      axes.push_back({gemm.batch_extent[i], gemm.c_batch[i] * size});
    }
    std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
    for (Axis& axis : axes) {
      if (axis.stride >= 0) continue;
      first_ += (axis.extent - 1) * axis.stride;
      axis.stride = -axis.stride;
    }
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    run_ = size;
    std::size_t inside = 0;
    for (; inside < axes.size() && axes[inside].stride == run_; ++inside) {
      run_ *= axes[inside].extent;
    }
    outside_.assign(axes.begin() + static_cast<std::ptrdiff_t>(inside), axes.end());
    reach_ = run_;
    for (const Axis& axis : outside_) {
      count_ *= axis.extent;
      reach_ += (axis.extent - 1) * axis.stride;
    }
  }

  std::int64_t first() const { return first_; }  // from the output's pointer
  std::int64_t bytes_of_run() const { return run_; }
  std::int64_t count() const { return count_; }
  std::int64_t reach() const {
    return reach_;
  }  // from the beginning of the first to the last's end

  // Each run by its index and its distance from the first.
  template <class F>
  Status for_each(F visit) const {
    for (std::int64_t index = 0; index < count_; ++index) {
      std::int64_t rest = index, at = 0;
      for (const Axis& axis : outside_) {
        at += rest % axis.extent * axis.stride;
        rest /= axis.extent;
      }
      if (Status done = visit(index, at); !done) return done;
    }
    return {};
  }

 private:
  struct Axis {
    std::int64_t extent, stride;
  };
  std::int64_t first_ = 0, run_ = 0, count_ = 1, reach_ = 0;
  std::vector<Axis> outside_;  // the nearest first
};

class MatmulResultCheck final : public ResultCheck {
 public:
  MatmulResultCheck(Client& client, const GemmArgs& args)
      : client_(client),
        args_(args),
        runs_(args),
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
  const Runs runs_;
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
