// What a Linux control group (a container, a service) allows this process: processor time, memory.
#ifndef ROOFTUNE_DEVICE_CPU_CGROUP_H_
#define ROOFTUNE_DEVICE_CPU_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rooftune {

struct CgroupLimits {
  std::optional<double> cpu_quota;           // processors' worth of time; at least a little above 0
  std::optional<std::int64_t> memory_bytes;  // both: nothing when there is no limit
};

// The limits of this process: the smallest along the path of nested groups, of version 1 and 2.
// `root` is put before every path, so that a test can lay out its own /proc and /sys.
CgroupLimits read_cgroup_limits(const std::string& root);

// The parts, functions of text alone. Nonsense is no limit.

// "150000 100000", "max 100000", "150000" of version 2's cpu.max, in processors.
std::optional<double> parse_cpu_max(std::string_view text);

// The contents of version 1's cpu.cfs_quota_us and cpu.cfs_period_us, in processors.
std::optional<double> parse_cfs(std::string_view quota_us, std::string_view period_us);

// Of memory.max and memory.limit_in_bytes. Version 1 says "no limit" with a huge number.
std::optional<std::int64_t> parse_memory_limit(std::string_view text);

// Where /proc/self/cgroup puts this process in the hierarchy of a version 1 controller ("cpu"), or
// of version 2 for the empty name.
std::optional<std::string> parse_cgroup_path(std::string_view proc_self_cgroup,
                                             std::string_view controller);

struct CgroupMount {
  std::string point;  // where it is mounted
  std::string root;   // which group of the hierarchy is seen there
  bool operator==(const CgroupMount&) const = default;
};

// The first mount of the hierarchy of a controller, named as above, in /proc/self/mountinfo.
std::optional<CgroupMount> parse_cgroup_mount(std::string_view proc_self_mountinfo,
                                              std::string_view controller);

// The folders of the process's group and of all groups around it that can be seen, innermost first,
// the mount point last. A path that lies outside what is mounted gives the mount point alone.
std::vector<std::string> cgroup_folders(const CgroupMount& mount, std::string_view path);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_CGROUP_H_
