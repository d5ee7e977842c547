// What a broken file costs: one warning, and nothing else.
#include <fcntl.h>

#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "store/environment.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

class Damage : public testing::Test {
 protected:
  std::unique_ptr<Environment> open() {
    return std::make_unique<Environment>(
        EnvironmentOptions{.path = file_, .warn = warnings_.sink()});
  }

  void random_bytes(std::size_t from, std::size_t count) {
    std::string bytes = contents(file_);
    ASSERT_GE(bytes.size(), from + count);
    for (std::size_t i = from; i < from + count; ++i) bytes[i] = static_cast<char>(random_());
    write_file(file_, bytes);
  }

  // The file is useless: opening it and using it costs one warning, loses nothing, and leaves a
  // file that remembers.
  void expect_healed(const std::string& broken) {
    {
      auto environment = open();
      for (int i = 0; i < 40; ++i) ASSERT_TRUE(environment->get(ns_, "key" + std::to_string(i)));
      EXPECT_TRUE(environment->put(ns_, "new", "1"));
      EXPECT_EQ(environment->get(ns_, "new").value(), "1");
      EXPECT_EQ(environment->state().mode, EnvironmentMode::read_write);
    }
    EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
    const auto copies = copies_put_aside();
    ASSERT_EQ(copies.size(), 1u);
    EXPECT_EQ(contents(copies[0]), broken);
    auto environment = open();
    EXPECT_EQ(environment->get(ns_, "new").value(), "1");
    EXPECT_TRUE(environment->check().empty());
    EXPECT_EQ(warnings_.count(), 1u);
  }
  void expect_healed() { expect_healed(contents(file_)); }

  std::vector<fs::path> copies_put_aside() const {
    auto copies = files_with(scratch_.path(), ".damaged-");
    std::erase_if(copies, [](const fs::path& copy) {
      return copy.native().ends_with("-wal") || copy.native().ends_with("-shm");
    });
    return copies;
  }

  ScratchFolder scratch_;
  fs::path file_ = scratch_.path() / "default.db";
  Warnings warnings_;
  const std::string ns_{kTestSpace};
  std::mt19937 random_{7};
};

TEST_F(Damage, AnEmptyFileIsAFileThatSomebodyIsJustMaking) {
  write_file(file_, "");
  ASSERT_TRUE(open()->put(ns_, "k", "1"));
  EXPECT_EQ(open()->get(ns_, "k").value(), "1");
  EXPECT_EQ(warnings_.count(), 0u);
  EXPECT_TRUE(copies_put_aside().empty());
}

TEST_F(Damage, FirstHalfOnly) {
  fill(file_, 40);
  write_file(file_, contents(file_).substr(0, fs::file_size(file_) / 2));
  expect_healed();
}

TEST_F(Damage, FirstHundredBytesOnly) {
  fill(file_, 40);
  write_file(file_, contents(file_).substr(0, 100));
  expect_healed();
}

TEST_F(Damage, RandomBytesOverTheFirstPage) {
  fill(file_, 40);
  random_bytes(0, 4096);
  expect_healed();
}

TEST_F(Damage, RandomBytesOverTheTable) {
  fill(file_, 40);
  const std::size_t size = fs::file_size(file_);
  ASSERT_GE(size, 5 * 4096u);
  random_bytes(4096, 4096);
  expect_healed();
}

TEST_F(Damage, RandomBytesOverAllPagesButTheFirst) {
  fill(file_, 40);
  random_bytes(4096, fs::file_size(file_) - 4096);
  expect_healed();
}

TEST_F(Damage, AMiddlePageCostsAtMostOneWarning) {
  fill(file_, 200);
  const std::size_t pages = fs::file_size(file_) / 4096;
  const std::string whole = contents(file_);
  for (std::size_t page = 1; page < pages; ++page) {
    write_file(file_, whole);
    random_bytes(page * 4096, 4096);
    const std::size_t before = warnings_.count();
    {
      auto environment = open();
      for (int i = 0; i < 200; ++i) ASSERT_TRUE(environment->get(ns_, "key" + std::to_string(i)));
      EXPECT_TRUE(environment->put(ns_, "new", "1"));
      EXPECT_EQ(environment->get(ns_, "new").value(), "1");
    }
    EXPECT_LE(warnings_.count(), before + 1);
    EXPECT_EQ(open()->get(ns_, "new").value(), "1") << page;
  }
  EXPECT_GT(warnings_.count(), 1u);
}

TEST_F(Damage, ATextFile) {
  write_file(file_, "dear diary,\n");
  expect_healed();
}

TEST_F(Damage, ALongTextFile) {
  std::string text;
  while (text.size() < 50'000) text += "winner = naive\n";
  write_file(file_, text);
  expect_healed();
}

TEST_F(Damage, AFolderInItsPlace) {
  fs::create_directories(file_ / "inside");
  write_file(file_ / "inside" / "note", "keep me");
  ASSERT_TRUE(open()->put(ns_, "k", "1"));
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_EQ(open()->get(ns_, "k").value(), "1");
  EXPECT_EQ(warnings_.count(), 1u);
  ASSERT_EQ(copies_put_aside().size(), 1u);
  EXPECT_EQ(contents(copies_put_aside()[0] / "inside" / "note"), "keep me");
}

TEST_F(Damage, ALinkToAFolderInItsPlace) {
  fs::create_directories(scratch_.path() / "precious");
  fs::create_directory_symlink(scratch_.path() / "precious", file_);
  ASSERT_TRUE(open()->put(ns_, "k", "1"));
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_TRUE(fs::is_directory(scratch_.path() / "precious"));
  EXPECT_EQ(open()->get(ns_, "k").value(), "1");
}

TEST_F(Damage, APipeInItsPlace) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0666), 0);
  ASSERT_TRUE(open()->put(ns_, "k", "1"));
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_EQ(open()->get(ns_, "k").value(), "1");
}

TEST_F(Damage, ALinkToNowhere) {
  fs::create_symlink(scratch_.path() / "gone" / "x.db", file_);
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_EQ(environment->get(ns_, "k").value(), "1");
  EXPECT_EQ(warnings_.count(), 1u);
}

TEST_F(Damage, AColumnIsMissing) {
  for (const char* column : {"value", "binary", "binary_digest", "updated_unix_s"}) {
    fs::remove(file_);
    for (const fs::path& copy : copies_put_aside()) fs::remove(copy);
    fill(file_, 3);
    sql(file_, "ALTER TABLE entries DROP COLUMN " + std::string(column));
    const std::size_t before = warnings_.count();
    auto environment = open();
    EXPECT_EQ(environment->get(ns_, "key0").value(), std::nullopt) << column;
    EXPECT_TRUE(environment->put(ns_, "k", "1"));
    EXPECT_EQ(open()->get(ns_, "k").value(), "1") << column;
    EXPECT_EQ(warnings_.count(), before + 1) << column;
    EXPECT_EQ(copies_put_aside().size(), 1u) << column;
  }
}

TEST_F(Damage, TheTableIsMissingOrAnother) {
  for (const char* change :
       {"DROP TABLE entries", "ALTER TABLE entries RENAME TO others",
        "DROP TABLE entries; CREATE TABLE entries (ns, key, value, binary, binary_digest, "
        "updated_unix_s)",
        "ALTER TABLE entries RENAME TO t; CREATE VIEW entries AS SELECT * FROM t"}) {
    fs::remove(file_);
    fill(file_, 3);
    sql(file_, change);
    const std::size_t before = warnings_.count();
    ASSERT_TRUE(open()->put(ns_, "k", "1"));
    EXPECT_EQ(open()->get(ns_, "k").value(), "1") << change;
    EXPECT_EQ(warnings_.count(), before + 1) << change;
  }
}

TEST_F(Damage, WhatOthersAddIsHarmless) {
  fill(file_, 3);
  sql(file_,
      "ALTER TABLE entries ADD COLUMN note; CREATE INDEX more ON entries(updated_unix_s); "
      "CREATE TABLE extra(x); CREATE TRIGGER t AFTER UPDATE ON entries BEGIN DELETE FROM "
      "entries; END; CREATE TRIGGER t2 AFTER INSERT ON entries BEGIN DELETE FROM entries; "
      "END; ANALYZE");
  auto environment = open();
  EXPECT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_TRUE(environment->put(ns_, "k", "2"));
  EXPECT_EQ(environment->list(ns_)->size(), 4u);
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Damage, NewerSchemasAreLeftAlone) {
  for (const int version : {2, 999, 2'000'000'000}) {
    fs::remove(file_);
    fill(file_, 3);
    sql(file_, "PRAGMA user_version = " + std::to_string(version));
    const std::string before = contents(file_);
    const std::size_t warned = warnings_.count();
    {
      auto environment = open();
      EXPECT_EQ(environment->state().mode, EnvironmentMode::memory);
      EXPECT_EQ(environment->get(ns_, "key0").value(), std::nullopt);
      EXPECT_TRUE(environment->put(ns_, "key0", "1"));
      EXPECT_TRUE(environment->clear(""));
      EXPECT_TRUE(environment->put(ns_, "key0", "1"));
      EXPECT_TRUE(environment->append_record(RecordKind::sessions, "1"));
      EXPECT_EQ(environment->get(ns_, "key0").value(), "1");
      EXPECT_EQ(environment->check().size(), 1u);
    }
    EXPECT_EQ(contents(file_), before);
    EXPECT_EQ(warnings_.count(), warned + 1);
    EXPECT_TRUE(copies_put_aside().empty());
  }
}

TEST_F(Damage, SchemaNumbersThatNeverExistedArePutAside) {
  for (const int version : {0, -1, -2'000'000'000}) {
    fs::remove(file_);
    for (const fs::path& copy : copies_put_aside()) fs::remove(copy);
    fill(file_, 3);
    sql(file_, "PRAGMA user_version = " + std::to_string(version));
    const std::size_t warned = warnings_.count();
    ASSERT_TRUE(open()->put(ns_, "k", "1"));
    EXPECT_EQ(open()->get(ns_, "k").value(), "1");
    EXPECT_EQ(warnings_.count(), warned + 1);
    ASSERT_EQ(copies_put_aside().size(), 1u);
    EXPECT_EQ(sql(copies_put_aside()[0], "SELECT count(*) FROM entries")[0], "3");
  }
}

TEST_F(Damage, AnotherProgramsDatabaseIsLeftAlone) {
  sql(file_, "CREATE TABLE bookmarks(x); INSERT INTO bookmarks VALUES (1)");
  const std::string before = contents(file_);
  auto environment = open();
  EXPECT_EQ(environment->state().mode, EnvironmentMode::memory);
  EXPECT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_EQ(environment->get(ns_, "k").value(), "1");
  environment.reset();
  EXPECT_EQ(contents(file_), before);
  EXPECT_EQ(warnings_.count(), 1u);
}

TEST_F(Damage, ADamageThatShowsLaterHealsOnTheSpot) {
  fill(file_, 200);
  auto environment = open();
  environment->get(ns_, "key1").value();
  random_bytes(4096, fs::file_size(file_) - 4096);
  environment = open();
  EXPECT_EQ(environment->state().mode, EnvironmentMode::read_write);
  EXPECT_EQ(warnings_.count(), 0u);
  EXPECT_EQ(environment->get(ns_, "key150").value(), std::nullopt);
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_TRUE(environment->put(ns_, "key150", "1"));
  EXPECT_EQ(open()->get(ns_, "key150").value(), "1");
}

TEST_F(Damage, CheckReportsAndDoesNotRepair) {
  fill(file_, 200);
  random_bytes(2 * 4096, 4096);
  auto environment = open();
  EXPECT_FALSE(environment->check().empty());
  EXPECT_TRUE(copies_put_aside().empty());
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Damage, OneOfTwoPutsItAsideAndTheOtherFollows) {
  fill(file_, 200);
  random_bytes(4096, fs::file_size(file_) - 4096);
  auto first = open();
  auto second = open();
  EXPECT_TRUE(first->put(ns_, "first", "1"));
  EXPECT_TRUE(second->put(ns_, "second", "2"));
  EXPECT_EQ(copies_put_aside().size(), 1u);
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_EQ(first->get(ns_, "second").value(), "2");
  EXPECT_EQ(open()->list(ns_)->size(), 2u);
}

TEST_F(Damage, AWriterFollowsWhenTheFileIsPutAsideUnderIt) {
  fill(file_, 2);
  auto environment = open();
  ASSERT_TRUE(environment->put(ns_, "before", "1"));
  fs::rename(file_, scratch_.path() / "elsewhere.db");
  EXPECT_TRUE(environment->put(ns_, "after", "2"));
  EXPECT_EQ(environment->state().mode, EnvironmentMode::read_write);
  EXPECT_EQ(open()->get(ns_, "after").value(), "2");
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Damage, AFileThatBreaksForEverDoesNotFillTheFolder) {
  auto environment = open();
  for (int i = 0; i < 12; ++i) {
    fs::remove(file_);
    fs::remove(file_.native() + "-wal");
    write_file(file_, std::string(5000, 'x'));
    EXPECT_TRUE(environment->put(ns_, "k", std::to_string(i)));
    EXPECT_EQ(environment->get(ns_, "k").value(), std::to_string(i));
  }
  EXPECT_EQ(environment->state().mode, EnvironmentMode::memory);
  EXPECT_LE(copies_put_aside().size(), 4u);
  EXPECT_LE(warnings_.count(), 5u);
}

TEST_F(Damage, ALogOfRubbishLosesOnlyTheLog) {
  fill(file_, 20);
  for (const std::size_t size :
       {std::size_t(1), std::size_t(32), std::size_t(4152), std::size_t(20'000)}) {
    std::string rubbish(size, ' ');
    std::ranges::generate(rubbish, [&] { return static_cast<char>(random_()); });
    write_file(file_.native() + "-wal", rubbish);
    write_file(file_.native() + "-shm", rubbish);
    auto environment = open();
    EXPECT_TRUE(environment->get(ns_, "key7").value()) << size;
    EXPECT_TRUE(environment->put(ns_, "k", "1"));
    environment.reset();
    EXPECT_EQ(open()->list(ns_)->size(), 21u);
  }
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Damage, ThreeHundredRandomOnesAlwaysLeaveAUsableEnvironment) {
  fill(file_, 60);
  {
    Environment environment({.path = file_});
    ASSERT_TRUE(environment.put(compiled_namespace("v1", "fake"), "id", std::string(30'000, 'b')));
  }
  const std::string whole = contents(file_);
  const auto below = [&](std::size_t limit) { return random_() % limit; };
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    // Half of them strike where it matters: the file's header and the headers of pages.
    const std::size_t strikes = 1 + below(20);
    for (std::size_t i = 0; i < strikes; ++i) {
      const std::size_t page = below(bytes.size() / 4096) * 4096;
      const std::size_t at = below(2) ? below(bytes.size()) : page + below(100);
      bytes[at] = static_cast<char>(random_());
    }
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    if (below(8) == 0) bytes.append(below(10'000), static_cast<char>(random_()));
    std::error_code ignored;
    for (const fs::path& left : files_with(scratch_.path(), "default.db"))
      fs::remove(left, ignored);
    write_file(file_, bytes);

    Warnings warnings;
    Environment environment({.path = file_, .warn = warnings.sink()});
    for (int i = 0; i < 60; i += 7) ASSERT_TRUE(environment.get(ns_, "key" + std::to_string(i)));
    ASSERT_TRUE(environment.get(compiled_namespace("v1", "fake"), "id"));
    environment.check();
    ASSERT_TRUE(environment.list(""));
    ASSERT_TRUE(environment.put(ns_, "new", "1"));
    ASSERT_TRUE(environment.append_record(RecordKind::autotune, "2"));
    ASSERT_TRUE(
        environment.merge(ns_, "new", [](auto old) { return "[" + old.value_or("") + "]"; }));
    // The file may be found out and replaced between any two calls.
    const auto merged = environment.get(ns_, "new").value();
    EXPECT_TRUE(merged == "[1]" || merged == "[]") << "round " << round;
    ASSERT_TRUE(environment.clear(""));
    EXPECT_EQ(environment.get(ns_, "new").value(), std::nullopt) << "round " << round;
    EXPECT_LE(warnings.count(), 1u) << "round " << round << testing::PrintToString(warnings);
  }
}

}  // namespace
}  // namespace rooftune
