// Trigger: text where a number belongs becomes 0, which means something else; setting one of two
// paired limits changes the other. Right: bad values are named and refused; each limit works alone.
#include "issue_testing.h"

namespace rooftune::testing {
namespace {

class Prosper3253 : public IssueTest {
 protected:
  Result<std::unique_ptr<Session>> open_with(const std::string& toml) {
    write_file(folder_.path() / "rooftune.toml", toml);
    return Session::open({.folders = {folder_.path(), folder_.path()}});
  }
};

TEST_F(Prosper3253, BadValuesInAFile) {
  const char* numbers[] = {"\"abc\"",  "\"40 \"", "\"4O\"", "-1",  "1e3",
                           "\"1gib\"", "\"\"",    "nan",    "inf", "18446744073709551616",
                           "true",     "[4]",     "{a = 4}"};
  const std::pair<const char*, const char*> keys[] = {{"", "threads"},
                                                      {"autotune", "min_samples"},
                                                      {"autotune", "max_samples"},
                                                      {"autotune", "memory_bytes"},
                                                      {"autotune", "confirmations"}};
  for (const auto& [table, key] : keys) {
    for (const char* number : numbers) {
      const std::string head = *table ? "\n[" + std::string(table) + "]\n" : "\n\n";
      const auto opened = open_with(head + key + " = " + number + "\n");
      ASSERT_FALSE(opened) << key << " = " << number;
      EXPECT_EQ(opened.error().kind, ErrorKind::settings);
      EXPECT_NE(opened.error().text.find("rooftune.toml:3"), std::string::npos)
          << opened.error().text;
    }
  }
  // Seconds may be fractions, and large; not these.
  for (const char* number : {"\"abc\"", "-1", "nan", "inf", "\"\"", "true"}) {
    for (const char* key : {"budget_s", "pending_timeout_s"}) {
      EXPECT_FALSE(open_with(std::string("[autotune]\n") + key + " = " + number)) << number;
    }
  }
}

TEST_F(Prosper3253, UnknownAndDoubleKeys) {
  for (const char* toml :
       {"thread = 4", "threads = 1\nthreads = 2", "[autotun]\nx = 1", "[autotune]\nbudget = 1",
        "threads = \"\xff\xfe\"", "device = \"\xff\""}) {
    const auto opened = open_with(toml);
    ASSERT_FALSE(opened) << toml;
    EXPECT_EQ(opened.error().kind, ErrorKind::settings);
    EXPECT_NE(opened.error().text.find("rooftune.toml:"), std::string::npos) << toml;
  }
}

TEST_F(Prosper3253, BadValuesInTheEnvironment) {
  for (const char* value : {"abc", "40 ", " 4", "4O", "-1", "1e3", "1gib", "0", "1025", "4.0",
                            "nan", "18446744073709551616", "0x4", "+4", "\xff\xfe"}) {
    Settings settings;
    const Status done = apply_environment(settings, [&](const std::string& name) {
      return name == "ROOFTUNE_THREADS" ? std::optional<std::string>(value) : std::nullopt;
    });
    ASSERT_FALSE(done) << value;
    EXPECT_NE(done.error().text.find("ROOFTUNE_THREADS"), std::string::npos);
    EXPECT_EQ(settings.threads, std::nullopt);
  }
}

TEST_F(Prosper3253, EachLimitAlone) {
  const Settings defaults;
  for (const auto& [line, samples] : {std::pair{"min_samples = 7", 7},
                                      {"max_samples = 5", 0},
                                      {"min_samples = 50", 50},
                                      {"max_samples = 1", 0}}) {
    auto opened = open_with(std::string("[autotune]\n") + line);
    ASSERT_TRUE(opened) << opened.error().text;
    const AutotuneSettings& used = (*opened)->settings().autotune;
    if (samples != 0) {
      EXPECT_EQ(used.min_samples, samples);
    }
    EXPECT_LE(used.min_samples, used.max_samples);
    EXPECT_GT(used.min_samples, 0);
    EXPECT_EQ(used.budget_s, defaults.autotune.budget_s);
  }
  auto opened = open_with("[autotune]\nbudget_s = 0.25");
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->settings().autotune.budget_s, 0.25);
  EXPECT_EQ((*opened)->settings().autotune.min_samples, defaults.autotune.min_samples);
  EXPECT_EQ((*opened)->settings().autotune.max_samples, defaults.autotune.max_samples);
}

}  // namespace
}  // namespace rooftune::testing
