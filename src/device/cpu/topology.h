// What this machine is, and how much of it this process may use.
#ifndef ROOFTUNE_DEVICE_CPU_TOPOLOGY_H_
#define ROOFTUNE_DEVICE_CPU_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/function_ref.h"

namespace rooftune {

struct CacheLevel {
  std::int64_t bytes = 0;  // of one cache; 0: there is none
  int shared_by = 1;       // logical processors that share one
  bool assumed = false;    // nothing is known of this machine: a stated default
};

// Caches that are assumed when nothing is known: small ones, as of a decade ago, because a block
// that is too small costs less than one that does not fit.
inline constexpr CacheLevel kAssumedL1d{32 << 10, 1, true};
inline constexpr CacheLevel kAssumedL2{256 << 10, 1, true};

struct Topology {
  std::string model;  // "AMD EPYC 9654 96-Core Processor"; "unknown processor" when not known
  int logical_cores = 1;
  int physical_cores = 1;
  CacheLevel l1d, l2, l3;  // of the first processor
  int line_bytes = 64;

  std::int64_t memory_bytes = 0;  // the smaller of what is there and what the container may use;
                                  // 0 when not known

  int affinity = 1;                 // logical processors that the calling thread may run on
  std::optional<double> cpu_quota;  // processors' worth of time that the container may use
  // min(affinity, quota rounded up), at least 1: the default for the number of threads.
  int effective_processors = 1;
};

// This machine, as seen by the calling thread (whose affinity counts). Never fails: what cannot be
// found out has the value stated above. Reads files and takes about a millisecond.
Topology read_topology();

// The same from the files below `root` ("" for the real ones) and from nothing else, for a thread
// that may run on `affinity` processors.
Topology read_topology_files(const std::string& root, int affinity);

// The processors that the calling thread may run on, one bit each, as sched_setaffinity takes it.
// Empty when the system does not tell.
using AffinityMask = std::vector<std::uint64_t>;
AffinityMask affinity_mask();

// The same, on top of any function that fills a mask of that many bytes and returns 0, or an errno
// value: EINVAL for a mask that is too small.
AffinityMask affinity_mask(FunctionRef<int(std::size_t bytes, void* mask)> get_mask);

int count_processors(const AffinityMask& mask);

// Bytes of each level of caches that so many threads have together, ascending: systems spread
// threads over as many caches as there are for the processors that may be used. Levels that are not
// there, are assumed or hold no more than the one before are left out.
std::vector<std::uint64_t> cache_reach(const Topology& topology, int threads);

int effective_processors(int affinity, std::optional<double> cpu_quota);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_TOPOLOGY_H_
