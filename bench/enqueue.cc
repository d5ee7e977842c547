// What a later call costs the host on a device that works by itself: Session::matmul from call to
// return, with nothing waited for.
//   bench_enqueue [device]          "cuda:0" when left out
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/clock.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

// So few that the device's queue is never full, or the host would wait for kernels.
constexpr int kCalls = 200;
constexpr int kRounds = 25;

struct Case {
  const char* what;
  DType dtype;
  std::int64_t m, n, k;
  Precision precision = Precision::highest;
};

constexpr Case kCases[] = {
    {"aligned", DType::bf16, 1024, 1024, 1024},
    {"operands repacked", DType::bf16, 1025, 1025, 1025},
    {"small", DType::f32, 64, 64, 64},
    {"few rows", DType::bf16, 1, 4096, 4096},
    {"TF32 in three parts", DType::f32, 1024, 1024, 1024, Precision::split},
};

Result<Buffer> random_buffer(Client& client, std::uint64_t bytes, unsigned seed) {
  auto buffer = client.allocate(bytes);
  if (!buffer) return buffer;
  // Bits of bf16 and f32 numbers of size 1 to 2.
  std::vector<std::uint16_t> host(bytes / 2);
  std::mt19937 random(seed);
  for (auto& word : host) word = static_cast<std::uint16_t>((random() & 0x807f) | 0x3f80);
  if (Status done = client.write({}, buffer->address(), host.data(), bytes); !done) {
    return std::unexpected(done.error());
  }
  return buffer;
}

Status measure(Session& session, const Case& each) {
  Client& client = session.client();
  const std::uint64_t size = static_cast<std::uint64_t>(size_of(each.dtype));
  const auto a = random_buffer(client, size * std::uint64_t(each.m * each.k), 1);
  const auto b = random_buffer(client, size * std::uint64_t(each.k * each.n), 2);
  const auto c = random_buffer(client, size * std::uint64_t(each.m * each.n), 3);
  for (const auto* buffer : {&a, &b, &c}) {
    if (!*buffer) return std::unexpected(buffer->error());
  }
  const auto view_of = [&](const Buffer& buffer, std::int64_t rows, std::int64_t cols) {
    View made = view(static_cast<float*>(buffer.address()), {rows, cols});
    made.dtype = each.dtype;
    return made;
  };
  const View lhs = view_of(*a, each.m, each.k), rhs = view_of(*b, each.k, each.n);
  const View out = view_of(*c, each.m, each.n);
  const auto stream = client.create_stream();
  if (!stream) return std::unexpected(stream.error());
  CallReport report;
  MatmulOptions options;
  options.precision = each.precision;
  options.stream = *stream;
  options.report = &report;
  if (Status done = session.matmul(lhs, rhs, out, options); !done) return done;
  options.report = nullptr;
  std::vector<double> micros;
  for (int round = 0; round < kRounds; ++round) {
    if (Status done = client.synchronize(*stream); !done) return done;
    const double begin = steady_now_s();
    for (int i = 0; i < kCalls; ++i) {
      if (Status done = session.matmul(lhs, rhs, out, options); !done) return done;
    }
    micros.push_back((steady_now_s() - begin) / kCalls * 1e6);
  }
  std::sort(micros.begin(), micros.end());
  fmt::print("{:<20} {:<5} {:>5}x{}x{:<6} {:>7.2f} us {:>7.2f} us  {}\n", each.what,
             to_string(each.dtype), each.m, each.n, each.k, micros.front(),
             micros[micros.size() / 2], report.candidate);
  client.destroy_stream(*stream);
  return {};
}

int run(const std::string& device) {
  Settings settings;
  settings.autotune.cache = false;
  auto session = Session::open({.device = device, .settings = settings});
  if (!session) {
    fmt::print(stderr, "{}\n", session.error().text);
    return 1;
  }
  fmt::print("{}: the host's part of a later call, least and median of {} rounds of {} calls\n",
             device, kRounds, kCalls);
  for (const Case& each : kCases) {
    if (Status done = measure(**session, each); !done) {
      fmt::print(stderr, "{}: {}\n", each.what, done.error().text);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace rooftune

int main(int count, char** words) { return rooftune::run(count > 1 ? words[1] : "cuda:0"); }
