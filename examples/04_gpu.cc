// A product on a GPU: operands in its memory, the first call tuned, the next one only launched.
#include <rooftune/rooftune.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace {

int report(const rooftune::Error& error) {
  std::fprintf(stderr, "%s\n", error.text.c_str());
  return 1;
}

}  // namespace

int main() {
  rooftune::SessionOptions options;
  options.device = "cuda:0";
  options.environment = "local";  // .rooftune/ in the current folder
  auto session = rooftune::Session::open(options);
  if (!session) {
    std::printf("skipped: %s\n", session.error().text.c_str());
    return 0;
  }
  rooftune::Client& gpu = (*session)->client();

  constexpr std::int64_t kRows = 300, kTerms = 200, kCols = 100;
  std::vector<float> a(kRows * kTerms), b(kTerms * kCols), c(kRows * kCols);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* values : {&a, &b}) {
    for (float& value : *values) value = normal(random);
  }
  // Pointers of the CUDA run time or of a framework would do as well.
  auto device_a = gpu.allocate(a.size() * sizeof(float));
  auto device_b = gpu.allocate(b.size() * sizeof(float));
  auto device_c = gpu.allocate(c.size() * sizeof(float));
  for (const auto* buffer : {&device_a, &device_b, &device_c}) {
    if (!*buffer) return report(buffer->error());
  }
  const rooftune::Stream stream;  // the default one
  for (const rooftune::Status& written :
       {gpu.write(stream, device_a->address(), a.data(), device_a->bytes()),
        gpu.write(stream, device_b->address(), b.data(), device_b->bytes())}) {
    if (!written) return report(written.error());
  }

  const auto lhs = rooftune::view(static_cast<float*>(device_a->address()), {kRows, kTerms});
  const auto rhs = rooftune::view(static_cast<float*>(device_b->address()), {kTerms, kCols});
  const auto out = rooftune::view(static_cast<float*>(device_c->address()), {kRows, kCols});
  for (int call = 1; call <= 2; ++call) {
    rooftune::CallReport what;
    if (auto done = (*session)->matmul(lhs, rhs, out, {.stream = stream, .report = &what}); !done) {
      return report(done.error());
    }
    std::printf("call %d ran %.*s%s\n", call, int(what.candidate.size()), what.candidate.data(),
                what.tuned ? ", after measuring" : "");
  }
  if (auto read = gpu.read(stream, c.data(), device_c->address(), device_c->bytes()); !read) {
    return report(read.error());
  }
  double first = 0;
  for (std::int64_t p = 0; p < kTerms; ++p) first += double(a[p]) * double(b[p * kCols]);
  std::printf("c[0] = %f, on the host %f\n", c[0], first);
  return std::abs(c[0] - first) < 1e-3 ? 0 : 1;
}
