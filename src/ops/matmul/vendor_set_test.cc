#include <cstdlib>
#include <string>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/matmul/rivals.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {
namespace {

std::string folders_of_developer() {
  const char* folders = std::getenv("ROOFTUNE_RIVALS");
  return folders == nullptr ? "" : folders;
}

std::unique_ptr<Session> open(const std::filesystem::path& folder, bool vendor) {
  Settings settings;
  settings.environment = "local";
  settings.vendor = vendor;
  settings.vendor_path = folders_of_developer();
  auto session = Session::open({.settings = settings, .folders = {folder, folder}});
  EXPECT_TRUE(session) << session.error().text;
  return session ? *std::move(session) : nullptr;
}

// The vendor candidates in the record of one product, each of them run and compared.
std::vector<std::string> vendors_in(Session& session) {
  constexpr std::int64_t kSize = 48;
  std::vector<float> a(kSize * kSize), b(a.size()), c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 7) - 2;
    b[i] = static_cast<float>(i % 5) - 1;
  }
  const auto layout = Layout::contiguous(std::vector<std::int64_t>{kSize, kSize});
  const Status done =
      session.matmul({a.data(), DType::f32, *layout}, {b.data(), DType::f32, *layout},
                     {c.data(), DType::f32, *layout});
  EXPECT_TRUE(done);
  std::vector<std::string> names;
  for (const Decision& decision : session.decisions("matmul")) {
    for (const auto& candidate : decision.candidates) {
      if (!candidate.name.starts_with("vendor_")) continue;
      names.push_back(candidate.name);
      std::vector<float> forced(c.size(), -1);
      MatmulOptions options;
      options.strategy = Strategy::named;
      options.candidate = candidate.name;
      EXPECT_TRUE(session.matmul({a.data(), DType::f32, *layout}, {b.data(), DType::f32, *layout},
                                 {forced.data(), DType::f32, *layout}, options));
      EXPECT_EQ(forced, c) << candidate.name;  // small whole numbers: every order of summing
    }
  }
  return names;
}

TEST(VendorSet, IsOffByDefault) {
  const TempFolder temp;
  const auto session = open(temp.path(), false);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(vendors_in(*session), testing::IsEmpty());
}

TEST(VendorSet, HasACandidateForEachLibraryThatIsInstalled) {
  RivalOptions options;
  options.folders = split_folders(folders_of_developer());
  std::vector<std::string> expected;
  for (const std::string_view name : rival_names()) {
    if (load_rival(name, options)) expected.push_back("vendor_" + std::string(name));
  }
  if (expected.empty()) GTEST_SKIP() << "no other library is installed";
  const TempFolder temp;
  const auto session = open(temp.path(), true);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(vendors_in(*session), testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace rooftune
