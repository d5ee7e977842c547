#include "rooftune/settings.h"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "base/locale_for_test.h"
#include "base/settings_fields.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::string_view kEverything = R"(# all settings
device = "fake"
environment = "prod"
threads = 4
isa = "avx2"
vendor = true
vendor_path = "one:two"

[autotune]
level = "extensive"
cache = false
mode = "online"
pending = "fallback"
pending_timeout_s = 5
budget_s = 0.5
background = 0.25
memory_bytes = 1_000_000
operands = "cold"
min_samples = 4
max_samples = 20
eliminate_ratio = 2.5
survivors = 3
margin = 0.05
confidence = 0.99
confirmations = 4
sample_resolutions = 50
verify = false

[autotune.decisions]
output = "file"
path = "decisions.jsonl"
)";

Settings read(std::string_view toml, const char* name = "rooftune.toml") {
  const Result<Settings> settings = parse_settings(toml, name);
  EXPECT_TRUE(settings.has_value()) << settings.error().text;
  return settings.value_or(Settings());
}

std::string error_of(std::string_view toml, const char* name = "rooftune.toml") {
  const Result<Settings> settings = parse_settings(toml, name);
  if (settings) return "no error";
  EXPECT_EQ(settings.error().kind, ErrorKind::settings);
  return settings.error().text;
}

// A folder of its own for a test, gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "rooftune_settings_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path write(const fs::path& name, std::string_view text) const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(Settings, EverySettingIsRead) {
  const Settings settings = read(kEverything);
  EXPECT_EQ(settings.device, "fake");
  EXPECT_EQ(settings.environment, "prod");
  EXPECT_EQ(settings.threads, 4);
  EXPECT_EQ(settings.isa, "avx2");
  EXPECT_TRUE(settings.vendor);
  EXPECT_EQ(settings.vendor_path, "one:two");
  const AutotuneSettings& autotune = settings.autotune;
  EXPECT_EQ(autotune.level, Level::extensive);
  EXPECT_FALSE(autotune.cache);
  EXPECT_EQ(autotune.mode, Mode::online);
  EXPECT_EQ(autotune.pending, Pending::fallback);
  EXPECT_EQ(autotune.pending_timeout_s, 5);
  EXPECT_EQ(autotune.budget_s, 0.5);
  EXPECT_EQ(autotune.background, 0.25);
  EXPECT_EQ(autotune.memory_bytes, 1'000'000u);
  EXPECT_EQ(autotune.operands, Operands::cold);
  EXPECT_EQ(autotune.min_samples, 4);
  EXPECT_EQ(autotune.max_samples, 20);
  EXPECT_EQ(autotune.eliminate_ratio, 2.5);
  EXPECT_EQ(autotune.survivors, 3);
  EXPECT_EQ(autotune.margin, 0.05);
  EXPECT_EQ(autotune.confidence, 0.99);
  EXPECT_EQ(autotune.confirmations, 4);
  EXPECT_EQ(autotune.sample_resolutions, 50);
  EXPECT_FALSE(autotune.verify);
  EXPECT_EQ(autotune.records, RecordSink::file);
  EXPECT_EQ(autotune.records_file, "decisions.jsonl");
  EXPECT_TRUE(settings.file.empty());
}

TEST(Settings, TheTestFileHasEveryRowOfTheTable) {
  for (const auto& field : settings_table::all_fields()) {
    EXPECT_THAT(std::string(kEverything), HasSubstr(fmt::format("\n{} = ", field.key)));
  }
}

TEST(Settings, DefaultsAreValidAndComeFromAnEmptyFile) {
  EXPECT_TRUE(validate(Settings()).has_value());
  for (const char* toml : {"", "\n", "# only a comment", "\xef\xbb\xbf", "[autotune]\n"}) {
    const Settings settings = read(toml);
    EXPECT_EQ(settings.device, "cpu");
    EXPECT_EQ(settings.environment, "project");
    EXPECT_EQ(settings.threads, std::nullopt);
    EXPECT_EQ(settings.autotune.level, Level::balanced);
    EXPECT_EQ(settings.autotune.max_samples, 10);
  }
}

TEST(Settings, OtherFilesAreReadInTheirSectionOnly) {
  const char* host =
      "threads = \"mine\"\n[build]\nlevel = 9\n[rooftune]\nthreads = 3\n"
      "[rooftune.autotune]\nlevel = \"full\"\n";
  const Settings settings = read(host, "host.toml");
  EXPECT_EQ(settings.threads, 3);
  EXPECT_EQ(settings.autotune.level, Level::full);
  EXPECT_EQ(read("[build]\nx = 1\n", "pyproject.toml").threads, std::nullopt);
  EXPECT_THAT(error_of("[rooftune]\nthread = 3\n", "host.toml"),
              AllOf(StartsWith("host.toml:2: "), HasSubstr("\"threads\"")));
  EXPECT_THAT(error_of("rooftune = 3\n", "host.toml"), HasSubstr("host.toml:1: rooftune must be"));
  EXPECT_THAT(error_of("[rooftune]\nthreads = 3\n"),
              AllOf(HasSubstr("rooftune.toml:1: "), HasSubstr("without [rooftune]")));
}

TEST(Settings, BadValuesNameFileLineKeyValueAndWhatIsAllowed) {
  EXPECT_THAT(error_of("\n\n[autotune]\nlevel = \"balancd\"\n"),
              AllOf(StartsWith("rooftune.toml:4: autotune.level = \"balancd\" is not allowed"),
                    HasSubstr("\"minimal\", \"balanced\", \"extensive\", \"full\""),
                    HasSubstr("did you mean \"balanced\"?")));
  EXPECT_EQ(error_of("threads = 0"),
            "rooftune.toml:1: threads = 0 is not allowed; allowed: a whole number from 1 to 1024");
  EXPECT_THAT(error_of("autotune = 3"), HasSubstr("rooftune.toml:1: autotune must be a table"));
  EXPECT_THAT(error_of("[threads]\nx = 1"), HasSubstr("threads = (a table)"));
}

TEST(Settings, EveryKindOfBadNumberIsRefused) {
  for (const char* value :
       {"\"abc\"", "\"40\"", "-1", "0", "1025", "100000", "4.0", "nan", "inf", "true", "[4]", "{}",
        "1979-05-27", "4294967297", "9223372036854775807", "-9223372036854775808"}) {
    EXPECT_THAT(error_of(std::string("threads = ") + value),
                AllOf(StartsWith("rooftune.toml:1: threads = "), HasSubstr("1 to 1024")))
        << value;
  }
  for (const char* value : {"4O", "40 x", "1gib", "", "18446744073709551616", "0x", "--1", "+-1"}) {
    EXPECT_THAT(
        error_of(std::string("\nthreads = ") + value + "\n"),
        AllOf(StartsWith("rooftune.toml:2: "), HasSubstr("threads"), HasSubstr("1 to 1024")))
        << value;
  }
  for (const char* value : {"nan", "-nan", "inf", "-inf", "-0.5", "1e300", "\"3\"", "true"}) {
    EXPECT_THAT(error_of(std::string("[autotune]\nbudget_s = ") + value),
                AllOf(StartsWith("rooftune.toml:2: autotune.budget_s"), HasSubstr("0 to 86400")))
        << value;
  }
  EXPECT_THAT(error_of("[autotune]\nmemory_bytes = -1"), HasSubstr("memory_bytes = -1"));
  EXPECT_THAT(error_of("[autotune]\neliminate_ratio = 0.99"), HasSubstr("from 1 to"));
  EXPECT_THAT(error_of("[autotune]\nmargin = -0.01"), HasSubstr("from 0 to"));
  EXPECT_THAT(error_of("[autotune]\nconfidence = 1"), HasSubstr("from 0.5 to"));
  EXPECT_EQ(read("[autotune]\nbudget_s = 0").autotune.budget_s, 0);
  EXPECT_EQ(read("[autotune]\nbudget_s = 1e3").autotune.budget_s, 1000);
}

TEST(Settings, BadTextAndFlagsAreRefused) {
  for (const char* value : {"\"\"", "\"a\\nb\"", "\"\\u0000\"", "3", "true", "['cpu']"}) {
    EXPECT_THAT(error_of(std::string("device = ") + value), HasSubstr("device = ")) << value;
  }
  for (const char* value : {"0", "1", "\"true\"", "\"\""}) {
    EXPECT_THAT(error_of(std::string("[autotune]\nverify = ") + value),
                HasSubstr("allowed: true or false"));
  }
  EXPECT_THAT(error_of("isa = \"avx\""), HasSubstr("did you mean \"avx2\"?"));
  EXPECT_THAT(error_of("isa = \"avx512_bf\""), HasSubstr("did you mean \"avx512_bf16\"?"));
  EXPECT_THAT(error_of("[autotune]\npending = \"block\""), HasSubstr("\"wait\", \"fallback\""));
  EXPECT_THAT(error_of("[autotune]\nmode = \"offline\""), HasSubstr("\"measure\", \"online\""));
}

TEST(Settings, UnknownKeysNameTheNearestKnownOne) {
  EXPECT_THAT(
      error_of("[autotune]\nlevl = 1"),
      HasSubstr("rooftune.toml:2: unknown key \"levl\" in [autotune]; did you mean \"level\"?"));
  EXPECT_THAT(error_of("level = \"full\""), HasSubstr("did you mean \"level\" of [autotune]?"));
  EXPECT_THAT(error_of("[autotune]\nthreads = 2"), HasSubstr("\"threads\" of the top level?"));
  EXPECT_THAT(error_of("[autotun]\n"), HasSubstr("did you mean \"autotune\"?"));
  EXPECT_THAT(error_of("[autotune.decision]\n"), HasSubstr("did you mean \"decisions\"?"));
  EXPECT_THAT(
      error_of("wholly_different = 1"),
      HasSubstr("known here: \"device\", \"environment\", \"threads\", \"isa\", \"vendor\", "
                "\"vendor_path\", \"autotune\""));
  EXPECT_THAT(error_of("\"\" = 1"), HasSubstr("unknown key \"\""));
  EXPECT_THAT(error_of("[\"autotune.decisions\"]"), HasSubstr("unknown key"));
  EXPECT_LT(error_of(std::string("\"").append(100'000, 'x').append("\" = 1")).size(), 500u);
}

TEST(Settings, TheFirstFaultOfTheFileIsReportedWithTheirNumber) {
  EXPECT_THAT(error_of("threads = 0\nisa = 3\n[autotune]\nlevel = 1\n"),
              AllOf(StartsWith("rooftune.toml:1: threads"), HasSubstr("(and 2 more)")));
}

TEST(Settings, SyntaxFaultsNameTheirLine) {
  EXPECT_THAT(error_of("threads = 1\nthreads = 2\n"), StartsWith("rooftune.toml:2: "));
  EXPECT_THAT(error_of("[autotune]\n[autotune]\n"), StartsWith("rooftune.toml:2: "));
  EXPECT_THAT(error_of("\n\nwhat is this"), StartsWith("rooftune.toml:3: "));
  EXPECT_THAT(error_of("device = \"cpu"), StartsWith("rooftune.toml:1: "));
  EXPECT_THAT(error_of("device = \"\xff\xfe\"\n"), StartsWith("rooftune.toml:1: "));
  EXPECT_THAT(error_of(std::string_view("device\0= 1", 10)), StartsWith("rooftune.toml:1: "));
  EXPECT_NE(error_of(std::string(100'000, '[')), "no error");
  EXPECT_NE(error_of(std::string("x = ").append(100'000, '[')), "no error");
}

TEST(Settings, EachOfTwoPairedLimitsWorksAlone) {
  AutotuneSettings autotune = read("[autotune]\nmin_samples = 50\n").autotune;
  EXPECT_EQ(autotune.min_samples, 50);
  EXPECT_EQ(autotune.max_samples, 50);
  autotune = read("[autotune]\nmax_samples = 1\n").autotune;
  EXPECT_EQ(autotune.min_samples, 1);
  EXPECT_EQ(autotune.max_samples, 1);
  autotune = read("[autotune]\nbudget_s = 1\n").autotune;
  EXPECT_EQ(autotune.max_samples, 10);
  EXPECT_THAT(error_of("[autotune]\nmin_samples = 5\nmax_samples = 4\n"),
              AllOf(StartsWith("rooftune.toml:3: "), HasSubstr("min_samples = 5 is above"),
                    HasSubstr("max_samples = 4")));
}

TEST(Settings, DecisionRecordsNeedAFileAndAFileIsEnough) {
  EXPECT_EQ(read("[autotune.decisions]\npath = \"d.jsonl\"\n").autotune.records, RecordSink::file);
  EXPECT_EQ(read("[autotune.decisions]\noutput = \"stderr\"\n").autotune.records,
            RecordSink::standard_error);
  EXPECT_EQ(read("[autotune.decisions]\noutput = \"none\"\npath = \"d\"\n").autotune.records,
            RecordSink::none);
  EXPECT_THAT(error_of("[autotune.decisions]\noutput = \"file\"\n"),
              AllOf(StartsWith("rooftune.toml:2: "), HasSubstr("needs autotune.decisions.path")));
}

TEST(Settings, DoNotDependOnTheLocale) {
  const DecimalComma comma;
  EXPECT_EQ(read("[autotune]\nbudget_s = 0.5").autotune.budget_s, 0.5);
  EXPECT_EQ(read("[autotune]\nmemory_bytes = 1234567").autotune.memory_bytes, 1234567u);
  EXPECT_THAT(error_of("[autotune]\nbudget_s = -0.5\n"), HasSubstr("= -0.5 is"));
  EXPECT_THAT(error_of("threads = 1234567\n"), HasSubstr("= 1234567 is"));
  EXPECT_NE(error_of("[autotune]\nbudget_s = 0,5"), "no error");
}

TEST(LoadSettings, ReadsAFileAndKeepsItsPlace) {
  const Folder folder;
  const fs::path file = folder.write("rooftune.toml", "threads = 7\n");
  const Result<Settings> settings = load_settings(file);
  ASSERT_TRUE(settings.has_value()) << settings.error().text;
  EXPECT_EQ(settings->threads, 7);
  EXPECT_EQ(settings->file, file);
  EXPECT_EQ(load_settings(folder.write("my.toml", "[rooftune]\nthreads = 8"))->threads, 8);
  EXPECT_THAT(load_settings(folder.write("x/rooftune.toml", "threads = -1")).error().text,
              StartsWith((folder.path() / "x/rooftune.toml:1: threads = -1").string()));
}

TEST(LoadSettings, WhatIsNoFileIsAnError) {
  const Folder folder;
  const auto kind = [](const fs::path& file) {
    const Result<Settings> settings = load_settings(file);
    EXPECT_FALSE(settings.has_value());
    EXPECT_THAT(settings.error().text, HasSubstr(file.string()));
    return settings ? ErrorKind::internal : settings.error().kind;
  };
  EXPECT_EQ(kind(folder.path() / "absent.toml"), ErrorKind::io);
  EXPECT_EQ(kind(folder.path()), ErrorKind::io);
  EXPECT_EQ(kind(fs::path()), ErrorKind::io);
  EXPECT_EQ(kind(folder.write("rooftune.toml", std::string(2 << 20, '#'))), ErrorKind::settings);
  EXPECT_EQ(kind("/dev/zero"), ErrorKind::settings);
  EXPECT_FALSE(parse_settings(std::string(2 << 20, '#'), "rooftune.toml").has_value());
  EXPECT_TRUE(load_settings("/dev/null").has_value());
}

TEST(FindSettings, TakesTheNearestUpward) {
  const Folder folder;
  folder.write("a/rooftune.toml", "threads = 1\n");
  folder.write("a/b/c/rooftune.toml", "threads = 3\n");
  fs::create_directories(folder.path() / "a/b/c/d/rooftune.toml");  // a folder of that name
  EXPECT_EQ(find_settings(folder.path() / "a/b/c/d")->threads, 3);
  EXPECT_EQ(find_settings(folder.path() / "a/b/")->threads, 1);
  EXPECT_EQ(find_settings(folder.path() / "a/b/not/there")->threads, 1);
  EXPECT_EQ(find_settings(folder.path() / "a/b/c/../.")->threads, 1);
  EXPECT_EQ(find_settings(folder.path())->threads, std::nullopt);
  EXPECT_TRUE(find_settings(folder.path())->file.empty());
  folder.write("a/rooftune.toml", "threads = \"x\"\n");
  EXPECT_FALSE(find_settings(folder.path() / "a").has_value());
}

Status apply(Settings& settings, const std::map<std::string, std::string>& variables) {
  return apply_environment(settings, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST(Environment, LaysVariablesOver) {
  Settings settings = read(kEverything);
  ASSERT_TRUE(apply(settings, {{"ROOFTUNE_ENVIRONMENT", "/tmp/x y"},
                               {"ROOFTUNE_AUTOTUNE_CACHE", "1"},
                               {"ROOFTUNE_AUTOTUNE_LEVEL", "minimal"},
                               {"ROOFTUNE_DEVICE", "cpu"},
                               {"ROOFTUNE_THREADS", "1024"},
                               {"ROOFTUNE_RIVALS", "three"}}));
  EXPECT_EQ(settings.vendor_path, "three");
  EXPECT_EQ(settings.environment, "/tmp/x y");
  EXPECT_TRUE(settings.autotune.cache);
  EXPECT_EQ(settings.autotune.level, Level::minimal);
  EXPECT_EQ(settings.device, "cpu");
  EXPECT_EQ(settings.threads, 1024);
  EXPECT_EQ(settings.isa, "avx2");
  ASSERT_TRUE(apply(settings, {{"ROOFTUNE_AUTOTUNE_CACHE", "0"}, {"ROOFTUNE_ISA", "nonsense"}}));
  EXPECT_FALSE(settings.autotune.cache);
}

TEST(Environment, EmptyCountsAsUnset) {
  Settings settings = read(kEverything);
  ASSERT_TRUE(apply(settings, {{"ROOFTUNE_ENVIRONMENT", ""},
                               {"ROOFTUNE_AUTOTUNE_CACHE", ""},
                               {"ROOFTUNE_AUTOTUNE_LEVEL", ""},
                               {"ROOFTUNE_DEVICE", ""},
                               {"ROOFTUNE_THREADS", ""}}));
  EXPECT_EQ(settings.threads, 4);
  EXPECT_EQ(settings.device, "fake");
  EXPECT_EQ(settings.autotune.level, Level::extensive);
}

TEST(Environment, BadValuesAreNamedAndChangeNothing) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> bad = {
      {"ROOFTUNE_THREADS",
       {"abc", "40 ", " 40", "4O", "-1", "0", "1e3", "1gib", "NaN", "1025", "100000", "+4",
        "18446744073709551616", "4294967297", "\xff", "4.0", "0x4"}},
      {"ROOFTUNE_AUTOTUNE_CACHE", {"2", "true", "false", "01", "no", " 0", "\xff"}},
      {"ROOFTUNE_AUTOTUNE_LEVEL", {"Full", "full ", "0.8", "nan", "\xff"}},
      {"ROOFTUNE_DEVICE", {"\xff", "cpu\n", std::string("c\0u", 3)}},
      {"ROOFTUNE_ENVIRONMENT", {"\xc3\x28", "\x1b[31m"}},
  };
  for (const auto& [variable, values] : bad) {
    for (const std::string& value : values) {
      Settings settings;
      settings.threads = 5;
      const Status status = apply(settings, {{variable, value}, {"ROOFTUNE_ENVIRONMENT", "other"}});
      ASSERT_FALSE(status.has_value()) << variable << '=' << value;
      EXPECT_EQ(status.error().kind, ErrorKind::settings);
      EXPECT_THAT(status.error().text, AllOf(HasSubstr(variable), HasSubstr("allowed: ")));
      EXPECT_EQ(settings.threads, 5);
      EXPECT_EQ(settings.environment, "project");
    }
  }
  Settings settings;
  EXPECT_EQ(apply(settings, {{"ROOFTUNE_THREADS", "40 "}}).error().text,
            "environment variable ROOFTUNE_THREADS = \"40 \" is not allowed; allowed: a whole "
            "number from 1 to 1024");
  EXPECT_THAT(apply(settings, {{"ROOFTUNE_AUTOTUNE_CACHE", "yes"}}).error().text,
              HasSubstr("allowed: 0 or 1"));
  EXPECT_THAT(apply(settings, {{"ROOFTUNE_AUTOTUNE_LEVEL", "Full"}}).error().text,
              HasSubstr("did you mean \"full\"?"));
}

TEST(Validate, FindsWhatAProgramFilledInWrongly) {
  const auto error = [](auto change) {
    Settings settings;
    change(settings);
    const Status status = validate(settings);
    EXPECT_FALSE(status.has_value());
    return status ? "" : status.error().text;
  };
  using S = Settings;
  EXPECT_THAT(error([](S& s) { s.threads = -1; }), StartsWith("threads = -1"));
  EXPECT_THAT(error([](S& s) { s.threads = 0; }), HasSubstr("1 to 1024"));
  EXPECT_THAT(error([](S& s) { s.device = ""; }), StartsWith("device = \"\""));
  EXPECT_THAT(error([](S& s) { s.isa = "sse9"; }), HasSubstr("\"portable\""));
  EXPECT_THAT(error([](S& s) { s.autotune.level = Level(9); }), StartsWith("autotune.level"));
  EXPECT_THAT(error([](S& s) { s.autotune.budget_s = -kInfinity; }), HasSubstr("= -inf is"));
  EXPECT_THAT(error([](S& s) { s.autotune.budget_s = std::nan(""); }), HasSubstr("budget_s = nan"));
  EXPECT_THAT(error([](S& s) { s.autotune.eliminate_ratio = 0; }), HasSubstr("eliminate_ratio"));
  EXPECT_THAT(error([](S& s) { s.autotune.min_samples = 0; }), HasSubstr("min_samples = 0"));
  EXPECT_THAT(error([](S& s) { s.autotune.min_samples = 11; }), HasSubstr("above"));
  EXPECT_THAT(error([](S& s) { s.autotune.records = RecordSink::file; }), HasSubstr("path"));
  Settings settings;
  settings.autotune.memory_bytes = std::numeric_limits<std::uint64_t>::max();
  settings.threads = 1024;
  settings.autotune.budget_s = 0;
  EXPECT_TRUE(validate(settings).has_value());
}

TEST(Enums, NamesGoBothWays) {
  for (Level level : {Level::minimal, Level::balanced, Level::extensive, Level::full}) {
    EXPECT_EQ(parse_level(to_string(level)), level);
  }
  for (Precision precision :
       {Precision::highest, Precision::split, Precision::high, Precision::medium}) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
  EXPECT_EQ(parse_level("Balanced"), std::nullopt);
  EXPECT_EQ(parse_level(""), std::nullopt);
  EXPECT_EQ(parse_precision("low"), std::nullopt);
  EXPECT_EQ(to_string(Level(4)), "unknown");
  EXPECT_EQ(to_string(Precision(77)), "unknown");
  EXPECT_EQ(threshold_of(Level::minimal), 0.6);
  EXPECT_EQ(threshold_of(Level::balanced), 0.8);
  EXPECT_EQ(threshold_of(Level::extensive), 0.95);
  EXPECT_EQ(threshold_of(Level::full), std::nullopt);
}

// Whatever happens to a file: an error with its name, or settings that are valid.
TEST(Settings, RandomDamageNeverCrashesNorYieldsInvalidSettings) {
  const std::vector<std::string> pieces = {"=",
                                           "[",
                                           "]",
                                           "\"",
                                           "\n",
                                           "-1",
                                           "nan",
                                           "1e999",
                                           "{",
                                           ".",
                                           "[[autotune]]",
                                           "[rooftune]",
                                           "\xff",
                                           "'''",
                                           "99999999999",
                                           "autotune",
                                           "threads = 1\n",
                                           "#",
                                           ",",
                                           "\\"};
  std::mt19937 random(2);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text(kEverything);
    for (unsigned i = 1 + random() % 3; i > 0; --i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = char(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 12);
          break;
        case 2:
          text.insert(at, pieces[random() % pieces.size()]);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
      if (text.empty()) text.push_back('x');
    }
    const Result<Settings> settings = parse_settings(text, "rooftune.toml");
    if (settings) {
      ++accepted;
      EXPECT_TRUE(validate(*settings).has_value()) << text;
    } else {
      EXPECT_THAT(settings.error().text, StartsWith("rooftune.toml:"));
    }
  }
  EXPECT_GT(accepted, 20);
}

TEST(SettingsDepth, AKeyWithoutEndIsAnErrorNotAStackOverflow) {
  std::string key = "a";
  for (int i = 0; i < 200000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1\n", "threads = 1\n[" + key + "]\n"}) {
    const auto settings = parse_settings(text, "rooftune.toml");
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().kind, ErrorKind::settings);
  }
  const auto nothing = parse_settings("[other]\nx = 1\n", "project.toml");
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->found);
}

}  // namespace
}  // namespace rooftune
