// What a later call costs the host on a device that works by itself: Session::matmul from call to
// return, with nothing waited for; before that, what an empty launch alone takes.
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

// Of kRounds rounds of kCalls calls each, sorted: what a call takes, in microseconds.
template <class Call>
Result<std::vector<double>> rounds(Client& client, Stream stream, Call call) {
  std::vector<double> micros;
  for (int round = 0; round < kRounds; ++round) {
    if (Status done = client.synchronize(stream); !done) return std::unexpected(done.error());
    const double begin = steady_now_s();
    for (int i = 0; i < kCalls; ++i) {
      if (Status done = call(); !done) return std::unexpected(done.error());
    }
    micros.push_back((steady_now_s() - begin) / kCalls * 1e6);
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

void print_row(std::string_view what, std::string_view product, const std::vector<double>& micros,
               std::string_view candidate) {
  fmt::print("{:<20} {:<20} {:>7.2f} us {:>7.2f} us  {}\n", what, product, micros.front(),
             micros[micros.size() / 2], candidate);
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
  const auto micros =
      rounds(client, *stream, [&] { return session.matmul(lhs, rhs, out, options); });
  if (!micros) return std::unexpected(micros.error());
  print_row(each.what, fmt::format("{} {}x{}x{}", to_string(each.dtype), each.m, each.n, each.k),
            *micros, report.candidate);
  client.destroy_stream(*stream);
  return {};
}

// The driver's own part: an empty kernel without arguments to speak of.
Status measure_floor(Client& client) {
  auto probe = client.probe_kernel(ProbeKind::launch, DType::f32);
  if (!probe) return std::unexpected(probe.error());
  const auto stream = client.create_stream();
  if (!stream) return std::unexpected(stream.error());
  const ProbeArgs args;
  const Launch launch{probe->kernel.get(), &args, sizeof args, probe->groups, probe->group_size,
                      /*shared_bytes=*/0,  {}};
  const auto micros = rounds(client, *stream, [&] { return client.launch(*stream, launch); });
  if (!micros) return std::unexpected(micros.error());
  print_row("an empty kernel", "", *micros, "");
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
  if (Status done = measure_floor((*session)->client()); !done) {
    fmt::print(stderr, "an empty kernel: {}\n", done.error().text);
    return 1;
  }
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
