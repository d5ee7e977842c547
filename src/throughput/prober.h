// What a device can do, measured: compute peak per type, memory rate by working-set size, launch
// overhead. Each probe runs once per device fingerprint and is kept by a ProbeStore.
//
// Cost: ours must give the answer within 5 % in under 0.3 s and 2,000 launches for everything, so
// each probe sizes its launches to a few hundred microseconds, takes the best of few, and stops
// when the best repeats itself.
#ifndef ROOFTUNE_THROUGHPUT_PROBER_H_
#define ROOFTUNE_THROUGHPUT_PROBER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune {

// Bumped whenever a probe measures something else: older results are then not believed.
inline constexpr int kProbeVersion = 3;

// Keeps results beyond the process; the store implements it. Both may do nothing.
class ProbeStore {
 public:
  virtual ~ProbeStore() = default;
  virtual std::optional<double> load(const std::string& key) = 0;
  virtual void save(const std::string& key, double value) = 0;
};

struct ComputePeak {
  DType dtype = DType::f32;
  bool matrix_units = false;
  double ops_per_s = 0;
};

struct MemoryPoint {
  double working_set_bytes = 0;
  double copy = 0, read = 0, write = 0;  // bytes per second; copy counts both directions
};

struct ProbeReport {
  std::vector<ComputePeak> compute;
  std::vector<MemoryPoint> memory;  // ascending working sets; memory() may know larger ones
  double launch_overhead_s = 0;
  double seconds = 0;          // spent measuring by this call; 0 when everything was known
  std::uint64_t launches = 0;  // the same
};

// Thread-safe. The client's exclusive lock is always taken before the prober's own: a candidate
// that is being measured may itself ask for peaks.
class Prober {
 public:
  // `store` may be null. Both outlive the prober.
  Prober(Client& client, ProbeStore* store) : client_(client), store_(store) {}
  ~Prober() { client_.destroy_stream(stream_); }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Where there are no matrix units for the type, the peak of the plain ones. A type that runs at
  // the rate of another (ProbeKernel::same_as) is measured and kept with that one.
  // Errors: unsupported when the device has no such probe; not_timed when the clock failed.
  Result<double> compute(DType dtype, bool matrix_units);
  // Bytes per second of `kind` (copy, read, write) at a working set, interpolated between the
  // points of the curve on a logarithmic scale. Data is as cold as the working set makes it: a
  // set within a cache is read from there, as repeated calls of a product of that size do.
  Result<double> memory(ProbeKind kind, double working_set_bytes);
  Result<double> launch_overhead();
  // Everything; `fresh` measures again what is known.
  Result<ProbeReport> all(bool fresh);

  // Forgets what is known in memory (an environment was switched); the store is untouched.
  void reset();
  // Forgets everywhere what compute() answers, so that the next question measures it again.
  void distrust(DType dtype, bool matrix_units);
  void distrust_memory();

  // Seconds and launches spent measuring since the start.
  double seconds_spent() const;
  std::uint64_t launches_spent() const;

 private:
  // The key and the type under which a peak is kept; unsupported where there is none.
  struct PeakName {
    std::string key;
    ProbeKind kind;
    DType dtype;
  };
  Result<PeakName> peak_name(ProbeKind kind, DType dtype);
  Result<PeakName> peak_or_plain(DType dtype, bool matrix_units);
  // The rate of f32, as which 16-bit numbers can always be computed: some processors have dot
  // products of them that are slower. Nothing for other types.
  std::optional<double> widened_rate(DType dtype);
  Result<double> known_or(const std::string& key, ProbeKind kind, DType dtype, double bytes,
                          bool fresh = false);
  Result<double> measure_compute(ProbeKind kind, DType dtype);
  Result<double> measure_memory(ProbeKind kind, double working_set_bytes);
  Result<double> measure_launch();
  Status provide_scratch(std::uint64_t bytes);
  Status own_stream();
  Result<double> timed(const ProbeKernel& kernel, const ProbeArgs& args, int repeats);
  // Ascending. With `to_the_end` also the one that only very large sets ask for.
  std::vector<double> curve_points(bool to_the_end) const;

  Client& client_;
  ProbeStore* store_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, double> known_;
  std::map<std::string, bool> distrusted_;
  double seconds_ = 0;
  std::uint64_t launches_ = 0;
  Stream stream_;              // on which probes run
  Buffer scratch_;             // memory for the curve, kept only while measuring
  std::uint64_t written_ = 0;  // of scratch_, from its beginning
  std::uint64_t cursor_ = 0;   // in scratch_: what lies from here on was not used for longest
};

}  // namespace rooftune

#endif  // ROOFTUNE_THROUGHPUT_PROBER_H_
