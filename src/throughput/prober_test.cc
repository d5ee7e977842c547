#include "throughput/prober.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "device/fake/fake_client.h"
#include "throughput/memory_curve.h"

namespace rooftune {
namespace {

// A fake device on which f16 runs at the rate of f32 and u8 at that of i8.
class SharingClient final : public FakeClient {
 public:
  using FakeClient::FakeClient;
  Result<ProbeKernel> probe_kernel(ProbeKind kind, DType dtype) override {
    const DType measured = dtype == DType::f16  ? DType::f32
                           : dtype == DType::u8 ? DType::i8
                                                : dtype;
    auto probe = FakeClient::probe_kernel(kind, measured);
    if (probe && measured != dtype) probe->same_as = measured;
    return probe;
  }
};

class MapStore final : public ProbeStore {
 public:
  std::optional<double> load(const std::string& key) override {
    const auto found = kept.find(key);
    return found != kept.end() ? std::optional(found->second) : std::nullopt;
  }
  void save(const std::string& key, double value) override { kept[key] = value; }
  std::map<std::string, double> kept;
};

FakeScript script() {
  FakeScript made;
  made.probes.compute = {{DType::f32, 1e12}, {DType::bf16, 2e12}, {DType::i8, 4e12}};
  made.probes.matrix = {{DType::bf16, 16e12}};
  return made;
}

// Within the 5 % to which probes promise to be right.
testing::AssertionResult about(const Result<double>& rate, double expected) {
  if (!rate) return testing::AssertionFailure() << rate.error().text;
  if (*rate > 0.95 * expected && *rate < 1.05 * expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << *rate << " is not about " << expected;
}

TEST(Prober, MatrixUnitsWhereThereAreSomeElsePlainOnes) {
  SharingClient client(script());
  Prober prober(client, nullptr);
  EXPECT_TRUE(about(prober.compute(DType::bf16, true), 16e12));
  EXPECT_TRUE(about(prober.compute(DType::bf16, false), 2e12));
  EXPECT_TRUE(about(prober.compute(DType::f32, true), 1e12));
  EXPECT_TRUE(about(prober.compute(DType::u8, true), 4e12));
  const auto none = prober.compute(DType::f8e4m3, true);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
}

TEST(Prober, ARateThatServesTwoTypesIsMeasuredOnce) {
  SharingClient client(script());
  MapStore store;
  Prober prober(client, &store);
  EXPECT_TRUE(about(prober.compute(DType::u8, false), 4e12));
  const std::uint64_t launches = prober.launches_spent();
  EXPECT_GT(launches, 0u);
  EXPECT_TRUE(about(prober.compute(DType::i8, false), 4e12));
  EXPECT_TRUE(about(prober.compute(DType::i8, true), 4e12)) << "plain units serve";
  EXPECT_EQ(prober.launches_spent(), launches);
  EXPECT_EQ(store.kept.size(), 1u);
}

TEST(Prober, DistrustReachesThePeakThatWasAnswered) {
  SharingClient client(script());
  MapStore store;
  Prober prober(client, &store);
  const struct {
    DType dtype;
    bool matrix_units;
  } asked[] = {{DType::u8, true}, {DType::f16, false}, {DType::bf16, true}};
  for (const auto& [dtype, matrix_units] : asked) {
    ASSERT_TRUE(prober.compute(dtype, matrix_units));
    std::uint64_t launches = prober.launches_spent();
    ASSERT_TRUE(prober.compute(dtype, matrix_units));
    EXPECT_EQ(prober.launches_spent(), launches);
    prober.distrust(dtype, matrix_units);
    ASSERT_TRUE(prober.compute(dtype, matrix_units));
    EXPECT_GT(prober.launches_spent(), launches) << to_string(dtype);
    launches = prober.launches_spent();
    ASSERT_TRUE(prober.compute(dtype, matrix_units));
    EXPECT_EQ(prober.launches_spent(), launches) << "believed again";
  }
}

TEST(Prober, AllReportsEveryTypeAndMeasuresEachRateOnce) {
  SharingClient client(script());
  MapStore store;
  Prober prober(client, &store);
  for (const bool fresh : {false, true}) {
    const auto report = prober.all(fresh);
    ASSERT_TRUE(report) << report.error().text;
    std::map<std::pair<std::string_view, bool>, double> peaks;
    for (const ComputePeak& peak : report->compute) {
      peaks[{to_string(peak.dtype), peak.matrix_units}] = peak.ops_per_s;
    }
    EXPECT_EQ(peaks.size(), report->compute.size());
    EXPECT_EQ(peaks.size(), 6u);  // f32, f16, bf16, i8, u8, and bf16 on matrix units
    EXPECT_EQ((peaks[{"f16", false}]), (peaks[{"f32", false}]));
    EXPECT_EQ((peaks[{"u8", false}]), (peaks[{"i8", false}]));
    EXPECT_TRUE(about((peaks[{"bf16", true}]), 16e12));
    EXPECT_TRUE(about((peaks[{"i8", false}]), 4e12));
    EXPECT_GT(report->launches, 0u) << "fresh measures again";
    EXPECT_LT(report->launches, 2000u);
    for (const char* kernel : {"probe_compute_f32", "probe_compute_i8"}) {
      EXPECT_GT(client.launches(kernel), 0u) << kernel;
    }
    EXPECT_EQ(client.launches("probe_compute_f16"), 0u);
  }
  const auto again = prober.all(false);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->launches, 0u);
}

TEST(Prober, SizesBetweenTwoPointsOfTheCurveAreInterpolatedForNothing) {
  FakeScript scripted = script();
  const auto points = curve_points(scripted.capabilities, false);
  const double low = points[1], high = points[2];
  scripted.probes.read = {{low, 400e9}, {high, 100e9}, {0, 50e9}};
  FakeClient client(scripted);
  Prober prober(client, nullptr);
  // Two points answer for all between them.
  ASSERT_TRUE(prober.memory(ProbeKind::read, (low + high) / 2));
  const std::uint64_t launches = prober.launches_spent();
  EXPECT_GT(launches, 0u);
  EXPECT_TRUE(about(prober.memory(ProbeKind::read, low), 400e9));
  EXPECT_TRUE(about(prober.memory(ProbeKind::read, high), 100e9));
  double last = 401e9;
  for (double bytes = low; bytes <= high; bytes *= 1.1) {
    const auto rate = prober.memory(ProbeKind::read, bytes);
    ASSERT_TRUE(rate);
    EXPECT_LT(*rate, last) << bytes;
    last = *rate;
  }
  EXPECT_TRUE(about(prober.memory(ProbeKind::read, std::sqrt(low * high)), 200e9))
      << "on logarithmic scales";
  EXPECT_EQ(prober.launches_spent(), launches);
}

// A guest that loses its processors for most of every 40 ms: what is measured at one time only is
// measured while it has half of them.
TEST(Prober, EachIsMeasuredAtSeveralTimes) {
  FakeScript scripted = script();
  scripted.drift = [](double now_s) { return std::fmod(now_s, 40e-3) < 25e-3 ? 2.0 : 1.0; };
  FakeClient client(scripted);
  Prober prober(client, nullptr);
  const auto report = prober.all(true);
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_LT(report->launches, 2000u);
  EXPECT_TRUE(about(prober.compute(DType::f32, false), 1e12));
  EXPECT_TRUE(about(prober.compute(DType::bf16, true), 16e12));
  for (const MemoryPoint& point : report->memory) {
    const bool cached = point.working_set_bytes <= (1 << 20);
    EXPECT_TRUE(about(point.copy, cached ? 400e9 : 80e9)) << point.working_set_bytes;
    EXPECT_TRUE(about(point.read, cached ? 500e9 : 100e9)) << point.working_set_bytes;
    EXPECT_TRUE(about(point.write, cached ? 300e9 : 60e9)) << point.working_set_bytes;
  }
}

TEST(Prober, AClockByWhichNothingAgreesEndsInTheBudgetToo) {
  FakeScript scripted = script();
  scripted.capabilities.cache_reach_bytes = {96 << 10, 2560 << 10, 32 << 20};
  scripted.drift = [](double now_s) { return 1 + std::fmod(now_s * 1e7, 7.0); };
  for (const bool stands_still : {false, true}) {
    if (stands_still) scripted.clock_shows = [](double) { return 1.0; };
    FakeClient client(scripted);
    Prober prober(client, nullptr);
    const auto report = prober.all(true);
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_LT(report->launches, 2000u);
  }
}

TEST(Prober, NoSizeCostsMoreThanTheWholeCurve) {
  FakeClient client(script());
  Prober prober(client, nullptr);
  for (double bytes = 1; bytes < 1e12; bytes *= 1.3) {
    ASSERT_TRUE(prober.memory(ProbeKind::read, bytes));
  }
  const std::uint64_t read = client.launches("probe_read_f32");
  EXPECT_LT(read, 300u);
  ASSERT_TRUE(prober.all(false));
  EXPECT_EQ(client.launches("probe_read_f32"), read) << "it was known";
}

TEST(Prober, WhatOneHasMeasuredAnotherFindsInTheStore) {
  FakeClient client(script());
  MapStore store;
  const auto first = Prober(client, &store).all(false);
  ASSERT_TRUE(first);
  const std::uint64_t launches = client.launches();
  Prober another(client, &store);
  const auto again = another.all(false);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->launches, 0u);
  EXPECT_EQ(again->launch_overhead_s, first->launch_overhead_s);
  EXPECT_TRUE(another.memory(ProbeKind::copy, 3e5));
  EXPECT_EQ(client.launches(), launches);
}

}  // namespace
}  // namespace rooftune
