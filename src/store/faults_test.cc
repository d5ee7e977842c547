// Files that are healthy and still cannot be used as usual: read-only, locked, on a full disk, on a
// file system without locks or without shared memory.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "store/environment.h"
#include "store/store_testing.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Faults : public testing::Test {
 protected:
  std::unique_ptr<Environment> open(milliseconds patience = milliseconds(200),
                                    const std::string& vfs = "") {
    return std::make_unique<Environment>(EnvironmentOptions{
        .path = file_, .busy_timeout = patience, .warn = warnings_.sink(), .vfs = vfs});
  }

  // Serves what the file holds and keeps the rest in memory, for one warning.
  void expect_served_read_only() {
    auto environment = open();
    EXPECT_EQ(environment->state().mode, EnvironmentMode::read_only) << environment->state().why;
    EXPECT_TRUE(environment->get(ns_, "key0").value());
    EXPECT_TRUE(environment->get(ns_, "key1").value());
    EXPECT_TRUE(environment->put(ns_, "key0", "1"));
    EXPECT_TRUE(environment->put(ns_, "new", "2"));
    EXPECT_TRUE(environment->erase(ns_, "key1"));
    EXPECT_TRUE(
        environment->merge(ns_, "new", [](auto old) { return "[" + old.value_or("") + "]"; }));
    EXPECT_TRUE(environment->append_record(RecordKind::sessions, "1"));
    EXPECT_EQ(environment->get(ns_, "key0").value(), "1");
    EXPECT_EQ(environment->get(ns_, "key1").value(), std::nullopt);
    EXPECT_EQ(environment->get(ns_, "new").value(), "[2]");
    EXPECT_TRUE(environment->get(ns_, "key2").value());
    EXPECT_EQ(environment->list(ns_)->size(), 3u);
    const auto cleared = environment->clear("");
    EXPECT_FALSE(cleared);
    EXPECT_EQ(environment->list(ns_)->size(), 3u);
    EXPECT_EQ(environment->check().size(), 1u);
    environment.reset();
    EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
  }

  // A killed process leaves its log, with rows that the file does not have yet.
  void fill_and_kill() {
    EXPECT_FALSE(in_child([&] {
      Environment environment({.path = file_});
      for (const char* key : {"key0", "key1", "key2"}) {
        EXPECT_TRUE(environment.put(ns_, key, json_of(key)));
      }
      kill(getpid(), SIGKILL);
    }));
    ASSERT_GT(fs::file_size(file_.native() + "-wal"), 0u);
  }

  void make_read_only() {
    for (const auto& entry : fs::directory_iterator(folder_)) chmod(entry.path().c_str(), 0444);
    chmod(folder_.c_str(), 0555);
  }
  void TearDown() override { chmod(folder_.c_str(), 0755); }

  std::string everything() const {
    std::string all;
    for (const auto& file : files_with(folder_, "")) {
      all += file.filename().native() + "\n" + contents(file) + "\n";
    }
    return all;
  }

  ScratchFolder scratch_;
  fs::path folder_ = scratch_.path() / "environment";
  fs::path file_ = folder_ / "default.db";
  Warnings warnings_;
  const std::string ns_{kTestSpace};
};

TEST_F(Faults, ReadOnlyFileAndFolder) {
  fill(file_, 3);
  make_read_only();
  const std::string before = everything();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
  EXPECT_EQ(everything(), before);
}

TEST_F(Faults, ReadOnlyFileInAWritableFolder) {
  fill(file_, 3);
  chmod(file_.c_str(), 0444);
  chmod(folder_.c_str(), 0777);
  const std::string before = everything();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
  EXPECT_EQ(everything(), before);
}

TEST_F(Faults, WritableFileInAReadOnlyFolder) {
  fill(file_, 3);
  make_read_only();
  chmod(file_.c_str(), 0666);
  const std::string before = everything();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
  EXPECT_EQ(everything(), before);
}

TEST_F(Faults, ReadOnlyWithTheLogOfAKilledProcess) {
  fill_and_kill();
  fs::remove(file_.native() + "-shm");
  make_read_only();
  const std::string before = everything();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
  EXPECT_EQ(everything(), before);
}

TEST_F(Faults, ReadOnlyWithLogAndSharedMemoryOfAKilledProcess) {
  fill_and_kill();
  make_read_only();
  const std::string before = everything();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
  EXPECT_EQ(everything(), before);
}

TEST_F(Faults, ReadOnlyWithAnEmptyLogBesideIt) {
  fill(file_, 3);
  write_file(file_.native() + "-wal", "");
  make_read_only();
  EXPECT_TRUE(in_child([&] { expect_served_read_only(); }, true));
}

TEST_F(Faults, ReadOnlyMount) {
  fill(file_, 3);
  // In a child, since the mount namespace is the child's own and goes with it.
  bool possible = false;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  EXPECT_TRUE(in_child([&] {
    const bool mounted =
        unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
        mount("none", folder_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
    EXPECT_EQ(write(pipes[1], mounted ? "y" : "n", 1), 1);
    if (mounted) expect_served_read_only();
  }));
  char answer = 0;
  ASSERT_EQ(read(pipes[0], &answer, 1), 1);
  possible = answer == 'y';
  close(pipes[0]);
  close(pipes[1]);
  if (!possible) GTEST_SKIP() << "no right to mount here";
}

TEST_F(Faults, AReaderWithoutRightsSeesWhatALiveWriterAdds) {
  fill(file_, 3);
  Environment writer({.path = file_});
  ASSERT_TRUE(writer.put(ns_, "live", "1"));
  for (const auto& file : files_with(folder_, "")) chmod(file.c_str(), 0644);
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  std::jthread other([&] {
    char byte;
    EXPECT_EQ(read(to_parent[0], &byte, 1), 1);
    EXPECT_TRUE(writer.put(ns_, "later", "2"));
    EXPECT_EQ(write(to_child[1], "x", 1), 1);
  });
  EXPECT_TRUE(in_child(
      [&] {
        auto environment = open();
        EXPECT_EQ(environment->state().mode, EnvironmentMode::read_only);
        EXPECT_EQ(environment->get(ns_, "live").value(), "1");
        char byte;
        EXPECT_EQ(write(to_parent[1], "x", 1), 1);
        EXPECT_EQ(read(to_child[0], &byte, 1), 1);
        EXPECT_EQ(environment->get(ns_, "later").value(), "2");
        EXPECT_EQ(warnings_.count(), 1u);
      },
      true));
  for (const int descriptor : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) {
    close(descriptor);
  }
}

TEST_F(Faults, ASnapshotIsReadAgainWhenTheFileChanges) {
  fill(file_, 3);
  chmod(file_.c_str(), 0444);
  int to_child[2], to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  std::jthread other([&] {
    char byte;
    EXPECT_EQ(read(to_parent[0], &byte, 1), 1);
    sql(file_,
        "INSERT INTO entries VALUES ('autotune/v1/fake/matmul', 'later', '2', NULL, NULL, 5)");
    EXPECT_EQ(write(to_child[1], "x", 1), 1);
  });
  EXPECT_TRUE(in_child(
      [&] {
        auto environment = open();
        EXPECT_EQ(environment->get(ns_, "later").value(), std::nullopt);
        char byte;
        EXPECT_EQ(write(to_parent[1], "x", 1), 1);
        EXPECT_EQ(read(to_child[0], &byte, 1), 1);
        EXPECT_EQ(environment->get(ns_, "later").value(), "2");
      },
      true));
  other.join();
  if (getuid() != 0) GTEST_SKIP() << "the owner of a file without rights cannot change it either";
}

TEST_F(Faults, ReadOnlyAndDamagedOrNewerOrEmptyIsMemory) {
  for (const int kind : {0, 1, 2}) {
    chmod(folder_.c_str(), 0755);
    fs::remove_all(folder_);
    fill(file_, 3);
    if (kind == 0) write_file(file_, contents(file_).substr(0, 3000));
    if (kind == 1) sql(file_, "PRAGMA user_version = 2");
    if (kind == 2) write_file(file_, "");
    make_read_only();
    const std::string before = everything();
    EXPECT_TRUE(in_child(
        [&] {
          auto environment = open();
          EXPECT_EQ(environment->get(ns_, "key0").value(), std::nullopt);
          EXPECT_TRUE(environment->put(ns_, "key0", "1"));
          EXPECT_EQ(environment->get(ns_, "key0").value(), "1");
          EXPECT_EQ(environment->state().mode, EnvironmentMode::memory) << kind;
          EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
        },
        true));
    EXPECT_EQ(everything(), before);
  }
}

TEST_F(Faults, NotCreatableIsMemory) {
  fs::create_directories(folder_);
  chmod(folder_.c_str(), 0555);
  write_file(scratch_.path() / "file", "x");
  for (const fs::path& path :
       {file_, folder_ / "deep" / "default.db", scratch_.path() / "file" / "default.db",
        fs::path("/proc/none/default.db"), folder_ / std::string(300, 'x'),
        scratch_.path() / std::string(5000, 'y')}) {
    EXPECT_TRUE(in_child(
        [&] {
          Environment environment({.path = path, .warn = warnings_.sink()});
          EXPECT_EQ(environment.state().mode, EnvironmentMode::memory);
          EXPECT_TRUE(environment.put(ns_, "k", "1"));
          EXPECT_EQ(environment.get(ns_, "k").value(), "1");
          EXPECT_TRUE(environment.clear(""));
          EXPECT_EQ(environment.list("")->size(), 0u);
          EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
        },
        true))
        << path;
  }
}

TEST_F(Faults, AFileThatNobodyMayReadIsMemoryAndStays) {
  fill(file_, 3);
  chmod(file_.c_str(), 0);
  EXPECT_TRUE(in_child(
      [&] {
        auto environment = open();
        EXPECT_TRUE(environment->put(ns_, "k", "1"));
        EXPECT_EQ(environment->get(ns_, "k").value(), "1");
        EXPECT_EQ(environment->state().mode, EnvironmentMode::memory);
        EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
      },
      true));
  EXPECT_EQ(files_with(folder_, "default.db").size(), 1u);
}

// A process that holds a lock until it is told to end.
class Holder {
 public:
  Holder(const fs::path& file, const std::string& statement) {
    EXPECT_EQ(pipe(ready_), 0);
    std::fflush(nullptr);
    child_ = fork();
    if (child_ == 0) {
      sqlite3* handle = nullptr;
      sqlite3_open(file.c_str(), &handle);
      const int code = sqlite3_exec(handle, statement.c_str(), nullptr, nullptr, nullptr);
      if (write(ready_[1], code == SQLITE_OK ? "y" : "n", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char answer = 0;
    EXPECT_EQ(read(ready_[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
  }
  ~Holder() { end(); }
  void end() {
    if (child_ < 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
    close(ready_[0]);
    close(ready_[1]);
  }

 private:
  pid_t child_;
  int ready_[2];
};

// That one long wait was enough for all, whatever else kept the machine busy meanwhile: half of
// what it takes when each of these calls waits to the end of its patience. A fiftieth is right.
double half_of(int calls, milliseconds patience) {
  return calls * std::chrono::duration<double>(patience).count() / 2;
}

double seconds_of(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(Faults, LockedForEverWhenItIsOpened) {
  fill(file_, 3);
  Holder holder(file_,
                "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE entries SET key = key");
  constexpr int kPuts = 20;
  const milliseconds patience(500);
  auto environment = open(patience);
  EXPECT_EQ(environment->state().mode, EnvironmentMode::memory);
  EXPECT_LT(seconds_of([&] {
              for (int i = 0; i < kPuts; ++i) {
                EXPECT_TRUE(environment->put(ns_, "k" + std::to_string(i), "1"));
                EXPECT_EQ(environment->get(ns_, "k" + std::to_string(i)).value(), "1");
                EXPECT_EQ(environment->get(ns_, "none").value(), std::nullopt);
              }
              EXPECT_FALSE(environment->clear(""));
            }),
            half_of(3 * kPuts + 1, patience));
  EXPECT_TRUE(environment->append_record(RecordKind::sessions, "1"));
  EXPECT_EQ(environment->state().waiting, 21u);
  EXPECT_EQ(warnings_.count(), 1u);
  EXPECT_EQ(files_with(folder_, "damaged").size(), 0u);
  holder.end();
  EXPECT_TRUE(environment->put(ns_, "last", "1"));
  EXPECT_EQ(environment->state().waiting, 0u);
  EXPECT_EQ(environment->state().mode, EnvironmentMode::read_write);
  EXPECT_EQ(open()->list("")->size(), 3 + 20 + 1 + 1u);
  EXPECT_EQ(warnings_.count(), 1u);
}

TEST_F(Faults, LockedForEverBesideAReader) {
  fill(file_, 3);
  const milliseconds patience(600);
  auto environment = open(patience);
  auto patient = open(std::chrono::hours(24));
  Holder holder(file_, "BEGIN IMMEDIATE; UPDATE entries SET key = key");
  // Readers are not held up: this test would take a day.
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(patient->get(ns_, "key0").value());
  EXPECT_EQ(open(std::chrono::hours(24))->list(ns_)->size(), 3u);
  EXPECT_EQ(warnings_.count(), 0u);
  EXPECT_GT(seconds_of([&] { EXPECT_TRUE(environment->put(ns_, "a", "1")); }), 0.5);
  constexpr int kErased = 20;
  EXPECT_LT(seconds_of([&] {
              EXPECT_TRUE(environment->merge(
                  ns_, "a", [](auto old) { return "[" + old.value_or("") + "]"; }));
              EXPECT_TRUE(environment->get(ns_, "key1").value());
              for (int i = 0; i < kErased; ++i) EXPECT_TRUE(environment->erase(ns_, "key0"));
              EXPECT_EQ(environment->get(ns_, "a").value(), "[1]");
            }),
            half_of(1 + kErased, patience));
  EXPECT_EQ(environment->list(ns_)->size(), 3u);
  EXPECT_FALSE(environment->check().empty());
  EXPECT_EQ(warnings_.count(), 1u);
  holder.end();
  EXPECT_TRUE(environment->put(ns_, "b", "2"));
  EXPECT_EQ(environment->state().waiting, 0u);
  auto again = open();
  EXPECT_EQ(again->get(ns_, "a").value(), "[1]");
  EXPECT_EQ(again->get(ns_, "key0").value(), std::nullopt);
  EXPECT_EQ(again->list(ns_)->size(), 4u);
  EXPECT_EQ(warnings_.count(), 1u);
}

TEST_F(Faults, WhatWaitsIsWrittenAtTheEnd) {
  fill(file_, 3);
  auto environment = open();
  {
    Holder holder(file_, "BEGIN IMMEDIATE");
    EXPECT_TRUE(environment->put(ns_, "a", "1"));
    EXPECT_EQ(environment->state().waiting, 1u);
  }
  environment.reset();
  EXPECT_EQ(open()->get(ns_, "a").value(), "1");
}

TEST_F(Faults, AChildDoesNotWriteWhatWaitsInItsParent) {
  fill(file_, 3);
  auto environment = open();
  int to_child[2];
  ASSERT_EQ(pipe(to_child), 0);
  Holder holder(file_, "BEGIN IMMEDIATE");
  EXPECT_TRUE(environment->put(ns_, "a", "1"));
  ASSERT_EQ(environment->state().waiting, 1u);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    if (read(to_child[0], &byte, 1) != 1) _exit(1);
    environment->put(ns_, "child", "1").value();
    _exit(environment->get(ns_, "a").value() == "2" ? 0 : 2);
  }
  holder.end();
  EXPECT_TRUE(environment->put(ns_, "a", "2"));
  EXPECT_EQ(write(to_child[1], "x", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(environment->get(ns_, "a").value(), "2");
  EXPECT_EQ(environment->get(ns_, "child").value(), "1");
  close(to_child[0]);
  close(to_child[1]);
}

TEST_F(Faults, AShortLockIsWaitedFor) {
  fill(file_, 3);
  auto environment = open(std::chrono::minutes(10));
  Holder holder(file_, "BEGIN IMMEDIATE");
  std::jthread end([&] {
    std::this_thread::sleep_for(milliseconds(100));
    holder.end();
  });
  EXPECT_TRUE(environment->put(ns_, "a", "1"));
  EXPECT_EQ(environment->state().waiting, 0u);
  EXPECT_EQ(warnings_.count(), 0u);
}

TEST_F(Faults, FullDisk) {
  fill(file_, 3);
  EXPECT_TRUE(in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto environment = open();
    const rlimit full{100'000, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
    const std::string large = json_of(std::string(20'000, 'x'));
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(environment->put(ns_, "large" + std::to_string(i), large));
      EXPECT_EQ(environment->get(ns_, "large" + std::to_string(i)).value(), large);
    }
    EXPECT_TRUE(environment->get(ns_, "key0").value());
    EXPECT_GT(environment->state().waiting, 0u);
    EXPECT_EQ(environment->list(ns_)->size(), 13u);
    EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
    const rlimit roomy{RLIM_INFINITY, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &roomy), 0);
    EXPECT_TRUE(environment->put(ns_, "last", "1"));
    EXPECT_EQ(environment->state().waiting, 0u);
    EXPECT_EQ(warnings_.count(), 1u);
  }));
  EXPECT_EQ(open()->list(ns_)->size(), 14u);
  EXPECT_TRUE(open()->check().empty());
  EXPECT_TRUE(files_with(folder_, "damaged").empty());
}

TEST_F(Faults, FullDiskFromTheStart) {
  for (const rlim_t size : {rlim_t(0), rlim_t(1000), rlim_t(5000), rlim_t(40'000)}) {
    for (const bool filled : {false, true}) {
      fs::remove_all(folder_);
      if (filled) fill(file_, 3);
      EXPECT_TRUE(in_child([&] {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit full{size, RLIM_INFINITY};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
        auto environment = open();
        EXPECT_EQ(environment->get(ns_, "key0").value().has_value(), filled) << size;
        const std::string large = json_of(std::string(50'000, 'x'));
        EXPECT_TRUE(environment->put(ns_, "k", large));
        EXPECT_EQ(environment->get(ns_, "k").value(), large);
        EXPECT_EQ(warnings_.count(), 1u) << size << testing::PrintToString(warnings_);
      }));
      EXPECT_TRUE(open()->put(ns_, "k", "1"));
      EXPECT_EQ(open()->list(ns_)->size(), filled ? 4u : 1u);
      EXPECT_EQ(warnings_.count(), 0u) << testing::PrintToString(warnings_);
      EXPECT_TRUE(files_with(folder_, "damaged").empty());
    }
  }
}

// A file layer like the usual one, but for what is changed in the methods of its files.
std::string file_layer(const char* name, void (*change)(sqlite3_io_methods&)) {
  static std::vector<std::unique_ptr<sqlite3_vfs>> layers;
  struct Change {
    sqlite3_vfs* usual;
    void (*change)(sqlite3_io_methods&);
    sqlite3_io_methods methods;
  };
  auto layer = std::make_unique<sqlite3_vfs>(*sqlite3_vfs_find(nullptr));
  layer->zName = name;
  static std::vector<std::unique_ptr<Change>> changes;
  changes.push_back(std::make_unique<Change>(Change{sqlite3_vfs_find(nullptr), change, {}}));
  struct Table {
    static int open(sqlite3_vfs* self, const char* path, sqlite3_file* file, int flags, int* out) {
      for (std::size_t i = 0; i < layers.size(); ++i) {
        if (layers[i].get() != self) continue;
        const int code = changes[i]->usual->xOpen(changes[i]->usual, path, file, flags, out);
        if (code == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB)) {
          changes[i]->methods = *file->pMethods;
          changes[i]->change(changes[i]->methods);
          file->pMethods = &changes[i]->methods;
        }
        return code;
      }
      return SQLITE_ERROR;
    }
  };
  layer->xOpen = Table::open;
  sqlite3_vfs_register(layer.get(), 0);
  layers.push_back(std::move(layer));
  return name;
}

TEST_F(Faults, NoSharedMemoryMeansASlowerJournal) {
  const std::string layer =
      file_layer("no-shared-memory", [](sqlite3_io_methods& methods) { methods.iVersion = 1; });
  for (const bool filled : {false, true}) {
    fs::remove_all(folder_);
    if (filled) fill(file_, 3);
    const std::size_t before = warnings_.count();
    {
      auto environment = open(milliseconds(200), layer);
      const auto state = environment->state();
      EXPECT_EQ(state.mode, EnvironmentMode::read_write);
      EXPECT_FALSE(state.write_ahead_log);
      EXPECT_NE(state.why, "");
      EXPECT_TRUE(environment->put(ns_, "k", "1"));
      EXPECT_TRUE(environment->append_record(RecordKind::sessions, "1"));
      auto second = open(milliseconds(200), layer);
      EXPECT_TRUE(second->put(ns_, "l", "2"));
      EXPECT_EQ(environment->list(ns_)->size(), filled ? 5u : 2u);
      second.reset();
      EXPECT_EQ(warnings_.count(), before + 2);  // one each
    }
    EXPECT_EQ(open(milliseconds(200), layer)->list(ns_)->size(), filled ? 5u : 2u);
    EXPECT_EQ(open()->list(ns_)->size(), filled ? 5u : 2u);
    EXPECT_TRUE(open()->state().write_ahead_log);
    EXPECT_TRUE(files_with(folder_, "damaged").empty());
  }
}

TEST_F(Faults, NoLocksAtAll) {
  const std::string layer = file_layer("no-locks", [](sqlite3_io_methods& methods) {
    methods.iVersion = 1;
    methods.xLock = [](sqlite3_file*, int) { return SQLITE_IOERR_LOCK; };
  });
  for (const bool filled : {false, true}) {
    fs::remove_all(folder_);
    if (filled) fill(file_, 3);
    const std::size_t before = warnings_.count();
    auto environment = open(milliseconds(200), layer);
    EXPECT_EQ(environment->get(ns_, "key0").value().has_value(), filled);
    EXPECT_TRUE(environment->put(ns_, "k", "1"));
    EXPECT_EQ(environment->get(ns_, "k").value(), "1");
    EXPECT_EQ(environment->state().mode,
              filled ? EnvironmentMode::read_only : EnvironmentMode::memory);
    EXPECT_EQ(warnings_.count(), before + 1) << testing::PrintToString(warnings_);
    environment.reset();
    EXPECT_EQ(open()->list(ns_)->size(), filled ? 3u : 0u);
    EXPECT_TRUE(files_with(folder_, "damaged").empty());
  }
}

TEST_F(Faults, AnUnreadableDiskIsMemoryAndNothingIsMoved) {
  const std::string layer = file_layer("no-reads", [](sqlite3_io_methods& methods) {
    methods.xRead = [](sqlite3_file*, void*, int, sqlite3_int64) { return SQLITE_IOERR_READ; };
  });
  fill(file_, 3);
  auto environment = open(milliseconds(200), layer);
  EXPECT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_EQ(environment->get(ns_, "k").value(), "1");
  EXPECT_EQ(warnings_.count(), 1u) << testing::PrintToString(warnings_);
  EXPECT_TRUE(files_with(folder_, "damaged").empty());
}

TEST_F(Faults, AnUnknownFileLayerIsMemory) {
  auto environment = open(milliseconds(200), "no such layer");
  EXPECT_TRUE(environment->put(ns_, "k", "1"));
  EXPECT_EQ(environment->get(ns_, "k").value(), "1");
  EXPECT_EQ(warnings_.count(), 1u);
}

}  // namespace
}  // namespace rooftune
