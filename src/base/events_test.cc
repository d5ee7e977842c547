#include "rooftune/events.h"

#include <limits>
#include <set>
#include <thread>

#include "base/json.h"
#include "base/locale_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

using testing::ElementsAre;
using testing::Pair;

Json parsed(const Trace& trace) {
  const auto value = parse_json(trace.json());
  EXPECT_TRUE(value.has_value()) << trace.json();
  return value ? *value : Json();
}

std::vector<Json> spans(const Trace& trace) {
  std::vector<Json> found;
  const Json all = parsed(trace);
  for (const Json& event : all["traceEvents"]) {
    if (event["ph"] == "X") found.push_back(event);
  }
  return found;
}

TEST(Counters, CountByCategoryAndName) {
  Counters counters;
  counters.on_span({"launch", "gemm", "cpu", 0, 1});
  counters.on_span({"launch", "gemm", "cpu", 1, 2});
  counters.on_span({"launch", "gemv", "fake", 2, 3});
  counters.on_span({"compile", "gemm", "cpu", 0, 0});
  EXPECT_THAT(counters.counts("launch"), ElementsAre(Pair("gemm", 2), Pair("gemv", 1)));
  EXPECT_EQ(counters.total("launch"), 3u);
  EXPECT_EQ(counters.total("compile"), 1u);
  EXPECT_EQ(counters.total("probe"), 0u);
  EXPECT_TRUE(counters.counts("").empty());
  counters.reset();
  EXPECT_EQ(counters.total("launch"), 0u);
}

TEST(Counters, SeveralThreadsLoseNothing) {
  Counters counters;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counters.on_span({"launch", i % 2 ? "a" : "b", "cpu", 0, 0});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(counters.counts("launch"), ElementsAre(Pair("a", 2000), Pair("b", 2000)));
}

TEST(Trace, IsEmptyButValidWithoutSpans) { EXPECT_TRUE(parsed(Trace())["traceEvents"].empty()); }

TEST(Trace, TimesAreMicrosecondsFromTheFirstSpan) {
  Trace trace;
  trace.on_span({"measure", "gemm", "cpu", 5000.0000015, 5000.0000040});
  trace.on_span({"tune", "key", "fake", 5000.0, 5001.0});
  const auto found = spans(trace);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0]["ts"].get<double>(), 1.5, 0.002);
  EXPECT_NEAR(found[0]["dur"].get<double>(), 2.5, 0.002);
  EXPECT_EQ(found[0]["cat"], "measure");
  EXPECT_EQ(found[0]["name"], "gemm");
  EXPECT_EQ(found[1]["ts"].get<double>(), 0);
  EXPECT_EQ(found[1]["dur"].get<double>(), 1e6);
  EXPECT_NE(found[0]["pid"], found[1]["pid"]);
  const Json all = parsed(trace);
  EXPECT_EQ(all["traceEvents"][0]["args"]["name"], "cpu");
  EXPECT_EQ(all["traceEvents"][0]["pid"], found[0]["pid"]);
}

TEST(Trace, OddNamesAndTimesStayValidJson) {
  const DecimalComma comma;
  Trace trace;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  trace.on_span({"la\"unch", "a\\b\n\x01\xff", "cpu {}", nan, 1});
  trace.on_span({"launch", "", "", 2.5, 1});
  trace.on_span({"launch", "k", "", 1, std::numeric_limits<double>::infinity()});
  const auto found = spans(trace);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]["cat"], "la\"unch");
  EXPECT_EQ(found[0]["name"], "a\\b\n\x01\xef\xbf\xbd");
  EXPECT_EQ(found[0]["ts"].get<double>(), 0);
  EXPECT_EQ(found[1]["ts"].get<double>(), 1.5e6);
  EXPECT_EQ(found[1]["dur"].get<double>(), 0);
  EXPECT_EQ(found[2]["dur"].get<double>(), 0);
}

TEST(Trace, IsBoundedAndSaysHowManyAreMissing) {
  Trace trace(2);
  for (int i = 0; i < 5; ++i) trace.on_span({"launch", "k", "cpu", 0, 0});
  EXPECT_EQ(spans(trace).size(), 2u);
  EXPECT_EQ(parsed(trace)["otherData"]["dropped_spans"], 3);
  EXPECT_EQ(parsed(Trace())["otherData"]["dropped_spans"], 0);
}

TEST(Trace, ThreadsAreToldApart) {
  Trace trace;
  const auto report = [&] {
    for (int i = 0; i < 100; ++i) trace.on_span({"launch", "k", "cpu", 0, 0});
  };
  std::thread first(report), second(report);
  first.join();
  second.join();
  std::set<std::uint64_t> ids;
  for (const Json& span : spans(trace)) ids.insert(span["tid"].get<std::uint64_t>());
  EXPECT_EQ(ids.size(), 2u);
}

TEST(Fanout, PassesEverySpanToAll) {
  Counters one, two;
  Fanout fanout({&one, &two});
  fanout.on_span({"launch", "k", "cpu", 0, 0});
  EXPECT_EQ(one.total("launch") + two.total("launch"), 2u);
}

}  // namespace
}  // namespace rooftune
