#include "store/environment.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "gtest/gtest.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

class EnvironmentTest : public testing::Test {
 protected:
  std::unique_ptr<Environment> open() {
    return std::make_unique<Environment>(
        EnvironmentOptions{.path = file_, .warn = warnings_.sink()});
  }
  void TearDown() override {
    EXPECT_EQ(warnings_.count(), expected_warnings_) << warnings_.texts()[0];
  }

  ScratchFolder scratch_;
  fs::path file_ = scratch_.path() / "deep" / "er" / "default.db";
  Warnings warnings_;
  std::size_t expected_warnings_ = 0;
  const std::string ns_{kTestSpace};
};

std::optional<std::string> value(Environment& environment, std::string_view ns,
                                 std::string_view key) {
  const auto got = environment.get(ns, key);
  EXPECT_TRUE(got) << got.error().text;
  return got.value_or(std::nullopt);
}

TEST_F(EnvironmentTest, RemembersAcrossOpenings) {
  EXPECT_EQ(value(*open(), ns_, "k"), std::nullopt);
  EXPECT_TRUE(open()->put(ns_, "k", "1"));
  EXPECT_EQ(value(*open(), ns_, "k"), "1");
  EXPECT_TRUE(open()->put(ns_, "k", R"({"a":2})"));
  EXPECT_EQ(value(*open(), ns_, "k"), R"({"a":2})");
  EXPECT_TRUE(open()->erase(ns_, "k"));
  EXPECT_TRUE(open()->erase(ns_, "never there"));
  EXPECT_EQ(value(*open(), ns_, "k"), std::nullopt);
}

TEST_F(EnvironmentTest, SaysHowItIsOpen) {
  const auto state = open()->state();
  EXPECT_EQ(state.path, file_);
  EXPECT_EQ(state.mode, EnvironmentMode::read_write);
  EXPECT_EQ(to_string(state.mode), "read_write");
  EXPECT_EQ(state.schema_version, 1);
  EXPECT_TRUE(state.write_ahead_log);
  EXPECT_EQ(state.waiting, 0u);
  EXPECT_EQ(state.why, "");
  EXPECT_TRUE(open()->check().empty());
}

TEST_F(EnvironmentTest, KeysAreAnyBytes) {
  const std::vector<std::string> keys = {"",
                                         "a",
                                         "A",
                                         "'; DROP TABLE entries; --",
                                         "\"",
                                         std::string("a\0b", 3),
                                         std::string("a\0c", 3),
                                         std::string(1, '\0'),
                                         "\xff\xfe",
                                         "\xc3\x28",
                                         "é",
                                         "%",
                                         "_",
                                         std::string(100'000, 'k')};
  {
    auto environment = open();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(environment->put(ns_, keys[i], std::to_string(i)));
    }
  }
  auto environment = open();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(value(*environment, ns_, keys[i]), std::to_string(i)) << i;
  }
  const auto listed = environment->list(ns_);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), keys.size());
  for (const std::string& key : keys) {
    EXPECT_EQ(std::ranges::count(*listed, key, &Entry::key), 1);
  }
  EXPECT_TRUE(environment->check().empty());
  for (const std::string& key : keys) EXPECT_TRUE(environment->erase(ns_, key));
  EXPECT_TRUE(environment->list("")->empty());
}

TEST_F(EnvironmentTest, CompiledKernelsAreAnyBytes) {
  const std::string ns = compiled_namespace("v1", "fake");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  std::string large;
  while (large.size() < 3'000'000) large += bytes;
  {
    auto environment = open();
    EXPECT_TRUE(environment->put(ns, "all", bytes));
    EXPECT_TRUE(environment->put(ns, "large", large));
    EXPECT_TRUE(environment->put(ns, "none", ""));
  }
  auto environment = open();
  EXPECT_EQ(value(*environment, ns, "all"), bytes);
  EXPECT_EQ(value(*environment, ns, "large"), large);
  EXPECT_EQ(value(*environment, ns, "none"), "");
  EXPECT_TRUE(environment->check().empty());
}

TEST_F(EnvironmentTest, TheShellReadsWhatIsKept) {
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "k", json_of("it's \\\"quoted\\\" \\u0000 é")));
  ASSERT_TRUE(environment->put(compiled_namespace("v1", "fake"), "id",
                               "\x7f"
                               "ELF"));
  ASSERT_TRUE(environment->append_record(RecordKind::autotune, json_of("w")));
  EXPECT_EQ(sql(file_, "SELECT key, json_extract(value, '$.winner') FROM entries ORDER BY ns"),
            (std::vector<std::string>{"k|it's \"quoted\" ", "id|NULL", "000000000001|w"}));
  EXPECT_EQ(sql(file_, "SELECT count(*) FROM entries WHERE updated_unix_s > 1700000000"),
            std::vector<std::string>{"3"});
}

TEST_F(EnvironmentTest, BadArgumentsChangeNothing) {
  auto environment = open();
  const auto refused = [](const Status& status) {
    return !status && status.error().kind == ErrorKind::invalid_argument &&
           !status.error().text.empty();
  };
  for (const std::string& ns : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                std::string("\xff"), std::string(5000, 'a')}) {
    EXPECT_TRUE(refused(environment->put(ns, "k", "1")));
    EXPECT_TRUE(refused(environment->erase(ns, "k")));
    EXPECT_TRUE(refused(environment->merge(ns, "k", [](auto) { return std::string("1"); })));
    EXPECT_FALSE(environment->get(ns, "k"));
    if (!ns.empty()) {
      EXPECT_TRUE(refused(environment->clear(ns)));
      EXPECT_FALSE(environment->list(ns));
    }
  }
  EXPECT_TRUE(refused(environment->put(ns_, std::string((1 << 20) + 1, 'k'), "1")));
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("nan"), std::string("1 2"),
        std::string("\"\xff\""), std::string("1\0", 2)}) {
    EXPECT_TRUE(refused(environment->put(ns_, "k", text))) << text;
    EXPECT_TRUE(refused(environment->merge(ns_, "k", [&](auto) { return text; }))) << text;
    EXPECT_TRUE(refused(environment->append_record(RecordKind::sessions, text))) << text;
  }
  EXPECT_TRUE(environment->list("")->empty());
}

TEST_F(EnvironmentTest, ListAndClearGoByWholeParts) {
  auto environment = open();
  for (const char* ns : {"autotune/v1/a/x", "autotune/v1/a/y", "autotune/v1/ab/x",
                         "autotune/v10/a/x", "throughput/1/a"}) {
    ASSERT_TRUE(environment->put(ns, "2", "2"));
    ASSERT_TRUE(environment->put(ns, "1", "1"));
  }
  const auto count = [&](std::string_view prefix) { return environment->list(prefix)->size(); };
  EXPECT_EQ(count(""), 10u);
  EXPECT_EQ(count("/"), 10u);
  EXPECT_EQ(count("autotune/v1"), 6u);
  EXPECT_EQ(count("autotune/v1/a"), 4u);
  EXPECT_EQ(count("autotune/v1/a/"), 4u);
  EXPECT_EQ(count("autotune/v1/a/x"), 2u);
  EXPECT_EQ(count("auto"), 0u);
  EXPECT_EQ(count("%"), 0u);
  const auto listed = environment->list("");
  EXPECT_TRUE(std::ranges::is_sorted(
      *listed, {}, [](const Entry& entry) { return std::pair(entry.ns, entry.key); }));
  EXPECT_TRUE(environment->clear("autotune/v1/a"));
  EXPECT_EQ(count(""), 6u);
  EXPECT_EQ(count("autotune/v1"), 2u);
  EXPECT_TRUE(environment->clear(""));
  EXPECT_EQ(count(""), 0u);
}

TEST_F(EnvironmentTest, WithoutDiskItAnswersAndLeavesNoFile) {
  for (const fs::path& path : {file_, fs::path()}) {
    Environment environment({.path = path, .use_disk = path.empty(), .warn = warnings_.sink()});
    EXPECT_EQ(environment.state().mode, EnvironmentMode::memory);
    EXPECT_NE(environment.state().why, "");
    EXPECT_TRUE(environment.put(ns_, "k", "1"));
    EXPECT_TRUE(
        environment.merge(ns_, "k", [](auto old) { return "[" + old.value_or("none") + "]"; }));
    EXPECT_EQ(value(environment, ns_, "k"), "[1]");
    EXPECT_TRUE(environment.append_record(RecordKind::sessions, "1"));
    EXPECT_TRUE(environment.append_record(RecordKind::sessions, "2"));
    const auto records = environment.list("records");
    ASSERT_EQ(records->size(), 2u);
    EXPECT_EQ((*records)[1].key, "000000000002");
    EXPECT_EQ((*records)[1].value, "2");
    EXPECT_TRUE(environment.erase(ns_, "k"));
    EXPECT_EQ(value(environment, ns_, "k"), std::nullopt);
    EXPECT_TRUE(environment.clear(""));
    EXPECT_TRUE(environment.list("")->empty());
    EXPECT_EQ(environment.check().size(), 1u);
  }
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(EnvironmentTest, RecordsKeepTheNewest) {
  const int extra = 7;
  auto environment = open();
  Environment memory({.use_disk = false});
  for (int i = 1; i <= kRecordsKept + extra; ++i) {
    ASSERT_TRUE(environment->append_record(RecordKind::compilation, std::to_string(i)));
    ASSERT_TRUE(memory.append_record(RecordKind::compilation, std::to_string(i)));
  }
  ASSERT_TRUE(environment->append_record(RecordKind::autotune, "0"));
  const auto kept = environment->list(records_namespace(RecordKind::compilation));
  ASSERT_EQ(kept->size(), std::size_t(kRecordsKept));
  EXPECT_EQ(kept->front().value, std::to_string(1 + extra));
  EXPECT_EQ(kept->back().value, std::to_string(kRecordsKept + extra));
  EXPECT_EQ(environment->list("records")->size(), std::size_t(kRecordsKept) + 1);
  const auto in_memory = memory.list("records");
  ASSERT_EQ(in_memory->size(), std::size_t(kRecordsKept));
  EXPECT_EQ(in_memory->back().value, std::to_string(kRecordsKept + extra));
}

TEST_F(EnvironmentTest, RecordsSurviveForeignKeys) {
  auto environment = open();
  const std::string ns = records_namespace(RecordKind::sessions);
  for (const char* key : {"", "abc", "0000000000zz", "-1", "999999999999999999999", "\xff"}) {
    ASSERT_TRUE(environment->put(ns, key, "0"));
  }
  ASSERT_TRUE(environment->append_record(RecordKind::sessions, "1"));
  ASSERT_TRUE(environment->append_record(RecordKind::sessions, "2"));
  const auto listed = environment->list(ns);
  EXPECT_EQ(std::ranges::count(*listed, "2", &Entry::value), 1);
}

TEST_F(EnvironmentTest, MergeSeesTheOldValue) {
  auto environment = open();
  std::vector<std::optional<std::string>> seen;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(environment->merge(ns_, "k", [&](std::optional<std::string> old) {
      seen.push_back(old);
      return std::string("[7]");
    }));
  }
  EXPECT_EQ(seen, (std::vector<std::optional<std::string>>{std::nullopt, "[7]"}));
  EXPECT_EQ(value(*open(), ns_, "k"), "[7]");
}

TEST_F(EnvironmentTest, ManyThreadsShareOne) {
  auto environment = open();
  auto second = open();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Environment& mine = t % 2 ? *environment : *second;
      for (int i = 0; i < 10; ++i) {
        const std::string key = std::to_string(t) + "." + std::to_string(i);
        EXPECT_TRUE(mine.put(ns_, key, std::to_string(i)));
        EXPECT_EQ(value(mine, ns_, key), std::to_string(i));
        EXPECT_TRUE(mine.merge(
            ns_, "sum", [](auto old) { return std::to_string(std::stoi(old.value_or("0")) + 1); }));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(value(*open(), ns_, "sum"), "80");
  EXPECT_EQ(environment->list(ns_)->size(), 81u);
  EXPECT_EQ(environment->state().waiting, 0u);
}

TEST_F(EnvironmentTest, AFileThatWasRemovedIsMadeAgain) {
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "old", "1"));
  fs::remove_all(file_.parent_path());
  EXPECT_EQ(value(*environment, ns_, "old"), std::nullopt);
  fs::remove_all(file_.parent_path());
  EXPECT_TRUE(environment->put(ns_, "new", "2"));
  EXPECT_EQ(value(*open(), ns_, "new"), "2");
}

TEST_F(EnvironmentTest, TheFileStaysTheSameWhenTheFolderChanges) {
  const fs::path before = fs::current_path();
  fs::create_directories(file_.parent_path());
  fs::current_path(file_.parent_path());
  Environment environment({.path = "default.db", .warn = warnings_.sink()});
  fs::current_path(before);
  EXPECT_TRUE(environment.put(ns_, "k", "1"));
  EXPECT_EQ(value(*open(), ns_, "k"), "1");
  EXPECT_FALSE(fs::exists(before / "default.db"));
}

TEST_F(EnvironmentTest, PathsWithOddNamesWork) {
  for (const char* name : {"a?b#c%41 d.db", "file:x.db", ":memory:", "é'\".db"}) {
    file_ = scratch_.path() / name;
    EXPECT_TRUE(open()->put(ns_, "k", "1")) << name;
    EXPECT_TRUE(fs::is_regular_file(file_)) << name;
    EXPECT_EQ(value(*open(), ns_, "k"), "1") << name;
  }
}

TEST_F(EnvironmentTest, ALinkToTheFileIsFollowed) {
  ASSERT_TRUE(open()->put(ns_, "k", "1"));
  const fs::path target = file_;
  file_ = scratch_.path() / "link.db";
  fs::create_symlink(target, file_);
  EXPECT_EQ(value(*open(), ns_, "k"), "1");
  EXPECT_EQ(open()->state().path, target);
}

TEST_F(EnvironmentTest, RowsThatCannotBeUnderstoodAreMissesForThemselves) {
  const std::string binaries = compiled_namespace("v1", "fake");
  {
    auto environment = open();
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(environment->put(ns_, "bad" + std::to_string(i), "1"));
      ASSERT_TRUE(environment->put(ns_, "good" + std::to_string(i), std::to_string(i)));
    }
    for (const char* key : {"bad10", "bad11", "bad12", "good"}) {
      ASSERT_TRUE(environment->put(binaries, key, "code"));
    }
  }
  sql(file_,
      "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'updated_unix_s "
      "INTEGER NOT NULL', 'updated_unix_s INTEGER'); PRAGMA writable_schema = RESET;");
  sql(file_,
      "UPDATE entries SET updated_unix_s = NULL WHERE key = 'bad0';"
      "UPDATE entries SET updated_unix_s = -1 WHERE key = 'bad1';"
      "UPDATE entries SET updated_unix_s = 'yesterday' WHERE key = 'bad2';"
      "UPDATE entries SET updated_unix_s = 0.5 WHERE key = 'bad3';"
      "UPDATE entries SET value = NULL WHERE key = 'bad4';"
      "UPDATE entries SET value = x'31' WHERE key = 'bad5';"
      "UPDATE entries SET value = '{\"winner\":' WHERE key = 'bad6';"
      "UPDATE entries SET value = '' WHERE key = 'bad7';"
      "UPDATE entries SET value = char(34) || cast(x'ff' AS TEXT) || char(34) WHERE key = 'bad8';"
      "UPDATE entries SET ns = cast(ns AS BLOB) WHERE key = 'bad9';"
      "UPDATE entries SET binary = x'636f6465ff' WHERE key = 'bad10';"
      "UPDATE entries SET binary = 'code' WHERE key = 'bad11';"
      "UPDATE entries SET binary_digest = NULL WHERE key = 'bad12';");
  auto environment = open();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(value(*environment, ns_, "bad" + std::to_string(i)), std::nullopt) << i;
    EXPECT_EQ(value(*environment, ns_, "good" + std::to_string(i)), std::to_string(i));
  }
  for (const char* key : {"bad10", "bad11", "bad12"}) {
    EXPECT_EQ(value(*environment, binaries, key), std::nullopt) << key;
  }
  EXPECT_EQ(value(*environment, binaries, "good"), "code");
  EXPECT_EQ(environment->list("")->size(), 11u);
  const auto problems = environment->check();
  for (int i = 0; i < 13; ++i) {
    const std::string name = "/ bad" + std::to_string(i) + ":";
    EXPECT_EQ(std::ranges::count_if(problems,
                                    [&](const std::string& problem) {
                                      return problem.find(name) != std::string::npos;
                                    }),
              1)
        << name;
  }
  EXPECT_TRUE(environment->put(ns_, "bad0", "2"));
  EXPECT_EQ(value(*environment, ns_, "bad0"), "2");
}

TEST_F(EnvironmentTest, CheckNamesUnknownNamespaces) {
  auto environment = open();
  ASSERT_TRUE(environment->put("autotune/v1/too-short", "k", "1"));
  const auto problems = environment->check();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("autotune/v1/too-short"), std::string::npos);
}

TEST_F(EnvironmentTest, WarningsMayUseTheEnvironmentAndThrow) {
  fs::create_directories(file_.parent_path());
  write_file(file_,
             "this is text, and more than a hundred bytes of it, so that it cannot be taken "
             "for anything that begins like a database");
  std::unique_ptr<Environment> environment;
  int warned = 0;
  environment =
      std::make_unique<Environment>(EnvironmentOptions{.path = file_, .warn = [&](auto&) {
                                                         ++warned;
                                                         if (environment) {
                                                           EXPECT_TRUE(environment->get(ns_, "k"));
                                                         }
                                                         throw std::runtime_error("from the host");
                                                       }});
  EXPECT_EQ(warned, 1);
  ASSERT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_EQ(value(*environment, ns_, "k"), "1");
}

}  // namespace
}  // namespace rooftune
