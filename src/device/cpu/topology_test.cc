#include "device/cpu/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace rooftune {
namespace {

// A root folder with its own /proc and /sys.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "rooftune-root-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
  }

  // A cgroup of version 2, mounted as in a container that sees the host's hierarchy.
  void mount_v2(const std::string& group) {
    write("/proc/self/cgroup", "0::" + group + "\n");
    write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }

  void mount_v1(const std::string& group) {
    write("/proc/self/cgroup", "4:memory:" + group + "\n3:cpu,cpuacct:" + group + "\n0::/\n");
    write("/proc/self/mountinfo",
          "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
          "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }

  Topology read(int affinity) const { return read_topology_files(folder_, affinity); }

 private:
  std::string folder_;
};

TEST(TopologyTest, NothingKnownGivesTheStatedDefaults) {
  const Topology topology = FakeRoot().read(3);
  EXPECT_EQ(topology.model, "unknown processor");
  EXPECT_EQ(topology.logical_cores, 3);
  EXPECT_EQ(topology.physical_cores, 3);
  EXPECT_EQ(topology.l1d.bytes, kAssumedL1d.bytes);
  EXPECT_TRUE(topology.l1d.assumed);
  EXPECT_EQ(topology.l2.bytes, kAssumedL2.bytes);
  EXPECT_TRUE(topology.l2.assumed);
  EXPECT_EQ(topology.l3.bytes, 0);
  EXPECT_EQ(topology.line_bytes, 64);
  EXPECT_EQ(topology.memory_bytes, 0);
  EXPECT_FALSE(topology.cpu_quota);
  EXPECT_EQ(topology.effective_processors, 3);
}

TEST(TopologyTest, HardwareFromFiles) {
  FakeRoot root;
  root.write("/proc/cpuinfo",
             "processor\t: 0\nmodel name\t: Example 9000\n\nprocessor\t: 1\nmodel name\t: Example "
             "9000\n");
  root.write("/proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  const std::string cpus = "/sys/devices/system/cpu";
  root.write(cpus + "/online", "0-1,4-5\n");
  for (int cpu : {0, 1, 4, 5}) {
    const std::string topology = cpus + "/cpu" + std::to_string(cpu) + "/topology";
    root.write(topology + "/physical_package_id", "0\n");
    root.write(topology + "/core_id", std::to_string(cpu / 2) + "\n");  // two hyper-threads a core
  }
  const auto cache = [&](int index, const char* level, const char* type, const char* size,
                         const char* shared) {
    const std::string folder = cpus + "/cpu0/cache/index" + std::to_string(index);
    root.write(folder + "/level", level);
    root.write(folder + "/type", type);
    root.write(folder + "/size", size);
    root.write(folder + "/shared_cpu_list", shared);
    root.write(folder + "/coherency_line_size", "128\n");
  };
  cache(0, "1\n", "Data\n", "48K\n", "0-1\n");
  cache(1, "1\n", "Instruction\n", "32K\n", "0-1\n");
  cache(2, "2\n", "Unified\n", "2048K\n", "0-1\n");
  cache(3, "3\n", "Unified\n", "36M\n", "0-1,4-5\n");

  const Topology topology = root.read(4);
  EXPECT_EQ(topology.model, "Example 9000");
  EXPECT_EQ(topology.logical_cores, 4);
  EXPECT_EQ(topology.physical_cores, 2);
  EXPECT_EQ(topology.l1d.bytes, 48 << 10);
  EXPECT_EQ(topology.l1d.shared_by, 2);
  EXPECT_FALSE(topology.l1d.assumed);
  EXPECT_EQ(topology.l2.bytes, 2 << 20);
  EXPECT_EQ(topology.l3.bytes, 36 << 20);
  EXPECT_EQ(topology.l3.shared_by, 4);
  EXPECT_EQ(topology.line_bytes, 128);
  EXPECT_EQ(topology.memory_bytes, 16 << 20);
}

TEST(TopologyTest, DamagedFilesAreAsGoodAsMissingOnes) {
  FakeRoot root;
  root.write("/proc/cpuinfo", std::string("\0\xff:::\n:\nprocessor", 16));
  root.write("/proc/meminfo", "MemTotal: lots kB\n");
  root.write("/proc/self/cgroup", ":::\n0:\n");
  root.write("/proc/self/mountinfo", " - \n - cgroup2\n");
  root.write("/sys/devices/system/cpu/online", "0-99999999999\n");
  root.write("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  root.write("/sys/devices/system/cpu/cpu0/cache/index0/size", "-5K\n");
  const Topology topology = root.read(2);
  EXPECT_EQ(topology.l1d.bytes, kAssumedL1d.bytes);
  EXPECT_EQ(topology.memory_bytes, 0);
  EXPECT_EQ(topology.effective_processors, 2);
}

TEST(TopologyTest, Version2TakesTheSmallestQuotaOfNestedGroups) {
  FakeRoot root;
  root.mount_v2("/outer/inner/job");
  root.write("/sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  root.write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  root.write("/sys/fs/cgroup/outer/inner/job/cpu.max", "900000 100000\n");
  root.write("/sys/fs/cgroup/outer/memory.max", "max\n");
  root.write("/sys/fs/cgroup/outer/inner/job/memory.max", "1048576\n");
  root.write("/proc/meminfo", "MemTotal: 4096 kB\n");
  const Topology topology = root.read(64);
  EXPECT_EQ(topology.cpu_quota, 2.5);
  EXPECT_EQ(topology.effective_processors, 3);
  EXPECT_EQ(topology.memory_bytes, 1 << 20);
}

TEST(TopologyTest, Version1TakesTheSmallestQuotaOfNestedGroups) {
  FakeRoot root;
  root.mount_v1("/docker/abc");
  const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct";
  root.write(cpu + "/cpu.cfs_quota_us", "-1\n");
  root.write(cpu + "/cpu.cfs_period_us", "100000\n");
  root.write(cpu + "/docker/cpu.cfs_quota_us", "400000\n");
  root.write(cpu + "/docker/cpu.cfs_period_us", "100000\n");
  root.write(cpu + "/docker/abc/cpu.cfs_quota_us", "75000\n");
  root.write(cpu + "/docker/abc/cpu.cfs_period_us", "50000\n");
  root.write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2097152\n");
  const Topology topology = root.read(64);
  EXPECT_EQ(topology.cpu_quota, 1.5);
  EXPECT_EQ(topology.effective_processors, 2);
  EXPECT_EQ(topology.memory_bytes, 2 << 20);
}

TEST(TopologyTest, QuotasThatSayNothingAreIgnored) {
  for (const char* text : {"max 100000\n", "0 100000\n", "-1 100000\n", "abc\n", ""}) {
    FakeRoot root;
    root.mount_v2("/job");
    root.write("/sys/fs/cgroup/job/cpu.max", text);
    const Topology topology = root.read(7);
    EXPECT_FALSE(topology.cpu_quota) << text;
    EXPECT_EQ(topology.effective_processors, 7) << text;
  }
  FakeRoot missing;
  missing.mount_v2("/job");
  EXPECT_EQ(missing.read(7).effective_processors, 7);
}

TEST(TopologyTest, EffectiveProcessors) {
  EXPECT_EQ(effective_processors(8, std::nullopt), 8);
  EXPECT_EQ(effective_processors(8, 1.5), 2);
  EXPECT_EQ(effective_processors(8, 0.1), 1);
  EXPECT_EQ(effective_processors(8, 3.0), 3);
  EXPECT_EQ(effective_processors(2, 64.0), 2);
  EXPECT_EQ(effective_processors(2, 1e300), 2);
  EXPECT_EQ(effective_processors(2, 0.0), 2);
  EXPECT_EQ(effective_processors(2, std::numeric_limits<double>::quiet_NaN()), 2);
  EXPECT_EQ(effective_processors(0, 3.0), 1);
  EXPECT_EQ(effective_processors(-4, std::nullopt), 1);
}

TEST(TopologyTest, WhatCachesHoldTogether) {
  Topology topology;
  topology.affinity = 8;
  topology.l1d = {48 << 10, 2};
  topology.l2 = {2 << 20, 2};
  topology.l3 = {16 << 20, 8};
  using testing::ElementsAre;
  EXPECT_THAT(cache_reach(topology, 1), ElementsAre(48u << 10, 2u << 20, 16u << 20));
  EXPECT_THAT(cache_reach(topology, 3), ElementsAre(144u << 10, 6u << 20, 16u << 20));
  EXPECT_THAT(cache_reach(topology, 8), ElementsAre(192u << 10, 8u << 20, 16u << 20))
      << "two threads of a core share its caches";
  topology.affinity = 2;
  EXPECT_THAT(cache_reach(topology, 2), ElementsAre(48u << 10, 2u << 20, 16u << 20));
  topology.l2 = kAssumedL2;
  topology.l3 = {};
  EXPECT_THAT(cache_reach(topology, 2), ElementsAre(48u << 10)) << "a guess is no edge";
}

TEST(TopologyTest, AffinityOfMachinesWithMoreProcessorsThanAFixedMaskHolds) {
  // A kernel built for 8192 processors, with 3000 of them in the mask.
  const auto kernel = [](std::size_t bytes, void* mask) {
    if (bytes < 8192 / 8) return EINVAL;
    for (int cpu = 0; cpu < 3000; ++cpu) {
      static_cast<std::uint64_t*>(mask)[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
    return 0;
  };
  EXPECT_EQ(count_processors(affinity_mask(kernel)), 3000);
  EXPECT_TRUE(affinity_mask([](std::size_t, void*) { return EINVAL; }).empty());
  EXPECT_TRUE(affinity_mask([](std::size_t, void*) { return ENOSYS; }).empty());
  EXPECT_TRUE(affinity_mask([](std::size_t, void*) { return 0; }).empty());  // no processor
}

TEST(TopologyTest, ThisMachine) {
  const Topology topology = read_topology();
  EXPECT_FALSE(topology.model.empty());
  EXPECT_GE(topology.logical_cores, 1);
  EXPECT_GE(topology.physical_cores, 1);
  EXPECT_LE(topology.physical_cores, topology.logical_cores);
  EXPECT_GE(topology.l1d.bytes, 4 << 10);
  EXPECT_GE(topology.l1d.shared_by, 1);
  EXPECT_GT(topology.memory_bytes, 1 << 20);
  EXPECT_GE(topology.effective_processors, 1);
  EXPECT_LE(topology.effective_processors, topology.affinity);
}

TEST(TopologyTest, AffinityOfTheCallingThreadCounts) {
  std::thread([] {
    const int before = count_processors(affinity_mask());
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const Topology topology = read_topology();
    EXPECT_EQ(topology.affinity, 1);
    EXPECT_EQ(topology.effective_processors, 1);
    EXPECT_GE(topology.logical_cores, before);
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&one, &after)) << "reading the topology moved the thread";
  }).join();
}

}  // namespace
}  // namespace rooftune
