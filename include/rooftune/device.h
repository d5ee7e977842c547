// The device contract. Everything above this line of the system (store, throughput, tune, ops)
// drives a device through these classes alone and never asks which one it is; the author of a new
// device implements `Client` and passes the tests in tests/conformance/.
//
// Vocabulary: a *kernel* is one compiled piece of code; a *kernel id* names the source, parameters
// and types it was made from; a *launch* runs a kernel on a *stream*; work on one stream runs in
// order; *profile* times work on the device's own clock.
#ifndef ROOFTUNE_DEVICE_H_
#define ROOFTUNE_DEVICE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rooftune/dtype.h"
#include "rooftune/error.h"
#include "rooftune/events.h"
#include "rooftune/function_ref.h"

namespace rooftune {

// ---------------------------------------------------------------------------------------------
// What a device is

// One shape of product that a matrix unit executes in one instruction, e.g. {"wmma", f16 x f16 to
// f32, 16x16x16}.
struct MatrixUnit {
  std::string name;
  DType lhs, rhs, accumulator;
  int m, n, k;
};

// Everything a candidate's legality test and the tuner may want to know. A limit of 0 means "no
// such limit".
struct Capabilities {
  std::vector<DType> types;              // arithmetic types of the plain units
  std::vector<MatrixUnit> matrix_units;  // empty: none
  std::vector<std::string> features;     // sorted names, e.g. "avx512f", "tma"; device-specific
  int compute_units = 1;                 // cores or multiprocessors that run in parallel
  int threads = 1;                 // part of keys: CPU threads in use; 1 where it has no meaning
  int vector_bytes = 16;           // width of a vector register or a load of one lane
  int subgroup_size = 1;           // lanes that run in lockstep
  std::uint64_t memory_bytes = 0;  // of the device
  std::uint64_t last_level_cache_bytes = 0;
  // For each level of caches, the first one first: the largest working set that it can hold when a
  // kernel shares the set out among all compute units or threads, e.g. 96 kB for two threads with
  // 48 kB each. Ascending, without levels that tell nothing of their size; empty where none does.
  std::vector<std::uint64_t> cache_reach_bytes = {};
  std::uint64_t shared_memory_bytes = 0;  // per group
  std::uint64_t max_allocation_bytes = 0;
  std::uint64_t max_threads_per_group = 0;
  double clock_resolution_s = 0;  // shortest time that profile() can tell from zero
  // Parts of the device have caches of their own and the launching thread shares work out: a kernel
  // finds caches as the last one left them, who may have shared out otherwise, and a launch returns
  // while other threads still find their way back.
  bool private_caches = false;
  bool host_memory = true;  // the host can read and write what allocate() gives
  // Kernels are compiled when they are first wanted, which takes long and may be done for several
  // at once; measuring happens on a stream of its own, since the default one may have limits.
  bool compiles_at_run_time = false;

  bool supports(DType dtype) const;
  bool has_feature(std::string_view name) const;
};

// What must be equal for a measurement to be believed again: run time, device name, memory size,
// driver, instruction set, relevant settings. Never a device index, never a time, never a path.
class Fingerprint {
 public:
  Fingerprint() = default;
  explicit Fingerprint(std::map<std::string, std::string> parts) : parts_(std::move(parts)) {}

  const std::map<std::string, std::string>& parts() const { return parts_; }
  std::string digest() const;  // 16 hexadecimal digits; the name of the device in the store
  std::string text() const;    // "driver=..., name=...": every part, sorted by name
  bool operator==(const Fingerprint&) const = default;

 private:
  std::map<std::string, std::string> parts_;
};

// ---------------------------------------------------------------------------------------------
// Memory

class Client;

// A piece of device memory, owned; freed when the last copy goes. Copying is cheap and thread-safe.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> memory, std::uint64_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  void* address() const { return memory_.get(); }  // on the device; null for an empty buffer
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> memory_;
  std::uint64_t bytes_ = 0;
};

// ---------------------------------------------------------------------------------------------
// Kernels

// Names a kernel by everything that decides its machine code.
struct KernelId {
  std::string name;            // for people and counters, e.g. "packed_avx512_14x2v"
  std::string source_hash;     // of the source and everything it includes
  std::string parameters;      // compile-time parameters and types, e.g. "f32 mc=192"
  std::string digest() const;  // 16 hexadecimal digits over the three
};

// How to make a kernel. Devices with ahead-of-time kernels use `entry`; devices with a run-time
// compiler use `text` and `options`. The pointers need to live only during compile(), `entry` for
// as long as the process.
struct KernelSource {
  KernelId id;
  std::string_view text;             // source for the run-time compiler
  std::vector<std::string> options;  // its options
  void (*entry)() = nullptr;         // ahead-of-time code, cast to the device's own entry type
};

// A compiled kernel: immutable, usable from any thread, valid while the Client lives.
class Kernel {
 public:
  explicit Kernel(KernelId id) : id_(std::move(id)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  const KernelId& id() const { return id_; }

 private:
  KernelId id_;
};

// Compiled code that outlives the process. The store implements it; a device with a run-time
// compiler asks it before compiling and tells it afterwards. Called from any thread.
class BinaryCache {
 public:
  virtual ~BinaryCache() = default;
  virtual std::optional<std::string> load(const KernelId& id) = 0;     // nothing: not there
  virtual void save(const KernelId& id, std::string_view binary) = 0;  // may fail silently
};

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

// One launch. `args` is a plain struct that operation and kernel agree on; it is copied (or
// consumed) before launch() returns. Devices that bind memory instead of addressing it find it in
// `buffers`.
struct Launch {
  const Kernel* kernel = nullptr;
  const void* args = nullptr;
  std::size_t args_bytes = 0;
  Dim3 groups = {}, group_size = {};
  std::uint32_t shared_bytes = 0;
  std::span<const Buffer> buffers = {};
};

// ---------------------------------------------------------------------------------------------
// Order and time

// A queue of one device; work on it runs in order. A small value. `native` is the device's own
// handle (a CUstream, a VkQueue); 0 is the default stream.
struct Stream {
  std::uintptr_t native = 0;
};

// A point in a stream's order. Owned by whoever recorded it.
class Event {
 public:
  virtual ~Event() = default;
};

// ---------------------------------------------------------------------------------------------
// What probes measure

enum class ProbeKind : std::uint8_t { compute, matrix, copy, read, write, launch };
std::string_view to_string(ProbeKind kind);

// A kernel that shows what the device can do, made by the device because only it knows how.
struct ProbeKernel {
  std::shared_ptr<const Kernel> kernel;
  Dim3 groups = {}, group_size = {};
  // compute, matrix: operations of one launch with `repeats` repetitions inside is
  // operations_per_repeat * repeats. 0 for the others: a pass of a copy reads and writes
  // ProbeArgs::bytes, a pass of a read or write moves them once.
  double operations_per_repeat = 0;
  // compute, matrix: the type whose probe this is, where another type runs at its rate (u8 as i8
  // does): one measurement serves both. Absent: the type that was asked for.
  std::optional<DType> same_as = {};
};

// The argument struct of every probe kernel. Results must depend on the memory read, so that
// nothing can be optimised away; `sink` takes 64 bytes for each compute unit or thread of the
// capabilities, whichever are more.
struct ProbeArgs {
  void* destination = nullptr;   // copy, write
  const void* source = nullptr;  // copy, read
  std::uint64_t bytes = 0;       // of each
  std::uint64_t repeats = 1;     // inner repetitions: passes over the memory, or inner loops
  void* sink = nullptr;
};

// ---------------------------------------------------------------------------------------------
// The client

// The handle to one device. All functions may be called from any thread; two calls on different
// streams may overlap. Implementations override the protected do_... functions and nothing else;
// the public ones add counting, spans and checks that are the same for every device.
class Client {
 public:
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& name() const { return name_; }  // "cpu", "cuda:0": for people, never a key
  const Capabilities& capabilities() const { return capabilities_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }

  // --- Memory. Sizes are 64-bit; a size of 0 gives an empty buffer.
  // Errors: out_of_memory with the size asked for.
  Result<Buffer> allocate(std::uint64_t bytes);
  // Host to device, device to host, and a byte pattern of 1 to 16 bytes repeated; ordered on the
  // stream, complete for the host when the call returns (read) or when the stream is synchronised
  // (write, fill); `source` may be reused when the call returns.
  virtual Status write(Stream stream, void* device, const void* source, std::uint64_t bytes) = 0;
  virtual Status read(Stream stream, void* destination, const void* device,
                      std::uint64_t bytes) = 0;
  virtual Status fill(Stream stream, void* device, std::span<const std::byte> pattern,
                      std::uint64_t bytes) = 0;

  // --- Kernels. compile() finds the kernel by id in the table of compiled kernels, then in the
  // binary cache, then builds it. A failed build is remembered: asking again gives the same error
  // without building again. Kernels may be compiled from several threads at once.
  // Errors: build_failed with the compiler's words; unsupported.
  Result<std::shared_ptr<const Kernel>> compile(const KernelSource& source);
  // The cache may be null; it must outlive the client or be replaced before it goes. Waits for a
  // load or save in progress: afterwards the former cache is used by nobody.
  void set_binary_cache(BinaryCache* cache);

  // Enqueues a launch. Success means accepted; on a device that runs in the caller (the CPU) it
  // also means done. No allocation, no lock that others wait for.
  // Errors: launch_failed with the reason, also for no kernel; out_of_memory for scratch memory.
  Status launch(Stream stream, const Launch& launch) {
    if (subscriber_.load(std::memory_order_acquire) != nullptr || launch.kernel == nullptr)
        [[unlikely]] {
      return observed_launch(stream, launch);
    }
    return do_launch(stream, launch);
  }

  // --- Streams and events.
  virtual Result<Stream> create_stream() = 0;
  virtual void destroy_stream(Stream stream) = 0;
  // Waits until everything on the stream is done. Errors: launch_failed for what went wrong there.
  virtual Status synchronize(Stream stream) = 0;
  // True while what is enqueued on the stream is recorded for later (CUDA's stream capture):
  // nothing can be measured then.
  virtual bool recording(Stream) const { return false; }
  // True while the stream has work that is not done. Does not wait. Never true where launches
  // return when they are done.
  virtual bool busy(Stream) { return false; }
  virtual Result<std::unique_ptr<Event>> record(Stream stream) = 0;
  virtual Status wait(const Event& event) = 0;                 // the host waits
  virtual Status wait(Stream stream, const Event& event) = 0;  // the stream waits
  virtual Result<double> elapsed_s(const Event& from, const Event& to) = 0;

  // Seconds that `repeats` calls of `body` took together on the stream, on the device's clock.
  // `body` enqueues work on that stream. Not divided by repeats: the caller knows the number.
  // A device that knows that several calls were disturbed may make them all once more.
  // Errors: whatever body returned; not_timed when the clock gave no positive, finite time.
  Result<double> profile(Stream stream, FunctionRef<Status()> body, int repeats);

  // A clock for budgets, in seconds from an arbitrary start: real time on real devices.
  virtual double now_s() const = 0;

  // Excludes other measurements on this device (not launches: a hit never waits) for as long as
  // the lock is held. Recursive on one thread. Hold it for one measurement, not for a whole tune.
  std::unique_lock<std::recursive_mutex> exclusive() {
    return std::unique_lock<std::recursive_mutex>(exclusive_);
  }
  // The same for who does not wait: owns nothing when another thread is measuring.
  std::unique_lock<std::recursive_mutex> try_exclusive() {
    return std::unique_lock<std::recursive_mutex>(exclusive_, std::try_to_lock);
  }

  // A probe kernel of this device for a type. Errors: unsupported when there is none.
  virtual Result<ProbeKernel> probe_kernel(ProbeKind kind, DType dtype) = 0;

  // Telemetry of this device; null turns it off. The subscriber must outlive its use.
  void set_subscriber(Subscriber* subscriber) {
    subscriber_.store(subscriber, std::memory_order_release);
  }
  Subscriber* subscriber() const { return subscriber_.load(std::memory_order_acquire); }

  // Statistics: memory held by buffers now; runs of the compiler since the client was made, also
  // those that ended in build_failed (kernels that were found or made ahead of time do not count).
  std::uint64_t allocated_bytes() const { return allocated_->load(std::memory_order_relaxed); }
  std::uint64_t compilations() const { return compilations_.load(std::memory_order_relaxed); }

 protected:
  explicit Client(std::string name) : name_(std::move(name)) {}
  void describe(Capabilities capabilities, Fingerprint fingerprint) {
    capabilities_ = std::move(capabilities);
    fingerprint_ = std::move(fingerprint);
  }

  virtual Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) = 0;
  virtual Status do_launch(Stream stream, const Launch& launch) = 0;
  virtual Result<double> do_profile(Stream stream, FunctionRef<Status()> body, int repeats) = 0;

  // Building in two steps, so that the cache of binaries needs no word from the device: build()
  // makes a kernel from source and gives its binary (empty for ahead-of-time code), load() makes
  // it from a binary; a binary that does not load is built anew.
  struct Built {
    std::shared_ptr<const Kernel> kernel;
    std::string binary;
    bool compiled = true;  // false: nothing was compiled (ahead-of-time code)
  };
  virtual Result<Built> do_build(const KernelSource& source) = 0;
  virtual Result<std::shared_ptr<const Kernel>> do_load(const KernelSource& source,
                                                        std::string_view binary);
  // The cache of binaries, for kernels of the device's own: these are in no table, not counted and
  // told to nobody.
  std::optional<std::string> cached_binary(const KernelId& id);
  void keep_binary(const KernelId& id, std::string_view binary);

 private:
  struct TableEntry {
    std::once_flag once;
    Result<std::shared_ptr<const Kernel>> kernel = fail(ErrorKind::internal, "not built yet");
  };
  Result<std::shared_ptr<const Kernel>> build_or_load(const KernelSource& source);
  Status observed_launch(Stream stream, const Launch& launch);

  std::string name_;
  Capabilities capabilities_;
  Fingerprint fingerprint_;
  std::atomic<Subscriber*> subscriber_{nullptr};
  std::shared_ptr<std::atomic<std::uint64_t>> allocated_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);  // shared: buffers may outlive the client
  std::atomic<std::uint64_t> compilations_{0};
  std::recursive_mutex exclusive_;
  std::mutex table_mutex_;
  std::map<std::string, std::shared_ptr<TableEntry>> table_;  // by KernelId::digest()
  std::shared_mutex cache_mutex_;  // shared while the cache is used, whole while it is replaced
  BinaryCache* binary_cache_ = nullptr;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_H_
