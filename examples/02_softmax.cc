// One's own operation: a key, a fallback that is always right, a rival, and inputs for measuring.
#include <rooftune/rooftune.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

namespace {

// What two problems must share to share a winner; rows and cols are rounded up to the grid.
struct SoftmaxKey {
  std::int64_t rows = 0, cols = 0;
  rooftune::DType dtype = rooftune::DType::f32;
  ROOFTUNE_KEY(anchored(rows), anchored(cols), dtype)
};

// The actual problem: dense rows, softmax along each.
struct SoftmaxArgs {
  const float* in = nullptr;
  float* out = nullptr;
  std::int64_t rows = 0, cols = 0;
};

// Three passes over a row: maximum, sum of exponentials, quotient.
rooftune::Status three_passes(const SoftmaxArgs& args, rooftune::Stream) {
  for (std::int64_t i = 0; i < args.rows; ++i) {
    const float* in = args.in + i * args.cols;
    float* out = args.out + i * args.cols;
    const float most = *std::max_element(in, in + args.cols);
    float sum = 0;
    for (std::int64_t j = 0; j < args.cols; ++j) sum += out[j] = std::exp(in[j] - most);
    for (std::int64_t j = 0; j < args.cols; ++j) out[j] /= sum;
  }
  return {};
}

// Two passes: the sum is rescaled whenever a new maximum turns up.
rooftune::Status online(const SoftmaxArgs& args, rooftune::Stream) {
  for (std::int64_t i = 0; i < args.rows; ++i) {
    const float* in = args.in + i * args.cols;
    float* out = args.out + i * args.cols;
    float most = in[0], sum = 1;
    for (std::int64_t j = 1; j < args.cols; ++j) {
      if (in[j] > most) {
        sum = sum * std::exp(most - in[j]) + 1;
        most = in[j];
      } else {
        sum += std::exp(in[j] - most);
      }
    }
    for (std::int64_t j = 0; j < args.cols; ++j) out[j] = std::exp(in[j] - most) / sum;
  }
  return {};
}

// Measuring never touches the caller's output: candidates write to memory of the trial.
class SoftmaxTrial final : public rooftune::Trial<SoftmaxArgs> {
 public:
  explicit SoftmaxTrial(const SoftmaxArgs& args)
      : out_(static_cast<std::size_t>(args.rows * args.cols)), args_(args) {
    args_.out = out_.data();
  }
  const SoftmaxArgs& args() const override { return args_; }
  rooftune::Status poison(rooftune::Stream) override {
    std::fill(out_.begin(), out_.end(), -1.0f);  // no probability is negative
    return {};
  }
  // Checked against the definition in double precision, not against another candidate.
  rooftune::Result<rooftune::Check> check(rooftune::Stream) override {
    rooftune::Check check;
    check.error_bound = 1e-5;
    for (std::int64_t i = 0; i < args_.rows; ++i) {
      const float* in = args_.in + i * args_.cols;
      const double most = *std::max_element(in, in + args_.cols);
      double sum = 0;
      for (std::int64_t j = 0; j < args_.cols; ++j) sum += std::exp(in[j] - most);
      for (std::int64_t j = 0; j < args_.cols; ++j) {
        const float got = args_.out[i * args_.cols + j];
        if (got < 0) check.complete = false;
        check.error = std::max(check.error, std::abs(got - std::exp(in[j] - most) / sum));
      }
    }
    return check;
  }
  std::uint64_t scratch_bytes() const override { return out_.size() * sizeof(float); }

 private:
  std::vector<float> out_;
  SoftmaxArgs args_;
};

void describe(rooftune::TunableSet<SoftmaxKey, SoftmaxArgs>& set) {
  set.inputs(
      [](const SoftmaxKey&, const SoftmaxArgs& args,
         rooftune::Stream) -> rooftune::Result<std::unique_ptr<rooftune::Trial<SoftmaxArgs>>> {
        return std::make_unique<SoftmaxTrial>(args);
      });
  set.add("three_passes", three_passes).version("1");
  set.add("online", online).version("1").illegal_because([](const SoftmaxArgs& args) {
    return args.cols > 0 ? nullptr : "needs at least one column";
  });
}

rooftune::LocalTuner<SoftmaxKey, SoftmaxArgs> softmax{"example.softmax"};

}  // namespace

int main() {
  auto session = rooftune::Session::open({.environment = "local"});
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().text.c_str());
    return 1;
  }
  const std::int64_t rows = 64, cols = 1000;
  std::vector<float> in(rows * cols), out(in.size());
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  for (float& x : in) x = normal(random);

  rooftune::CallReport call;
  for (int i = 0; i < 2; ++i) {
    const rooftune::Status done = softmax.execute(
        **session, {rows, cols}, {in.data(), out.data(), rows, cols}, describe, {}, &call);
    if (!done) {
      std::fprintf(stderr, "%s\n", done.error().text.c_str());
      return 1;
    }
    std::printf("call %d ran %.*s (%s)\n", i + 1, int(call.candidate.size()), call.candidate.data(),
                std::string(to_string(call.origin)).c_str());
  }
  double sum = 0;
  for (std::int64_t j = 0; j < cols; ++j) sum += double(out[static_cast<std::size_t>(j)]);
  std::printf("the first row sums to %.6f\n", sum);
  return call.origin == rooftune::Origin::memory && std::abs(sum - 1) < 1e-4 ? 0 : 1;
}
