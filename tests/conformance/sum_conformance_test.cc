// Every candidate for sums on every device, on layouts of every kind, compared with plain loops in
// f64 on the host. A device that is missing is a printed skip.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "ops/reduce/sum_for_test.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

class SumConformance : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto opened = Session::open({.device = GetParam(),
                                 .environment = "local",
                                 .settings = Settings{},
                                 .folders = {temp_.path(), temp_.path()}});
    if (!opened && (opened.error().kind == ErrorKind::unsupported ||
                    opened.error().kind == ErrorKind::not_found)) {
      GTEST_SKIP() << GetParam() << " is not here: " << opened.error().text;
    }
    ASSERT_TRUE(opened) << opened.error().text;
    session_ = *std::move(opened);
  }

  // Sums `in` over the axes of the mask with one candidate, or with a search when it has no name.
  template <class T>
  void check(const Layout& in, unsigned axes, const Layout& out, std::size_t shift,
             const std::vector<T>& values, const std::string& candidate) {
    Client& client = session_->client();
    // Elements around the output that must stay as they are.
    constexpr std::int64_t kMargin = 32;
    const auto [in_lowest, in_highest] = in.reach();
    const auto [out_lowest, out_highest] = out.reach();
    std::vector<T> before(static_cast<std::size_t>(out_highest - out_lowest + 1 + 2 * kMargin),
                          T(7));
    auto in_memory = client.allocate(values.size() * sizeof(T) + shift);
    auto out_memory = client.allocate(before.size() * sizeof(T) + shift);
    ASSERT_TRUE(in_memory && out_memory);
    auto* const in_begin = static_cast<std::byte*>(in_memory->address()) + shift;
    auto* const out_begin = static_cast<std::byte*>(out_memory->address()) + shift;
    ASSERT_TRUE(client.write({}, in_begin, values.data(), values.size() * sizeof(T)));
    ASSERT_TRUE(client.write({}, out_begin, before.data(), before.size() * sizeof(T)));
    const std::int64_t size = sizeof(T);
    const ConstView input(in_begin - in_lowest * size, dtype_of<T>, in);
    const View output{out_begin + (kMargin - out_lowest) * size, dtype_of<T>, out};
    CallReport report;
    SumOptions options;
    options.report = &report;
    if (!candidate.empty()) {
      options.strategy = Strategy::named;
      options.candidate = candidate;
    }
    const std::string what = candidate + " over axes " + std::to_string(axes) + " of " +
                             in.to_string() + " to " + out.to_string();
    const Status done = session_->sum(input, output, axes_of_mask(axes), options);
    if (!done && done.error().kind == ErrorKind::illegal) return;
    ASSERT_TRUE(done) << what << ": " << done.error().text;
    if (!candidate.empty()) {
      EXPECT_EQ(report.candidate, candidate) << what;
    }
    std::vector<T> after(before.size());
    ASSERT_TRUE(client.read({}, after.data(), out_begin, after.size() * sizeof(T)));

    const std::vector<double> expected = reference_sum(values.data() - in_lowest, in, axes);
    std::size_t at = 0;
    for_each_index(out.shape(), [&](const std::vector<std::int64_t>& index) {
      const auto place = static_cast<std::size_t>(kMargin - out_lowest + offset_of(out, index));
      // Integers: every order of additions is exact.
      const double want = expected[at++];
      const double found = double(after[place]);
      EXPECT_TRUE(found == want || (std::isnan(found) && std::isnan(want)))
          << what << ": " << found << " instead of " << want;
      after[place] = T(7);
    });
    EXPECT_EQ(std::memcmp(after.data(), before.data(), before.size() * sizeof(T)), 0)
        << what << " wrote beside the output";
  }

  template <class T>
  void check_all(const Layout& in, unsigned axes, const Layout& out, std::size_t shift = 0) {
    const auto [lowest, highest] = in.reach();
    std::vector<T> values(static_cast<std::size_t>(highest - lowest + 1));
    for (T& value : values) value = static_cast<T>(static_cast<int>(random_() % 17) - 8);
    for (const std::string& name : session_->sum_candidates()) {
      check<T>(in, axes, out, shift, values, name);
    }
    check<T>(in, axes, out, shift, values, "");
  }

  TempFolder temp_;
  std::unique_ptr<Session> session_;
  std::mt19937_64 random_{2026};
};

TEST_P(SumConformance, LayoutsOfEveryKind) {
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    std::vector<std::int64_t> extents;
    for (auto rank = random_() % 5; rank > 0; --rank) {
      extents.push_back(1 + static_cast<std::int64_t>(random_() % 13));
    }
    const Layout in = make_layout(extents, random_choice(extents.size(), true, random_));
    const auto axes = static_cast<unsigned>(random_() % (1u << extents.size()));
    const std::vector<std::int64_t> shape = summed_shape(in, axes, false);
    const Layout out = make_layout(shape, random_choice(shape.size(), false, random_));
    check_all<float>(in, axes, out, i % 5 == 0 ? 1 : 0);
    check_all<double>(in, axes, out, i % 7 == 0 ? 4 : 0);
  }
}

TEST_P(SumConformance, LongAndWide) {
  for (const auto& extents : {std::array<std::int64_t, 2>{3, 100'003}, {100'003, 3}, {700, 700}}) {
    const std::vector<std::int64_t> shape(extents.begin(), extents.end());
    const Layout in = make_layout(shape, dense(2));
    for (const unsigned axes : {1u, 2u, 3u}) {
      const std::vector<std::int64_t> summed = summed_shape(in, axes, false);
      check_all<float>(in, axes, make_layout(summed, dense(summed.size())));
      check_all<double>(in, axes, make_layout(summed, dense(summed.size())));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SumConformance, testing::Values("cpu", "cuda:0"),
                         [](const auto& device) { return std::string(device.param).substr(0, 4); });

}  // namespace
}  // namespace rooftune
