// What a fake device is told to be: its limits, its clock, and for each kernel how long it takes
// and what goes wrong. Everything has a default, so that a test names only what it is about:
//
//   FakeScript script;
//   script.kernels["fast"] = {.seconds = 1e-5};
//   script.kernels["noisy"] = {.seconds = 2e-5, .noise = {.sigma = 0.05, .outlier_chance = 0.1}};
//   script.kernels["hanging"] = {.seconds = 1e4};
//   script.kernels["refused"] = {.launch_error = Error{ErrorKind::launch_failed, "too big"}};
//   FakeClient device(script);
//
// Nothing here sleeps or looks at a real clock or a random device: the same script and the same
// launches give the same times.
#ifndef ROOFTUNE_DEVICE_FAKE_SCRIPT_H_
#define ROOFTUNE_DEVICE_FAKE_SCRIPT_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/device.h"

namespace rooftune {

// Ahead-of-time code for KernelSource::entry, cast to void (*)(). `args` points to the argument
// struct of the launch; all memory is host memory.
using FakeKernelFn = Status (*)(const void* args);

// Really blocks whoever arrives until it is opened, so that a test can hold a device in the middle
// of something. An open gate stays open. Thread-safe.
class FakeGate {
 public:
  void arrive_and_wait();
  void open();
  // Waits until `count` have arrived in all; false when that took longer than `limit_s` of real
  // time, so that a broken test ends.
  bool wait_for_arrivals(int count, double limit_s = 120);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrivals_ = 0;
  bool open_ = false;
};

// What a launch looks like to the functions of a script.
struct FakeLaunch {
  std::string_view kernel;  // its name
  const void* args = nullptr;
  Dim3 groups = {}, group_size = {};
  std::uint64_t index = 0;  // how many launches of this kernel were asked for before this one
  double now_s = 0;         // the virtual clock when it begins
};

// Factors on the time of one launch. Each launch draws anew from (script seed, kernel name, index).
struct FakeNoise {
  double sigma = 0;           // Gaussian, relative; times never fall below a tenth of the base
  double outlier_chance = 0;  // a launch that something disturbed
  double outlier_factor = 10;
  double lucky_chance = 0;  // a launch that is faster than the kernel can repeat
  double lucky_factor = 0.5;
};

// What profile() gives for a body that launched the kernel. All but `error` and `stands_still`
// break the contract of profile(): they are successes with a value that no honest clock gives.
enum class FakeTiming : std::uint8_t {
  honest,
  stands_still,  // the launch takes no time on the device's clock
  error,         // not_timed
  zero,
  negative,
  nan,
  infinite,
};

// What happens to the bytes that the kernel's code wrote. The places are those of `output`.
enum class FakeOutput : std::uint8_t {
  right,
  wrong,    // bits of every fourth byte are turned over: any element of any float type changes
  partial,  // the last quarter keeps what it held before
  outside,  // 16 bytes behind the end are written as well
};

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct FakeBehaviour {
  // --- Time of one launch, its launch overhead included; `seconds_of` wins where it is given.
  double seconds = 10e-6;
  std::function<double(const FakeLaunch&)> seconds_of = {};
  FakeNoise noise = {};
  FakeTiming timing = FakeTiming::honest;

  // --- What it computes: `entry`, else the entry of the KernelSource, else nothing.
  std::function<Status(const void* args)> entry = {};
  // Where the result lies, for `damage`; without it the last of Launch::buffers.
  std::function<std::span<std::byte>(const void* args)> output = {};
  FakeOutput damage = FakeOutput::right;

  // --- Building.
  double compile_s = 1e-3;
  double load_s = 1e-4;                   // from a binary
  std::optional<Error> build_error = {};  // after compile_s
  bool ahead_of_time = false;             // nothing is compiled, there is no binary

  // --- Launching. Indices count the launches asked for, from 0.
  std::optional<Error> launch_error = {};  // the launch is refused, takes no time, writes nothing
  std::uint64_t fails_from = 0;            // the first launch with launch_error
  std::uint64_t fails_until = kNever;      // the first one without it again
  std::optional<Error> late_error = {};    // accepted; reported once, by the next wait or profile
  std::uint64_t scratch_bytes = 0;         // out_of_memory when memory_bytes leaves less than this
  std::uint64_t loses_device_at = kNever;  // this launch fails, and every call after it

  // --- Real blocking.
  std::shared_ptr<FakeGate> build_gate = {};
  std::shared_ptr<FakeGate> launch_gate = {};
};

// Up to this working set, memory moves at this rate.
struct FakeLevel {
  double bytes;
  double bytes_per_s;
};

// What the probe kernels show.
struct FakeProbes {
  std::map<DType, double> compute = {{DType::f32, 1e12}, {DType::f64, 0.5e12}};  // operations/s
  std::map<DType, double> matrix = {};
  // Ascending; the last holds for everything above. The working set of a copy is both its sides.
  std::vector<FakeLevel> copy = {{1 << 20, 400e9}, {0, 80e9}};
  std::vector<FakeLevel> read = {{1 << 20, 500e9}, {0, 100e9}};
  std::vector<FakeLevel> write = {{1 << 20, 300e9}, {0, 60e9}};
  double launch_overhead_s = 2e-6;
  // A factor on the rate shown (for `launch`: on the overhead). 0.5: half of what is true. 0: a
  // time of infinity; NaN: a time of NaN, both as values that break the contract of profile().
  std::map<ProbeKind, double> lies = {};
  std::uint64_t lies_until = kNever;  // the first launch of a probe kernel that is honest again
};

// What a probe kernel says of itself (ProbeKernel::operations_per_repeat), and the time of its
// launch `index` under these probes; drift and noise come on top.
double probe_operations(ProbeKind kind, int compute_units);
double probe_seconds(const FakeProbes& probes, ProbeKind kind, DType dtype, int compute_units,
                     const ProbeArgs& args, std::uint64_t index);

struct FakeScript {
  FakeScript();

  std::map<std::string, FakeBehaviour> kernels;  // by KernelId::name
  FakeBehaviour otherwise;                       // of kernels that are not named
  // memory_bytes is enforced as the sum of all buffers; max_allocation_bytes, shared memory and
  // threads per group at each call; clock_resolution_s is the step of profile() and elapsed_s().
  Capabilities capabilities;
  std::map<std::string, std::string> fingerprint;
  FakeProbes probes;
  // The clock's true step where it is not the one that the capabilities tell.
  std::optional<double> clock_step_s;
  // A factor on the time of every launch that begins at this time; null: none.
  std::function<double(double now_s)> drift;
  // What the device's clock shows at a true time, where that is not the truth: a clock that stands,
  // jumps or runs backwards. It is what now_s() and events tell; profile() keeps its own time.
  std::function<double(double now_s)> clock_shows;
  // Whether the allocation with this number (from 0) is refused with out_of_memory; null: none.
  std::function<bool(std::uint64_t index)> refuses_allocation;
  // Whether the stream of the caller, or another one, is at work at this time; null: never.
  std::function<bool(double now_s)> busy;
  double transfer_bytes_per_s = 0;  // of write, read and fill; 0: they take no time
  std::uint64_t seed = 1;
};

// Clock frequencies that change: a swing of +-amplitude around 1, and a rise from 1 to `most` that
// has its full effect after `seconds` (a processor that grows warm).
std::function<double(double)> swinging_drift(double amplitude, double period_s);
std::function<double(double)> rising_drift(double most, double seconds);

// The rate for a working set: that of the first level that holds it. 0 for no levels.
double rate_at(const std::vector<FakeLevel>& levels, double bytes);

// The factor of launch `index` of a kernel under this noise.
double noise_factor(const FakeNoise& noise, std::uint64_t seed, std::string_view kernel,
                    std::uint64_t index);

// Work of one launch, as an operation knows it from its argument struct.
struct FakeWork {
  double operations = 0;
  double bytes = 0;
};

// A time that follows from the work: `share` of the roofline of these probes, plus the launch
// overhead. For FakeBehaviour::seconds_of.
using FakeWorkFn = std::function<FakeWork(const FakeLaunch&)>;
std::function<double(const FakeLaunch&)> roofline_time(const FakeProbes& probes, DType dtype,
                                                       double share, FakeWorkFn work);

// The device behind `--device fake`: a small, well-mannered accelerator with a compiler, transfers
// that take time and a little noise. A kernel that is not named reaches a share of the roofline
// between 0.25 and 0.85 that follows from its name, so that candidates differ, always in the same
// way. `work` tells what a launch does; without it, every launch is taken for 1e8 operations on
// 1e6 bytes.
FakeScript demo_script(FakeWorkFn work = {});

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_FAKE_SCRIPT_H_
