#include "device/cpu/topology.h"

#include <cpuinfo.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

#include "device/cpu/cgroup.h"
#include "device/cpu/text_file.h"

namespace rooftune {
namespace {

// What one source knows of the hardware; 0 and empty: nothing.
struct Hardware {
  std::string model;
  int logical_cores = 0;
  int physical_cores = 0;
  CacheLevel l1d, l2, l3;
  int line_bytes = 0;
  std::int64_t memory_bytes = 0;
};

// Completes what `known` lacks. Caches are taken together, from one source: a level that the
// better source does not list is not there.
void complete(Hardware& known, Hardware other) {
  if (known.model.empty()) known.model = std::move(other.model);
  if (known.logical_cores <= 0) known.logical_cores = other.logical_cores;
  if (known.physical_cores <= 0) known.physical_cores = other.physical_cores;
  if (known.l1d.bytes <= 0) {
    known.l1d = other.l1d;
    known.l2 = other.l2;
    known.l3 = other.l3;
  }
  if (known.line_bytes <= 0) known.line_bytes = other.line_bytes;
  if (known.memory_bytes <= 0) known.memory_bytes = other.memory_bytes;
}

Hardware hardware_of_cpuinfo() {
  // cpuinfo writes to stderr when it cannot understand this file, and a library must not.
  const auto processors = read_text_file("/proc/cpuinfo");
  if (!processors || processors->find("processor") == std::string::npos) return {};
  if (!cpuinfo_initialize() || cpuinfo_get_processors_count() == 0) return {};
  Hardware hardware;
  hardware.logical_cores = int(cpuinfo_get_processors_count());
  hardware.physical_cores = int(cpuinfo_get_cores_count());
  if (const cpuinfo_package* package = cpuinfo_get_package(0)) {
    hardware.model.assign(package->name, strnlen(package->name, sizeof package->name));
  }
  const auto& caches = cpuinfo_get_processor(0)->cache;
  const auto level = [](const cpuinfo_cache* cache) {
    if (cache == nullptr) return CacheLevel{};
    return CacheLevel{.bytes = cache->size, .shared_by = std::max(1, int(cache->processor_count))};
  };
  hardware.l1d = level(caches.l1d);
  hardware.l2 = level(caches.l2);
  hardware.l3 = level(caches.l3);
  if (caches.l1d != nullptr) hardware.line_bytes = int(caches.l1d->line_size);
  return hardware;
}

Hardware hardware_of_sysconf() {
  Hardware hardware;
  hardware.logical_cores = int(sysconf(_SC_NPROCESSORS_ONLN));
#ifdef _SC_LEVEL1_DCACHE_SIZE
  hardware.l1d.bytes = std::max(0L, sysconf(_SC_LEVEL1_DCACHE_SIZE));
  hardware.l2.bytes = std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE));
  hardware.l3.bytes = std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE));
  hardware.line_bytes = int(sysconf(_SC_LEVEL1_DCACHE_LINESIZE));
#endif
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) hardware.memory_bytes = std::int64_t{pages} * page_bytes;
  return hardware;
}

// The processors of a list such as "0-3,8,10-11"; empty for nonsense.
std::vector<int> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t kMostProcessors = 1 << 20;
  std::vector<int> processors;
  for (std::string_view range : split(trimmed(text), ',')) {
    const std::size_t dash = range.find('-');
    const auto first = parse_whole(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parse_whole(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostProcessors) return {};
    for (std::int64_t i = *first; i <= *last; ++i) processors.push_back(int(i));
  }
  return processors;
}

// "32K", "1024K", "32M".
std::int64_t parse_cache_size(std::string_view text) {
  text = trimmed(text);
  std::int64_t unit = 1;
  if (text.ends_with('K')) unit = 1 << 10;
  if (text.ends_with('M')) unit = 1 << 20;
  if (unit != 1) text.remove_suffix(1);
  const std::int64_t size = parse_whole(text).value_or(0);
  return size > 0 && size <= INT64_MAX / unit ? size * unit : 0;
}

void read_caches(const std::string& cpu_folder, Hardware& hardware) {
  for (int index = 0;; ++index) {
    const std::string folder = cpu_folder + "/cache/index" + std::to_string(index);
    const auto read = [&folder](const char* name) {
      return std::string(trimmed(read_text_file(folder + name).value_or("")));
    };
    const std::string level = read("/level");
    if (level.empty()) return;
    if (read("/type") == "Instruction") continue;
    const CacheLevel cache = {
        .bytes = parse_cache_size(read("/size")),
        .shared_by = std::max(1, int(parse_cpu_list(read("/shared_cpu_list")).size()))};
    if (level == "1") {
      hardware.l1d = cache;
      hardware.line_bytes = int(parse_whole(read("/coherency_line_size")).value_or(0));
    }
    if (level == "2") hardware.l2 = cache;
    if (level == "3") hardware.l3 = cache;
  }
}

// The value of the first line "name : value" of /proc/cpuinfo or /proc/meminfo.
std::string_view field(std::string_view text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != line.npos && trimmed(line.substr(0, colon)) == name) {
      return trimmed(line.substr(colon + 1));
    }
  }
  return {};
}

Hardware hardware_of_files(const std::string& root) {
  Hardware hardware;
  const std::string processors = read_text_file(root + "/proc/cpuinfo").value_or("");
  hardware.model = field(processors, "model name");
  for (std::string_view line : split(processors, '\n')) {
    if (trimmed(line.substr(0, line.find(':'))) == "processor") ++hardware.logical_cores;
  }

  const std::string cpus = root + "/sys/devices/system/cpu";
  const auto online = parse_cpu_list(read_text_file(cpus + "/online").value_or(""));
  if (!online.empty()) {
    hardware.logical_cores = int(online.size());
    std::set<std::pair<std::string, std::string>> cores;
    for (int cpu : online) {
      const std::string folder = cpus + "/cpu" + std::to_string(cpu) + "/topology";
      auto package = read_text_file(folder + "/physical_package_id");
      auto core = read_text_file(folder + "/core_id");
      if (package && core) cores.emplace(std::move(*package), std::move(*core));
    }
    hardware.physical_cores = int(cores.size());
    read_caches(cpus + "/cpu" + std::to_string(online[0]), hardware);
  }

  const std::string meminfo = read_text_file(root + "/proc/meminfo").value_or("");
  std::string_view memory = field(meminfo, "MemTotal");
  memory = memory.substr(0, memory.find(' '));
  const std::int64_t kilobytes = parse_whole(memory).value_or(0);
  if (kilobytes > 0 && kilobytes <= INT64_MAX >> 10) hardware.memory_bytes = kilobytes << 10;
  return hardware;
}

Topology assemble(Hardware hardware, int affinity, const CgroupLimits& limits) {
  Topology topology;
  topology.model = hardware.model.empty() ? "unknown processor" : std::move(hardware.model);
  topology.affinity = std::max(1, affinity);
  topology.logical_cores = hardware.logical_cores > 0 ? hardware.logical_cores : topology.affinity;
  // Nothing known of hyper-threads: each processor counts as a core.
  topology.physical_cores = hardware.physical_cores > 0
                                ? std::min(hardware.physical_cores, topology.logical_cores)
                                : topology.logical_cores;
  topology.l1d = hardware.l1d;
  topology.l2 = hardware.l2;
  topology.l3 = hardware.l3;
  if (topology.l1d.bytes <= 0) {
    topology.l1d = kAssumedL1d;
    if (topology.l2.bytes <= 0) topology.l2 = kAssumedL2;
  }
  if (hardware.line_bytes > 0) topology.line_bytes = hardware.line_bytes;
  topology.memory_bytes = hardware.memory_bytes;
  if (limits.memory_bytes &&
      (topology.memory_bytes <= 0 || *limits.memory_bytes < topology.memory_bytes)) {
    topology.memory_bytes = *limits.memory_bytes;
  }
  topology.cpu_quota = limits.cpu_quota;
  topology.effective_processors = effective_processors(topology.affinity, limits.cpu_quota);
  return topology;
}

}  // namespace

AffinityMask affinity_mask(FunctionRef<int(std::size_t, void*)> get_mask) {
  // The kernel wants a mask for all processors that it was built for; that number is not exported.
  for (std::size_t words = 1024 / 64; words <= std::size_t{1} << 16; words *= 2) {
    AffinityMask mask(words);
    const int error = get_mask(words * sizeof(std::uint64_t), mask.data());
    if (error == EINVAL) continue;
    if (error != 0 || count_processors(mask) == 0) return {};
    return mask;
  }
  return {};
}

AffinityMask affinity_mask() {
#ifdef __linux__
  return affinity_mask([](std::size_t bytes, void* mask) {
    return sched_getaffinity(0, bytes, static_cast<cpu_set_t*>(mask)) == 0 ? 0 : errno;
  });
#else
  return {};
#endif
}

int count_processors(const AffinityMask& mask) {
  int count = 0;
  for (std::uint64_t word : mask) count += std::popcount(word);
  return count;
}

std::vector<std::uint64_t> cache_reach(const Topology& topology, int threads) {
  std::vector<std::uint64_t> reach;
  for (const CacheLevel& level : {topology.l1d, topology.l2, topology.l3}) {
    if (level.bytes <= 0 || level.assumed) continue;
    const int shared_by = std::max(1, level.shared_by);
    const int caches = std::max(1, (topology.affinity + shared_by - 1) / shared_by);
    const auto bytes = std::uint64_t(level.bytes) * std::uint64_t(std::clamp(threads, 1, caches));
    if (reach.empty() || bytes > reach.back()) reach.push_back(bytes);
  }
  return reach;
}

int effective_processors(int affinity, std::optional<double> cpu_quota) {
  affinity = std::max(1, affinity);
  if (!cpu_quota || !(*cpu_quota > 0)) return affinity;
  return int(std::clamp(std::ceil(*cpu_quota), 1.0, double(affinity)));
}

Topology read_topology_files(const std::string& root, int affinity) {
  return assemble(hardware_of_files(root), affinity, read_cgroup_limits(root));
}

Topology read_topology() {
  Hardware hardware = hardware_of_cpuinfo();
  complete(hardware, hardware_of_files(""));
  complete(hardware, hardware_of_sysconf());
  const int affinity = count_processors(affinity_mask());
  return assemble(hardware, affinity > 0 ? affinity : hardware.logical_cores,
                  read_cgroup_limits(""));
}

}  // namespace rooftune
