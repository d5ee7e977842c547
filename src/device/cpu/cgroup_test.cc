#include "device/cpu/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rooftune {
namespace {

using testing::ElementsAre;

TEST(CgroupTest, CpuMax) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max("50000 100000\n"), 0.5);
  EXPECT_EQ(parse_cpu_max("250000"), 2.5);  // the period defaults to 100 ms
  EXPECT_EQ(parse_cpu_max("300000  50000"), 6.0);
  EXPECT_EQ(parse_cpu_max("9223372036854775807 1"), 9223372036854775807.0);
  for (std::string_view text :
       {"max 100000\n", "max", "", "\n", "0 100000", "-1 100000", "100000 0", "100000 -5", "abc",
        "1e5 100000", "100000 100000 100000", "99999999999999999999 100000", "100000 abc", "1.5"}) {
    EXPECT_FALSE(parse_cpu_max(text)) << text;
  }
}

TEST(CgroupTest, Cfs) {
  EXPECT_EQ(parse_cfs("200000\n", "100000\n"), 2.0);
  EXPECT_EQ(parse_cfs("25000", "50000"), 0.5);
  EXPECT_FALSE(parse_cfs("-1\n", "100000\n"));
  EXPECT_FALSE(parse_cfs("0", "100000"));
  EXPECT_FALSE(parse_cfs("200000", "0"));
  EXPECT_FALSE(parse_cfs("200000", ""));
  EXPECT_FALSE(parse_cfs("", "100000"));
  EXPECT_FALSE(parse_cfs("many", "100000"));
}

TEST(CgroupTest, MemoryLimit) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), 1073741824);
  for (std::string_view text :
       {"max\n", "", "0", "-1", "9223372036854771712", "9223372036854710272", "9223372036854775807",
        "18446744073709551615", "4G"}) {
    EXPECT_FALSE(parse_memory_limit(text)) << text;
  }
}

TEST(CgroupTest, PathOfAController) {
  constexpr std::string_view kText =
      "12:name=systemd:/system.slice\n"
      "5:cpuset:/set\n"
      "4:cpu,cpuacct:/docker/ab:c/job\n"
      "nonsense\n"
      "3:memory:/\n"
      "0::/user.slice\n";
  EXPECT_EQ(parse_cgroup_path(kText, "cpu"), "/docker/ab:c/job");
  EXPECT_EQ(parse_cgroup_path(kText, "cpuacct"), "/docker/ab:c/job");
  EXPECT_EQ(parse_cgroup_path(kText, "memory"), "/");
  EXPECT_EQ(parse_cgroup_path(kText, ""), "/user.slice");
  EXPECT_FALSE(parse_cgroup_path(kText, "pids"));
  EXPECT_FALSE(parse_cgroup_path("", "cpu"));
  EXPECT_FALSE(parse_cgroup_path("4:cpu", "cpu"));
}

TEST(CgroupTest, MountOfAController) {
  constexpr std::string_view kText =
      "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
      "short line\n"
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
      "33 31 0:30 /docker/abc /sys/fs/cgroup/cpu\\040and rw shared:9 - cgroup cgroup "
      "rw,cpuacct,cpu\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(parse_cgroup_mount(kText, "cpu"),
            (CgroupMount{"/sys/fs/cgroup/cpu and", "/docker/abc"}));
  EXPECT_EQ(parse_cgroup_mount(kText, "memory"), (CgroupMount{"/sys/fs/cgroup/memory", "/"}));
  EXPECT_EQ(parse_cgroup_mount(kText, ""), (CgroupMount{"/sys/fs/cgroup/unified", "/"}));
  EXPECT_FALSE(parse_cgroup_mount(kText, "pids"));
  EXPECT_FALSE(parse_cgroup_mount("", ""));
}

TEST(CgroupTest, FoldersFromTheInnermostGroupToTheMount) {
  EXPECT_THAT(cgroup_folders({"/sys/fs/cgroup", "/"}, "/a/b/c"),
              ElementsAre("/sys/fs/cgroup/a/b/c", "/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a",
                          "/sys/fs/cgroup"));
  EXPECT_THAT(cgroup_folders({"/sys/fs/cgroup", "/"}, "/"), ElementsAre("/sys/fs/cgroup"));
  EXPECT_THAT(cgroup_folders({"/cg", "/docker/abc"}, "/docker/abc/job"),
              ElementsAre("/cg/job", "/cg"));
  EXPECT_THAT(cgroup_folders({"/cg", "/docker/abc"}, "/docker/abc"), ElementsAre("/cg"));
  // Not below what is mounted.
  EXPECT_THAT(cgroup_folders({"/cg", "/docker/abc"}, "/docker/abcdef"), ElementsAre("/cg"));
  EXPECT_THAT(cgroup_folders({"/cg", "/docker/abc"}, "/other"), ElementsAre("/cg"));
  EXPECT_THAT(cgroup_folders({"/cg", "/"}, "/../../etc"), ElementsAre("/cg"));
  EXPECT_THAT(cgroup_folders({"/cg", "/"}, ""), ElementsAre("/cg"));
}

}  // namespace
}  // namespace rooftune
