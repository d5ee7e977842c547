// A device that does what its script says, on a clock that only its own work moves. Most tests of
// the tuner, the store and of concurrency run on it; `--device fake` shows it to people.
#ifndef ROOFTUNE_DEVICE_FAKE_FAKE_CLIENT_H_
#define ROOFTUNE_DEVICE_FAKE_FAKE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/fake/heap.h"
#include "device/fake/script.h"
#include "rooftune/device.h"

namespace rooftune {

struct FakeKernel;

enum class FakeCallKind : std::uint8_t { build, load, launch, write, read, fill, synchronize };

// What was asked of the device, in the order in which it was done.
struct FakeCall {
  FakeCallKind kind;
  std::string kernel;  // of build, load, launch
  std::uintptr_t stream = 0;
  bool done = false;              // false: refused
  double begin_s = 0, end_s = 0;  // on the virtual clock
};

// Runs kernels in the calling thread, as the CPU does: when launch() returns, the work is done and
// the clock has moved. Memory is host memory, and operands of the caller may be used in place.
// profile() counts the time of what the calling thread did on the stream, so that threads do not
// disturb each other's measurements.
class FakeClient : public Client {
 public:
  explicit FakeClient(FakeScript script = {}, std::string name = "fake");

  // --- For tests. All may be called at any time, from any thread.
  // Changes what a kernel does from its next launch or build on.
  void set_behaviour(const std::string& kernel, FakeBehaviour behaviour);
  void advance(double seconds);  // as if the host had been busy with something else
  void lose();                   // every call fails from now on, with device_lost

  struct Counts {
    std::uint64_t asked = 0;     // launches, also refused ones
    std::uint64_t launches = 0;  // accepted
    std::uint64_t builds = 0;    // also failed ones
    std::uint64_t loads = 0;     // from a binary
  };
  Counts counts(std::string_view kernel) const;  // all 0 for an unknown name
  std::uint64_t launches(std::string_view kernel) const { return counts(kernel).launches; }
  std::uint64_t launches() const;
  // At most the first kLogLimit calls since the start or since clear_calls().
  static constexpr std::size_t kLogLimit = 100'000;
  std::vector<FakeCall> calls() const;
  void clear_calls();
  // Buffers around which something was written.
  std::uint64_t broken_guards() const { return heap_->broken_guards(); }

  // --- Client.
  Status write(Stream stream, void* device, const void* source, std::uint64_t bytes) override;
  Status read(Stream stream, void* destination, const void* device, std::uint64_t bytes) override;
  Status fill(Stream stream, void* device, std::span<const std::byte> pattern,
              std::uint64_t bytes) override;
  Result<Stream> create_stream() override;
  void destroy_stream(Stream stream) override;
  Status synchronize(Stream stream) override;
  bool busy(Stream stream) override;  // asking takes a microsecond
  Result<std::unique_ptr<Event>> record(Stream stream) override;
  Status wait(const Event& event) override;
  Status wait(Stream stream, const Event& event) override;
  Result<double> elapsed_s(const Event& from, const Event& to) override;
  double now_s() const override;
  Result<ProbeKernel> probe_kernel(ProbeKind kind, DType dtype) override;

 protected:
  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override;
  Result<double> do_profile(Stream stream, FunctionRef<Status()> body, int repeats) override;
  Status do_launch(Stream stream, const Launch& launch) override;
  Result<Built> do_build(const KernelSource& source) override;
  Result<std::shared_ptr<const Kernel>> do_load(const KernelSource& source,
                                                std::string_view binary) override;

 private:
  struct KernelState {
    std::shared_ptr<const FakeBehaviour> behaviour;
    Counts counts;
  };

  // The functions named ..._locked want mutex_ held.
  KernelState& state_locked(std::string_view kernel);
  Status usable_locked(Stream stream) const;
  void advance_locked(double seconds);
  double shown_locked() const;  // by the device's own clock
  void log_locked(FakeCall call);
  Status take_late_error_locked(Stream stream);
  Status admit_locked(Stream stream, const Launch& launch, const FakeBehaviour& behaviour,
                      std::uint64_t index);
  Status transfer(FakeCallKind kind, Stream stream, void* to, const void* from, std::uint64_t bytes,
                  std::span<const std::byte> pattern);
  double launch_seconds(const FakeKernel& kernel, const FakeLaunch& launch,
                        const FakeBehaviour& behaviour) const;
  double quantised(double seconds) const;

  const FakeScript script_;  // of its kernels, only what behaviours begin with
  const std::shared_ptr<FakeHeap> heap_ = std::make_shared<FakeHeap>();

  mutable std::mutex mutex_;  // guards all below
  double now_s_ = 0;
  bool lost_ = false;
  std::uint64_t allocations_ = 0;
  std::uintptr_t last_stream_ = 0;
  std::map<std::uintptr_t, std::optional<Error>> streams_;  // living ones, with their late error
  std::map<std::string, KernelState, std::less<>> kernels_;
  std::map<std::pair<ProbeKind, DType>, std::shared_ptr<const Kernel>> probes_;
  std::vector<FakeCall> calls_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_FAKE_FAKE_CLIENT_H_
