// What a tuned call costs beyond its kernel: Session::matmul of 8x8x8 on a warm key against a
// direct call of the winner's kernel, interleaved; allocations of a call; two threads against one.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "device/cpu/client.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/problem.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace rooftune {
namespace {

constexpr std::int64_t kSize = 8;
constexpr int kCalls = 20'000;
constexpr int kRounds = 60;

double ns_per_call(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Operands of one caller.
struct Operands {
  Operands() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto* values : {&a, &b}) {
      for (float& value : *values) value = normal(random);
    }
  }
  View lhs() { return view(a.data(), {kSize, kSize}); }
  View rhs() { return view(b.data(), {kSize, kSize}); }
  View out() { return view(c.data(), {kSize, kSize}); }
  std::vector<float> a = std::vector<float>(kSize * kSize);
  std::vector<float> b = a, c = a;
};

int run() {
  Settings settings;
  settings.autotune.cache = false;
  auto session = Session::open({.settings = settings});
  if (!session) {
    fmt::print(stderr, "{}\n", session.error().text);
    return 1;
  }
  Operands operands;
  const View lhs = operands.lhs(), rhs = operands.rhs(), out = operands.out();
  CallReport report;
  if (Status done = (*session)->matmul(lhs, rhs, out, {.report = &report}); !done) {
    fmt::print(stderr, "{}\n", done.error().text);
    return 1;
  }
  const auto rows = cpu_matmul_candidates();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const CpuMatmulCandidate& candidate) {
    return candidate.name == report.candidate;
  });
  MatmulProblem problem;
  if (row == rows.end() || !make_matmul_problem(lhs, rhs, out, {}, problem)) return 1;
  auto executor = CpuExecutor::make((*session)->client().capabilities().threads, read_topology());
  if (!executor) return 1;

  const auto tuned = [&] {
    for (int i = 0; i < kCalls; ++i) {
      if (!(*session)->matmul(lhs, rhs, out)) std::abort();
    }
  };
  const auto direct = [&] {
    for (int i = 0; i < kCalls; ++i) (*executor)->run(row->kernels.f32, &problem.gemm);
  };
  std::vector<double> tuned_ns, direct_ns, overhead_ns;
  for (int round = 0; round < kRounds; ++round) {
    tuned_ns.push_back(ns_per_call(tuned));
    direct_ns.push_back(ns_per_call(direct));
    overhead_ns.push_back(tuned_ns.back() - direct_ns.back());
  }
  const std::uint64_t before = allocations.load();
  tuned();
  const std::uint64_t allocated = allocations.load() - before;

  // Throughput of two threads with operands of their own, in turn with one.
  std::vector<double> scaling;
  for (int round = 0; round < kRounds / 2; ++round) {
    const double one = ns_per_call(tuned);
    std::atomic<int> ready{0};
    std::vector<double> each(2);
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        Operands mine;
        const View a = mine.lhs(), b = mine.rhs(), c = mine.out();
        ++ready;
        while (ready < 2) {
        }
        each[std::size_t(t)] = ns_per_call([&] {
          for (int i = 0; i < kCalls; ++i) {
            if (!(*session)->matmul(a, b, c)) std::abort();
          }
        });
      });
    }
    for (auto& thread : threads) thread.join();
    scaling.push_back(one / each[0] + one / each[1]);
  }

  fmt::print("winner                         {}\n", report.candidate);
  fmt::print("matmul of 8x8x8, warm key      {:.1f} ns (median of {} rounds of {} calls)\n",
             median(tuned_ns), kRounds, kCalls);
  fmt::print("its kernel, called directly    {:.1f} ns\n", median(direct_ns));
  fmt::print("the call costs                 {:.1f} ns more\n", median(overhead_ns));
  fmt::print("allocations in {} calls     {}\n", kCalls, allocated);
  fmt::print("two threads against one        {:.2f} times\n", median(scaling));
  return 0;
}

}  // namespace
}  // namespace rooftune

int main() { return rooftune::run(); }
