// One matrix of weights, packed once and multiplied with many inputs, from any thread.
#include <chrono>
#include <cstdio>
#include <vector>

#include "rooftune/rooftune.h"

namespace {

int report(const rooftune::Error& error) {
  std::fprintf(stderr, "%s\n", error.text.c_str());
  return 1;
}

// Numbers that are not all the same.
rooftune::Result<rooftune::Tensor> matrix(std::int64_t rows, std::int64_t cols) {
  auto tensor = rooftune::Tensor::make(rooftune::DType::f32, {rows, cols});
  if (!tensor) return tensor;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    tensor->as<float>()[i] = float(i * 2654435761 % 1000) / 500 - 1;
  }
  return tensor;
}

// The shortest of a few calls.
template <class Call>
double best_ms(Call call) {
  double best = 1e30;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!call()) return -1;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = took.count() < best ? took.count() : best;
  }
  return best;
}

}  // namespace

int main() {
  rooftune::SessionOptions options;
  options.environment = "local";  // .rooftune/ in the current folder
  auto session = rooftune::Session::open(options);
  if (!session) return report(session.error());

  constexpr std::int64_t kInputs = 512, kOutputs = 768;
  rooftune::PackedMatrix weights;
  {
    // The plain matrix is not needed once it is packed.
    auto plain = matrix(kInputs, kOutputs);
    if (!plain) return report(plain.error());
    auto packed = (*session)->pack_rhs(*plain);
    if (!packed) return report(packed.error());
    weights = *packed;
  }
  std::printf("%s, %llu bytes\n", weights.format().c_str(),
              static_cast<unsigned long long>(weights.bytes()));

  // A few tokens at a time, then a whole batch: each size has a kernel of its own.
  for (const std::int64_t rows : {1, 16, 256}) {
    auto in = matrix(rows, kInputs), out = matrix(rows, kOutputs);
    if (!in || !out) return report((!in ? in : out).error());
    rooftune::CallReport call;
    const rooftune::Status done = (*session)->matmul(*in, weights, *out, {.report = &call});
    if (!done) return report(done.error());
    const double ms = best_ms([&] { return (*session)->matmul(*in, weights, *out).has_value(); });
    std::printf("%3lld rows: %.3f ms with %.*s\n", static_cast<long long>(rows), ms,
                int(call.candidate.size()), call.candidate.data());
  }
  return 0;
}
