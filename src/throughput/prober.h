// What a device can do, measured: compute peak per type, memory rate by working-set size, launch
// overhead. Each probe runs once per device fingerprint and is kept by a ProbeStore.
//
// Cost: ours must give the answer within 5 % in under 0.3 s and 2,000 launches for everything, so
// each probe sizes its launches to a few hundred microseconds. What is measured together takes
// turns of a few launches (probe_run.h), until the best of each repeats itself or the time is over.
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
#include "throughput/probe_run.h"

namespace rooftune {

// Bumped whenever a probe measures something else: older results are then not believed.
inline constexpr int kProbeVersion = 4;

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
  // A rate to be known, the key under which it is kept, and the type with which it is measured.
  struct Asked {
    std::string key;
    ProbeKind kind;
    DType dtype;
    double bytes = 0;  // of a point of the memory curve
  };
  // Unsupported where there is no such peak.
  Result<Asked> peak(ProbeKind kind, DType dtype);
  Result<Asked> peak_or_plain(DType dtype, bool matrix_units);
  Asked point(ProbeKind kind, double bytes) const;
  Asked launch() const;
  // All that all() reports, which skips what there is no probe for.
  Result<std::vector<Asked>> everything();
  // The rate of f32, as which 16-bit numbers can always be computed: some processors have dot
  // products of them that are slower. Nothing for other types.
  std::optional<double> widened_rate(DType dtype);
  bool is_known(const std::string& key);
  Result<double> known_or_measured(const Asked& asked);
  // Measures in turns, and keeps. What the device has no probe for is an error only when it is
  // asked for alone.
  Status measure(const std::vector<Asked>& asked);
  struct Measuring {
    std::string key;
    ProbeRun run;
    double begin_s, end_s;  // on the host
  };
  Status measure_in_turns(const std::vector<Asked>& asked);
  Result<ProbeRun> prepared(const Asked& asked);
  Status take_turns(std::vector<Measuring>& all);
  void keep(const Measuring& one);
  ProbeReport report_of_known();
  Status provide_scratch(std::uint64_t bytes);
  Status own_stream();
  Result<double> timed(const ProbeKernel& kernel, const ProbeArgs& args, int repeats);
  // timed() of this prober.
  auto timer() {
    return [this](const ProbeKernel& kernel, const ProbeArgs& args, int repeats) {
      return timed(kernel, args, repeats);
    };
  }

  Client& client_;
  ProbeStore* store_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, double> known_;
  std::map<std::string, bool> distrusted_;
  double seconds_ = 0;
  std::uint64_t launches_ = 0;
  Stream stream_;              // on which probes run
  Buffer scratch_;             // memory for the curve, kept only while measuring
  Buffer sink_;                // the same, for ProbeArgs::sink
  std::uint64_t written_ = 0;  // of scratch_, from its beginning
};

}  // namespace rooftune

#endif  // ROOFTUNE_THROUGHPUT_PROBER_H_
