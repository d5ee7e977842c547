#include "device/cuda/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "device/cuda/compiler.h"
#include "device/cuda/context.h"
#include "device/cuda/driver.h"
#include "device/cuda/fill.h"
#include "device/cuda/matrix_units.h"
#include "device/cuda/probes.h"
#include "device/cuda/stream_holder.h"
#include "device/cuda/timers.h"

namespace rooftune {
namespace {

// Why a device is too old; empty where it is not.
std::string refusal_of(const char* product, int capability) {
  // The oldest devices that the kernels are written for have mma.sync, cp.async and ldmatrix.
  constexpr int kLeast = 80;
  if (capability >= kLeast) return {};
  return fmt::format("{} has compute capability {}.{}; {}.{} is the least", product,
                     capability / 10, capability % 10, kLeast / 10, kLeast % 10);
}

class Cuda final : public CudaClient {
 public:
  Cuda(std::string name, std::shared_ptr<CudaContext> context, CUdevice device)
      : CudaClient(std::move(name)),
        context_(std::move(context)),
        driver_(context_->driver),
        device_(device),
        timers_(context_),
        holder_([this] { return hold_kernel(); }) {}

  ~Cuda() override {
    if (pool_ == nullptr) return;
    const CudaContext::Apart apart(*context_);
    driver_.destroy_pool(pool_);
  }

  Status describe() {
    char product[256] = {};
    std::size_t memory = 0;
    driver_.device_name(product, sizeof product, device_);
    driver_.device_memory(&memory, device_);
    capability_ = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    const auto compiler = CudaCompiler::get();
    shared_bytes_ = static_cast<std::uint32_t>(
        attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));

    Capabilities what;
    what.types = {DType::f64, DType::f32, DType::f16,    DType::bf16,
                  DType::i8,  DType::u8,  DType::f8e4m3, DType::f8e5m2};
    what.matrix_units = matrix_units_of(capability_);
    what.features.push_back(fmt::format("sm_{}", capability_));
    if (capability_ >= 90) what.features.push_back("tma");
    if (capability_ == 90) what.features.push_back("wgmma");
    if (compiler) what.features.push_back("nvrtc");
    std::sort(what.features.begin(), what.features.end());
    what.compute_units = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    what.vector_bytes = 16;
    what.subgroup_size = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    what.memory_bytes = memory;
    what.last_level_cache_bytes =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    if (what.last_level_cache_bytes > 0) what.cache_reach_bytes = {what.last_level_cache_bytes};
    what.shared_memory_bytes = shared_bytes_;
    what.max_allocation_bytes = memory;
    what.max_threads_per_group =
        static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    // Events tick every half microsecond. In a row behind a stream that is held back (do_profile)
    // no launch lies between the first one and the kernels; in a graph some microseconds do, which
    // is the same share of all rows, since rows are equally long.
    what.clock_resolution_s = 1e-6;
    what.host_memory = false;
    what.compiles_at_run_time = true;
    Client::describe(
        std::move(what),
        Fingerprint({{"runtime", "cuda"},
                     {"name", product},
                     {"capability", fmt::format("{}.{}", capability_ / 10, capability_ % 10)},
                     // A partition (MIG) has fewer of both.
                     {"multiprocessors", std::to_string(capabilities_units())},
                     {"memory_mib", std::to_string(memory >> 20)},
                     {"driver", std::to_string(driver_.version)},
                     {"nvrtc", compiler ? (*compiler)->version() : "none"}}));

    // A pool of our own: memory stays with it between calls, since giving it back to the system
    // costs more than a kernel, and the host program's pool is not ours to change.
    const CudaContext::Scope scope(*context_);
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    if (Status made = checked(driver_.create_pool(&pool_, &properties), "a pool of memory");
        !made) {
      return made;
    }
    cuuint64_t all = ~cuuint64_t{0};
    driver_.set_pool_attribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
    return {};
  }

  int capability() const override { return capability_; }
  std::uint32_t most_shared_bytes() const override { return shared_bytes_; }

  // Apart, here and in free_on and copy: when first launches and these three were not, a search
  // spoilt another thread's capture. Which of them did was not found out.
  Result<void*> allocate_on(Stream stream, std::uint64_t bytes) override {
    const CudaContext::Apart apart(*context_);
    CUdeviceptr memory = 0;
    const CUresult done = driver_.allocate_from_pool(&memory, bytes, pool_, native(stream));
    if (done == CUDA_SUCCESS) [[likely]]
      return std::bit_cast<void*>(memory);
    return std::unexpected(
        checked(done, fmt::format("{} bytes of scratch memory", bytes).c_str()).error());
  }
  void free_on(Stream stream, void* memory) override {
    const CudaContext::Apart apart(*context_);
    driver_.free_async(pointer(memory), native(stream));
  }
  Status copy(Stream stream, void* to, const void* from, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    const CudaContext::Apart apart(*context_);
    return checked(driver_.copy_on_device(pointer(to), pointer(from), bytes, native(stream)),
                   "a copy on the device");
  }
  Status encode(const TensorMapShape& shape, TensorMap& map) const override {
    return encode_tensor_map(*context_, shape, map);
  }

  Status write(Stream stream, void* device, const void* source, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    const CudaContext::Apart apart(*context_);
    Status done =
        checked(driver_.copy_to_device(pointer(device), source, bytes, native(stream)), "a write");
    // From pinned memory the copy would still be reading when we return.
    return done ? checked(driver_.stream_synchronize(native(stream)), "a write") : done;
  }
  Status read(Stream stream, void* destination, const void* device, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    const CudaContext::Apart apart(*context_);
    Status done = checked(driver_.copy_to_host(destination, pointer(device), bytes, native(stream)),
                          "a read");
    return done ? checked(driver_.stream_synchronize(native(stream)), "a read") : done;
  }
  Status fill(Stream stream, void* device, std::span<const std::byte> pattern,
              std::uint64_t bytes) override {
    if (pattern.empty() || pattern.size() > 16) {
      return fail(ErrorKind::invalid_argument,
                  fmt::format("a fill pattern has 1 to 16 bytes, not {}", pattern.size()));
    }
    if (bytes == 0) return {};
    const CudaContext::Apart apart(*context_);
    return checked(cuda_fill(driver_, native(stream), device, pattern, bytes), "a fill");
  }

  Result<Stream> create_stream() override {
    // Who wants a stream is about to measure.
    if (capabilities().has_feature("nvrtc")) holder_.get_ready();
    const CudaContext::Apart apart(*context_);
    CUstream stream = nullptr;
    // Non-blocking: work on the legacy default stream neither waits for it nor holds it up.
    Status done = checked(driver_.stream_create(&stream, CU_STREAM_NON_BLOCKING), "a new stream");
    if (!done) return std::unexpected(std::move(done.error()));
    return Stream{reinterpret_cast<std::uintptr_t>(stream)};
  }
  void destroy_stream(Stream stream) override {
    if (stream.native == 0) return;
    const CudaContext::Apart apart(*context_);
    driver_.stream_destroy(native(stream));
    // What graphs that were measured on it had as scratch memory.
    if (made_graphs_.exchange(false)) driver_.trim_graph_memory(device_);
  }
  Status synchronize(Stream stream) override {
    const CudaContext::Apart apart(*context_);
    return checked(driver_.stream_synchronize(native(stream)), "the work on a stream");
  }
  bool recording(Stream stream) const override {
    const CudaContext::Scope scope(*context_);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult done = driver_.stream_capturing(native(stream), &status);
    if (done != CUDA_SUCCESS) static_cast<void>(kind_of(done));  // which remembers a fault
    // Another error: somebody captures in a way that forbids even the question.
    return fault_.load(std::memory_order_relaxed) == CUDA_SUCCESS &&
           (done != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
  }
  bool busy(Stream stream) override {
    const CudaContext::Apart apart(*context_);
    const CUresult done = driver_.stream_query(native(stream));
    if (done == CUDA_ERROR_NOT_READY) return true;
    // A fault of the work on it is told by what is asked next.
    if (done != CUDA_SUCCESS) static_cast<void>(kind_of(done));
    return false;
  }

  Result<std::unique_ptr<Event>> record(Stream stream) override {
    const CudaContext::Apart apart(*context_);
    auto event = make_event();
    if (!event) return std::unexpected(event.error());
    if (Status done = checked(driver_.event_record((*event)->event, native(stream)), "an event");
        !done) {
      return std::unexpected(std::move(done.error()));
    }
    return std::unique_ptr<Event>(*std::move(event));
  }
  Status wait(const Event& event) override {
    const auto* ours = dynamic_cast<const CudaEvent*>(&event);
    if (ours == nullptr) return not_ours();
    const CudaContext::Apart apart(*context_);
    return checked(driver_.event_synchronize(ours->event), "the work before an event");
  }
  Status wait(Stream stream, const Event& event) override {
    const auto* ours = dynamic_cast<const CudaEvent*>(&event);
    if (ours == nullptr) return not_ours();
    const CudaContext::Scope scope(*context_);
    return checked(driver_.stream_wait(native(stream), ours->event, 0), "waiting for an event");
  }
  Result<double> elapsed_s(const Event& from, const Event& to) override {
    const auto* begin = dynamic_cast<const CudaEvent*>(&from);
    const auto* end = dynamic_cast<const CudaEvent*>(&to);
    if (begin == nullptr || end == nullptr) return std::unexpected(not_ours().error());
    const CudaContext::Apart apart(*context_);
    if (Status done = checked(driver_.event_synchronize(end->event), "the work before an event");
        !done) {
      return std::unexpected(std::move(done.error()));
    }
    float milliseconds = 0;
    if (Status done =
            checked(driver_.event_elapsed(&milliseconds, begin->event, end->event), "a time");
        !done) {
      return std::unexpected(std::move(done.error()));
    }
    return double(milliseconds) * 1e-3;
  }
  double now_s() const override { return steady_now_s(); }
  Result<ProbeKernel> probe_kernel(ProbeKind kind, DType dtype) override {
    return cuda_probe(*this, kind, dtype);
  }

 protected:
  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override {
    const CudaContext::Apart apart(*context_);
    CUdeviceptr memory = 0;
    const CUresult done = driver_.allocate(&memory, bytes);
    if (done != CUDA_SUCCESS) {
      return fail(kind_of(done), driver_.describe(done));
    }
    return std::shared_ptr<void>(std::bit_cast<void*>(memory), [context = context_](void* held) {
      const CudaContext::Apart inside(*context);
      context->driver.free(pointer(held));
    });
  }

  Status do_launch(Stream stream, const Launch& launch) override {
    const CudaContext::Scope scope(*context_);
    const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
    // The driver may bring a kernel to the device when it is first launched, which spoils what any
    // other thread captures.
    std::optional<CudaContext::Relaxed> relaxed;
    if (!kernel.launched.load(std::memory_order_relaxed)) [[unlikely]]
      relaxed.emplace(*context_);
    // Not through the buffer of CU_LAUNCH_PARAM_BUFFER_POINTER: a structure that is aligned to 64
    // bytes (it has a tensor map) does not lie at the beginning of that.
    void* parameters[] = {const_cast<void*>(launch.args)};
    const CUresult done = driver_.launch(kernel.function, launch.groups.x, launch.groups.y,
                                         launch.groups.z, launch.group_size.x, launch.group_size.y,
                                         launch.group_size.z, launch.shared_bytes, native(stream),
                                         launch.args_bytes > 0 ? parameters : nullptr, nullptr);
    if (done == CUDA_SUCCESS) [[likely]] {
      if (relaxed) kernel.launched.store(true, std::memory_order_relaxed);
      return {};
    }
    return fail(kind_of(done),
                fmt::format("{} of {}x{}x{} blocks of {}x{}x{} threads with {} bytes of shared "
                            "memory: {}",
                            kernel.id().name, launch.groups.x, launch.groups.y, launch.groups.z,
                            launch.group_size.x, launch.group_size.y, launch.group_size.z,
                            launch.shared_bytes, driver_.describe(done)));
  }

  Result<double> do_profile(Stream stream, FunctionRef<Status()> body, int repeats) override;

  Result<Built> do_build(const KernelSource& source) override {
    if (Status usable = unbroken(); !usable) return std::unexpected(std::move(usable.error()));
    const auto compiler = CudaCompiler::get();
    if (!compiler) return std::unexpected(compiler.error());
    {
      // After a fault the driver gives nothing any more, and what is compiled is compiled in vain.
      const CudaContext::Apart apart(*context_);
      if (auto event = make_event(); !event) return std::unexpected(event.error());
    }
    auto output = (*compiler)->compile(std::string(source.text), source.id.name + ".cu",
                                       source.options, cuda_architecture(capability_));
    if (!output) return std::unexpected(output.error());
    auto kernel = do_load(source, output->binary);
    // The compiler has run: its product is what failed, if not for a shortage that may pass.
    if (!kernel) {
      const ErrorKind kind = kernel.error().kind;
      const bool its_own = kind != ErrorKind::out_of_memory && kind != ErrorKind::device_lost;
      return fail(its_own ? ErrorKind::build_failed : kind, kernel.error().text);
    }
    return Built{*std::move(kernel), std::move(output->binary), true};
  }
  Result<std::shared_ptr<const Kernel>> do_load(const KernelSource& source,
                                                std::string_view binary) override;

 private:
  int attribute(CUdevice_attribute which) const {
    int value = 0;
    driver_.device_attribute(&value, which, device_);
    return value;
  }
  int capabilities_units() const { return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
  Status checked(CUresult done, const char* what) const {
    if (done == CUDA_SUCCESS) [[likely]]
      return {};
    return fail(kind_of(done), fmt::format("{}: {}: {}", name(), what, driver_.describe(done)));
  }
  // What an error of the driver is called here. Remembers those after which the context is of no
  // more use.
  ErrorKind kind_of(CUresult done) const {
    switch (done) {
      case CUDA_ERROR_OUT_OF_MEMORY:
        return ErrorKind::out_of_memory;
      case CUDA_ERROR_ILLEGAL_ADDRESS:
      case CUDA_ERROR_MISALIGNED_ADDRESS:
      case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      case CUDA_ERROR_INVALID_PC:
      case CUDA_ERROR_HARDWARE_STACK_ERROR:
      case CUDA_ERROR_LAUNCH_FAILED:
      case CUDA_ERROR_LAUNCH_TIMEOUT:
      case CUDA_ERROR_ASSERT:
      case CUDA_ERROR_ECC_UNCORRECTABLE:
      case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        fault_.store(done, std::memory_order_relaxed);
        return ErrorKind::device_lost;
      default:
        return ErrorKind::launch_failed;
    }
  }
  Status unbroken() const {
    const CUresult fault = fault_.load(std::memory_order_relaxed);
    if (fault == CUDA_SUCCESS) return {};
    return fail(ErrorKind::device_lost, fmt::format("{}: of no more use to this process since {}",
                                                    name(), driver_.describe(fault)));
  }
  static Status not_ours() {
    return fail(ErrorKind::invalid_argument, "the event is not one of this device");
  }
  Result<std::unique_ptr<CudaEvent>> make_event() {
    CUevent event = nullptr;
    Status done = checked(driver_.event_create(&event, CU_EVENT_DEFAULT), "a new event");
    if (!done) return std::unexpected(std::move(done.error()));
    return std::make_unique<CudaEvent>(context_, event);
  }
  using GraphOwner =
      std::unique_ptr<std::remove_pointer_t<CUgraphExec>, decltype(&::cuGraphExecDestroy)>;
  // The calls of a row as a graph; null when they cannot be captured.
  GraphOwner captured(Stream stream, FunctionRef<Status()> row);
  // What holds streams back: on a thread of holder_.
  Result<std::shared_ptr<const Kernel>> hold_kernel();
  // Enqueues work between the two events of a timer, and what the device says of it afterwards.
  Status enqueue_timed(Stream stream, const CudaTimer& timer, FunctionRef<Status()> work) const;
  Result<double> time_of(const CudaTimer& timer) const;
  // The row behind a stream that is held back; nothing where that cannot be or was disturbed.
  std::optional<Result<double>> profile_held(Stream stream, CudaTimer& timer,
                                             FunctionRef<Status()> row, int calls);

  const std::shared_ptr<CudaContext> context_;
  const CudaDriver& driver_;
  const CUdevice device_;
  CUmemoryPool pool_ = nullptr;
  // The first error after which the driver refuses everything, or CUDA_SUCCESS.
  mutable std::atomic<CUresult> fault_{CUDA_SUCCESS};
  int capability_ = 0;
  std::uint32_t shared_bytes_ = 0;
  std::atomic<bool> made_graphs_{false};  // since their memory was given back
  CudaTimers timers_;
  StreamHolder holder_;  // goes first: its thread uses the others
};

Result<std::shared_ptr<const Kernel>> Cuda::do_load(const KernelSource& source,
                                                    std::string_view binary) {
  const CudaContext::Apart apart(*context_);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  // The driver finds the end by itself, so what is no ELF file must not reach it.
  constexpr std::string_view kElf =
      "\x7f"
      "ELF";
  if (!binary.starts_with(kElf) || binary.size() < 64) {
    return fail(ErrorKind::launch_failed, "kernel " + source.id.name + ": no cubin");
  }
  const std::string copy(binary);  // ends with a zero, whatever the cache gave
  CUresult done = driver_.module_load(&module, copy.data());
  if (done == CUDA_SUCCESS) {
    done = driver_.module_function(&function, module, "rooftune_kernel");
    if (done != CUDA_SUCCESS) driver_.module_unload(module);
  }
  if (done != CUDA_SUCCESS) {
    return std::unexpected(checked(done, ("kernel " + source.id.name).c_str()).error());
  }
  auto kernel = std::make_shared<CudaKernel>(source.id, context_, module, function);
  int fixed = 0;
  driver_.function_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  done = driver_.set_function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(shared_bytes_) - fixed);
  if (done != CUDA_SUCCESS) {
    return fail(kind_of(done),
                "kernel " + source.id.name + ": shared memory: " + driver_.describe(done));
  }
  return kernel;
}

Cuda::GraphOwner Cuda::captured(Stream stream, FunctionRef<Status()> row) {
  if (driver_.begin_capture(native(stream), CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) {
    return {nullptr, driver_.graph_exec_destroy};
  }
  const Status ran = row();
  CUgraph graph = nullptr;
  const CUresult ended = driver_.end_capture(native(stream), &graph);
  CUgraphExec executable = nullptr;
  if (ran && ended == CUDA_SUCCESS && graph != nullptr &&
      driver_.graph_instantiate(&executable, graph, 0) != CUDA_SUCCESS) {
    executable = nullptr;
  }
  if (graph != nullptr) driver_.graph_destroy(graph);
  made_graphs_.store(true, std::memory_order_relaxed);
  // A row that cannot be captured is run as it is: its own error then comes from there.
  return {executable, driver_.graph_exec_destroy};
}

Result<std::shared_ptr<const Kernel>> Cuda::hold_kernel() {
  const auto text = StreamHolder::kernel_text();
  if (!text) return std::unexpected(text.error());
  KernelSource source;
  source.id = {"hold", digest(*text), {}};
  source.text = *text;
  if (const auto binary = cached_binary(source.id)) {
    if (auto loaded = do_load(source, *binary)) return loaded;
  }
  auto built = do_build(source);
  if (!built) return std::unexpected(std::move(built.error()));
  keep_binary(source.id, built->binary);
  return std::move(built->kernel);
}

Status Cuda::enqueue_timed(Stream stream, const CudaTimer& timer,
                           FunctionRef<Status()> work) const {
  Status done = checked(driver_.event_record(timer.begin, native(stream)), "an event");
  if (done) done = work();
  if (done) done = checked(driver_.event_record(timer.end, native(stream)), "an event");
  return done;
}

Result<double> Cuda::time_of(const CudaTimer& timer) const {
  Status done = checked(driver_.event_synchronize(timer.end), "the work that was timed");
  if (!done) return std::unexpected(std::move(done.error()));
  float milliseconds = 0;
  done = checked(driver_.event_elapsed(&milliseconds, timer.begin, timer.end), "a time");
  if (!done) return std::unexpected(std::move(done.error()));
  const double seconds = double(milliseconds) * 1e-3;
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    return fail(ErrorKind::not_timed, fmt::format("the clock gave {} s", seconds));
  }
  return seconds;
}

std::optional<Result<double>> Cuda::profile_held(Stream stream, CudaTimer& timer,
                                                 FunctionRef<Status()> row, int calls) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver_.stream_capturing(native(stream), &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return std::nullopt;  // replayed, it would hold streams for a host that is gone
  }
  auto hold = holder_.hold(native(stream), timer, calls);
  if (!hold) return std::nullopt;
  Status done = enqueue_timed(stream, timer, row);
  hold->let_go();
  if (!done) {
    // The words are looked at until then.
    driver_.stream_synchronize(native(stream));
    return std::unexpected(std::move(done.error()));
  }
  auto seconds = time_of(timer);
  if (!seconds) return seconds;
  const bool late = hold->late();
  holder_.note(late);
  if (late) return std::nullopt;
  return seconds;
}

Result<double> Cuda::do_profile(Stream stream, FunctionRef<Status()> body, int repeats) {
  const CudaContext::Apart apart(*context_);
  const auto timer = timers_.take();
  if (!timer) return std::unexpected(checked(timer.error(), "a new event").error());
  const auto row = [&] {
    Status done;
    for (int i = 0; i < repeats && done; ++i) done = body();
    return done;
  };
  // Several short kernels in a row would be timed at the rate at which the host launches them; held
  // back or as a graph they follow each other at the rate of the device.
  const bool several = repeats > 1 && stream.native != 0;
  if (several) {
    if (auto held = profile_held(stream, **timer, row, repeats)) return *std::move(held);
  }
  // More nodes than this take longer to make than they run, and fill no gap that a thousand did
  // not.
  constexpr int kMostNodes = 1024;
  GraphOwner graph(nullptr, driver_.graph_exec_destroy);
  if (several && repeats <= kMostNodes) {
    graph = captured(stream, row);
    // To bring the graph to the device is not what is to be timed.
    if (graph != nullptr && driver_.graph_upload(graph.get(), native(stream)) != CUDA_SUCCESS) {
      graph.reset();
    }
  }
  const auto launch_graph = [&] {
    return checked(driver_.graph_launch(graph.get(), native(stream)), "a graph");
  };
  Status done = graph != nullptr ? enqueue_timed(stream, **timer, launch_graph)
                                 : enqueue_timed(stream, **timer, row);
  if (!done) return std::unexpected(std::move(done.error()));
  return time_of(**timer);
}

}  // namespace

Result<std::vector<CudaDevice>> CudaClient::list() {
  const auto driver = cuda_driver();
  if (!driver) return std::unexpected(driver.error());
  int count = 0;
  if (const CUresult done = (*driver)->device_count(&count); done != CUDA_SUCCESS) {
    return fail(ErrorKind::unsupported, (*driver)->describe(done));
  }
  if (count == 0) return fail(ErrorKind::unsupported, "the NVIDIA driver shows no device");
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    char name[256] = {};
    int major = 0, minor = 0;
    (*driver)->device_get(&device, i);
    (*driver)->device_name(name, sizeof name, device);
    (*driver)->device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    (*driver)->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    const int capability = major * 10 + minor;
    devices.push_back({name, capability, refusal_of(name, capability)});
  }
  return devices;
}

Result<std::shared_ptr<CudaClient>> CudaClient::make(int index) {
  const auto devices = list();
  if (!devices) return std::unexpected(devices.error());
  if (index < 0 || static_cast<std::size_t>(index) >= devices->size()) {
    return fail(
        ErrorKind::unsupported,
        fmt::format("there is no device cuda:{}: the driver shows {}", index, devices->size()));
  }
  const std::string& refusal = (*devices)[static_cast<std::size_t>(index)].refusal;
  if (!refusal.empty()) return fail(ErrorKind::unsupported, refusal);
  const CudaDriver& driver = **cuda_driver();
  CUdevice device = 0;
  if (const CUresult done = driver.device_get(&device, index); done != CUDA_SUCCESS) {
    return fail(ErrorKind::unsupported, driver.describe(done));
  }
  auto context = CudaContext::retain(driver, device);
  if (!context) return std::unexpected(context.error());
  auto client = std::make_shared<Cuda>(fmt::format("cuda:{}", index), *std::move(context), device);
  if (Status described = client->describe(); !described) {
    return std::unexpected(std::move(described.error()));
  }
  return client;
}

}  // namespace rooftune
