// Trigger: the processor promises an instruction set that may not be used (here: that the settings
// forbid). Right: the lower level is used, and a candidate of a higher one is refused, not run.
// (What processor and system promise together: src/device/cpu/isa_test.cc.)
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Halide9017 : public IssueTest {};

TEST_F(Halide9017, EachCapHolds) {
  const char* levels[] = {"portable", "avx2", "avx512"};
  const std::vector<std::string> all = open()->matmul_candidates();
  for (int cap = 0; cap < 3; ++cap) {
    Settings settings = default_settings();
    settings.isa = levels[cap];
    SessionOptions options{.settings = settings, .folders = {folder_.path(), folder_.path()}};
    auto opened = Session::open(options);
    if (!opened) {
      EXPECT_GT(cap, 0);
      EXPECT_NE(opened.error().text.find(levels[cap]), std::string::npos) << opened.error().text;
      continue;
    }
    Session& session = **opened;
    for (const auto& [m, n, k] : {std::array{65, 67, 69}, {1, 67, 69}, {65, 1, 69}, {65, 67, 1}}) {
      CallReport report;
      for (int call = 0; call < 2; ++call) {
        EXPECT_EQ(run_product(session, m, n, k, DType::f32, {}, &report), "");
        for (int above = cap + 1; above < 3; ++above) {
          EXPECT_EQ(report.candidate.find(levels[above]), std::string_view::npos);
        }
      }
    }
    for (const std::string& name : all) {
      for (int above = cap + 1; above < 3; ++above) {
        if (name.find(levels[above]) == std::string::npos) continue;
        MatmulOptions forced;
        forced.strategy = Strategy::named;
        forced.candidate = name;
        const Operand square = Operand::make(DType::f32, {4, 4}, 1);
        const Status done = session.matmul(square.view, Operand::make(DType::f32, {4, 4}).view,
                                           Operand::make(DType::f32, {4, 4}).view, forced);
        ASSERT_FALSE(done) << name;
        EXPECT_EQ(done.error().kind, ErrorKind::unsupported) << done.error().text;
      }
    }
  }
}

TEST_F(Halide9017, AnUnknownLevelIsNamed) {
  for (const char* isa : {"avx1024", "AVX2", " avx2"}) {
    SessionOptions options;
    options.settings = default_settings();
    options.settings->isa = isa;
    options.folders = {folder_.path(), folder_.path()};
    const auto opened = Session::open(options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, ErrorKind::settings);
    EXPECT_NE(opened.error().text.find("portable"), std::string::npos) << opened.error().text;
  }
}

}  // namespace
}  // namespace rooftune::testing
