#include "device/fake/fake_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/fake/fake_kernel.h"

namespace rooftune {
namespace {

struct FakeEvent : Event {
  FakeEvent(std::uintptr_t on, double at) : stream(on), at_s(at) {}
  std::uintptr_t stream;
  double at_s;
};

// A profile() in progress on this thread. They may be nested, and belong to several clients.
struct Frame {
  Frame(const Client* of, std::uintptr_t on);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Client* client;
  std::uintptr_t stream;
  double seconds = 0;
  FakeTiming timing = FakeTiming::honest;
  Frame* outer;
};

thread_local Frame* innermost = nullptr;

Frame::Frame(const Client* of, std::uintptr_t on) : client(of), stream(on), outer(innermost) {
  innermost = this;
}
Frame::~Frame() { innermost = outer; }

void count(const Client* client, Stream stream, double seconds, FakeTiming timing) {
  for (Frame* frame = innermost; frame != nullptr; frame = frame->outer) {
    if (frame->client != client || frame->stream != stream.native) continue;
    if (timing != FakeTiming::stands_still) frame->seconds += seconds;
    if (timing != FakeTiming::honest) frame->timing = timing;
  }
}

std::string binary_of(const KernelId& id) { return "rooftune fake binary " + id.digest(); }

}  // namespace

FakeClient::FakeClient(FakeScript script, std::string name)
    : Client(std::move(name)), script_(std::move(script)) {
  describe(script_.capabilities, Fingerprint(script_.fingerprint));
  streams_[0];
}

// ---------------------------------------------------------------------------------------------
// For tests

void FakeClient::set_behaviour(const std::string& kernel, FakeBehaviour behaviour) {
  auto shared = std::make_shared<const FakeBehaviour>(std::move(behaviour));
  const std::lock_guard lock(mutex_);
  state_locked(kernel).behaviour.swap(shared);
}

void FakeClient::advance(double seconds) {
  const std::lock_guard lock(mutex_);
  advance_locked(seconds);
}

void FakeClient::lose() {
  const std::lock_guard lock(mutex_);
  lost_ = true;
}

FakeClient::Counts FakeClient::counts(std::string_view kernel) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? Counts() : found->second.counts;
}

std::uint64_t FakeClient::launches() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const auto& [name, state] : kernels_) total += state.counts.launches;
  return total;
}

std::vector<FakeCall> FakeClient::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void FakeClient::clear_calls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

// ---------------------------------------------------------------------------------------------
// State

FakeClient::KernelState& FakeClient::state_locked(std::string_view kernel) {
  auto found = kernels_.find(kernel);
  if (found == kernels_.end()) {
    const auto scripted = script_.kernels.find(std::string(kernel));
    KernelState state;
    state.behaviour = std::make_shared<const FakeBehaviour>(
        scripted == script_.kernels.end() ? script_.otherwise : scripted->second);
    found = kernels_.emplace(kernel, std::move(state)).first;
  }
  return found->second;
}

Status FakeClient::usable_locked(Stream stream) const {
  if (lost_) return fail(ErrorKind::device_lost, name() + ": the device was lost");
  if (!streams_.contains(stream.native)) {
    return fail(ErrorKind::launch_failed,
                fmt::format("{}: there is no stream {}", name(), stream.native));
  }
  return {};
}

void FakeClient::advance_locked(double seconds) {
  // A scripted time may be anything; the clock itself never stops for good or runs backwards.
  if (std::isfinite(seconds) && seconds > 0) now_s_ += seconds;
}

void FakeClient::log_locked(FakeCall call) {
  if (calls_.size() < kLogLimit) calls_.push_back(std::move(call));
}

Status FakeClient::take_late_error_locked(Stream stream) {
  std::optional<Error>& late = streams_[stream.native];
  if (!late) return {};
  Error error = std::move(*late);
  late.reset();
  return std::unexpected(std::move(error));
}

double FakeClient::quantised(double seconds) const {
  const double step = script_.clock_step_s.value_or(script_.capabilities.clock_resolution_s);
  // The millionth keeps a sum that is a rounding error below a step from losing that step.
  return step > 0 ? std::floor(seconds / step + 1e-6) * step : seconds;
}

double FakeClient::shown_locked() const {
  return script_.clock_shows ? script_.clock_shows(now_s_) : now_s_;
}

double FakeClient::now_s() const {
  const std::lock_guard lock(mutex_);
  return shown_locked();
}

// ---------------------------------------------------------------------------------------------
// Memory

Result<std::shared_ptr<void>> FakeClient::do_allocate(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (Status usable = usable_locked({}); !usable) return std::unexpected(usable.error());
    const std::uint64_t index = allocations_++;
    if (script_.refuses_allocation && script_.refuses_allocation(index)) {
      return fail(ErrorKind::out_of_memory, "the script refuses it");
    }
  }
  return heap_->allocate(bytes, script_.capabilities.memory_bytes);
}

Status FakeClient::transfer(FakeCallKind kind, Stream stream, void* to, const void* from,
                            std::uint64_t bytes, std::span<const std::byte> pattern) {
  {
    const std::lock_guard lock(mutex_);
    if (Status usable = usable_locked(stream); !usable) return usable;
    if (kind == FakeCallKind::read) {
      if (Status status = take_late_error_locked(stream); !status) return status;
    }
  }
  for (const void* place : {static_cast<const void*>(to), from}) {
    if (place == nullptr && kind == FakeCallKind::fill) continue;
    if (Status inside = heap_->check(place, bytes); !inside) {
      inside.error().text = name() + ": " + inside.error().text;
      return inside;
    }
  }
  if (kind == FakeCallKind::fill) {
    // By doubling: a prober fills many megabytes, in pieces of a whole number of patterns.
    auto* const out = static_cast<std::byte*>(to);
    std::uint64_t done = std::min<std::uint64_t>(pattern.size(), bytes);
    std::copy_n(pattern.begin(), done, out);
    for (std::uint64_t piece = 0; done < bytes; done += piece) {
      piece = std::min(done, bytes - done);
      std::memcpy(out + done, out, piece);
    }
  } else if (bytes != 0) {
    std::memcpy(to, from, bytes);
  }
  const double rate = script_.transfer_bytes_per_s;
  const double seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0;
  count(this, stream, seconds, FakeTiming::honest);
  const std::lock_guard lock(mutex_);
  const double begin_s = now_s_;
  advance_locked(seconds);
  log_locked({kind, "", stream.native, true, begin_s, now_s_});
  return {};
}

Status FakeClient::write(Stream stream, void* device, const void* source, std::uint64_t bytes) {
  return transfer(FakeCallKind::write, stream, device, source, bytes, {});
}

Status FakeClient::read(Stream stream, void* destination, const void* device, std::uint64_t bytes) {
  return transfer(FakeCallKind::read, stream, destination, device, bytes, {});
}

Status FakeClient::fill(Stream stream, void* device, std::span<const std::byte> pattern,
                        std::uint64_t bytes) {
  if (pattern.empty() || pattern.size() > 16) {
    return fail(
        ErrorKind::invalid_argument,
        fmt::format("{}: a pattern has 1 to 16 bytes, this one {}", name(), pattern.size()));
  }
  if (device == nullptr && bytes != 0) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("{}: {} bytes at a null address", name(), bytes));
  }
  return transfer(FakeCallKind::fill, stream, device, nullptr, bytes, pattern);
}

// ---------------------------------------------------------------------------------------------
// Kernels

Result<Client::Built> FakeClient::do_build(const KernelSource& source) {
  std::shared_ptr<const FakeBehaviour> behaviour;
  {
    const std::lock_guard lock(mutex_);
    if (Status usable = usable_locked({}); !usable) return std::unexpected(usable.error());
    behaviour = state_locked(source.id.name).behaviour;
  }
  if (behaviour->build_gate) behaviour->build_gate->arrive_and_wait();
  {
    const std::lock_guard lock(mutex_);
    const double begin_s = now_s_;
    if (!behaviour->ahead_of_time) advance_locked(behaviour->compile_s);
    ++state_locked(source.id.name).counts.builds;
    log_locked({FakeCallKind::build, source.id.name, 0, !behaviour->build_error, begin_s, now_s_});
  }
  if (behaviour->build_error) return std::unexpected(*behaviour->build_error);
  Built built;
  built.kernel =
      std::make_shared<FakeKernel>(source.id, this, reinterpret_cast<FakeKernelFn>(source.entry));
  built.compiled = !behaviour->ahead_of_time;
  if (built.compiled) built.binary = binary_of(source.id);
  return built;
}

Result<std::shared_ptr<const Kernel>> FakeClient::do_load(const KernelSource& source,
                                                          std::string_view binary) {
  const std::lock_guard lock(mutex_);
  if (Status usable = usable_locked({}); !usable) return std::unexpected(usable.error());
  KernelState& state = state_locked(source.id.name);
  const bool good = binary == binary_of(source.id);
  const double begin_s = now_s_;
  if (good) {
    advance_locked(state.behaviour->load_s);
    ++state.counts.loads;
  }
  log_locked({FakeCallKind::load, source.id.name, 0, good, begin_s, now_s_});
  if (!good) {
    return fail(ErrorKind::build_failed,
                fmt::format("{}: not a binary of \"{}\"", name(), source.id.name));
  }
  return std::make_shared<FakeKernel>(source.id, this,
                                      reinterpret_cast<FakeKernelFn>(source.entry));
}

Status FakeClient::admit_locked(Stream stream, const Launch& launch, const FakeBehaviour& behaviour,
                                std::uint64_t index) {
  if (index >= behaviour.loses_device_at) lost_ = true;
  if (Status usable = usable_locked(stream); !usable) return usable;
  const auto refuse = [this](std::string why) {
    return fail(ErrorKind::launch_failed, name() + ": " + std::move(why));
  };
  const auto size = [](Dim3 d) {
    return static_cast<double>(d.x) * static_cast<double>(d.y) * static_cast<double>(d.z);
  };
  const Capabilities& limits = capabilities();
  if (size(launch.groups) == 0 || size(launch.group_size) == 0) {
    return refuse("a launch needs at least one group of one thread");
  }
  if (limits.max_threads_per_group != 0 &&
      size(launch.group_size) > static_cast<double>(limits.max_threads_per_group)) {
    return refuse(fmt::format("{} threads in a group, {} are allowed", size(launch.group_size),
                              limits.max_threads_per_group));
  }
  if (limits.shared_memory_bytes != 0 && launch.shared_bytes > limits.shared_memory_bytes) {
    return refuse(fmt::format("{} bytes of shared memory, {} are there", launch.shared_bytes,
                              limits.shared_memory_bytes));
  }
  if (behaviour.launch_error && index >= behaviour.fails_from && index < behaviour.fails_until) {
    return std::unexpected(*behaviour.launch_error);
  }
  if (behaviour.scratch_bytes != 0 && limits.memory_bytes != 0) {
    const std::uint64_t used = heap_->allocated_bytes();
    if (behaviour.scratch_bytes > limits.memory_bytes - std::min(used, limits.memory_bytes)) {
      return fail(ErrorKind::out_of_memory,
                  fmt::format("{}: no {} bytes of scratch memory: {} of {} bytes are in use",
                              name(), behaviour.scratch_bytes, used, limits.memory_bytes));
    }
  }
  return {};
}

double FakeClient::launch_seconds(const FakeKernel& kernel, const FakeLaunch& launch,
                                  const FakeBehaviour& behaviour) const {
  double seconds = behaviour.seconds;
  if (behaviour.seconds_of) {
    seconds = behaviour.seconds_of(launch);
  } else if (kernel.probe) {
    ProbeArgs args;
    if (launch.args != nullptr) std::memcpy(&args, launch.args, sizeof args);
    seconds = probe_seconds(script_.probes, kernel.probe->kind, kernel.probe->dtype,
                            capabilities().compute_units, args, launch.index);
  }
  seconds *= noise_factor(behaviour.noise, script_.seed, launch.kernel, launch.index);
  return script_.drift ? seconds * script_.drift(launch.now_s) : seconds;
}

Status FakeClient::do_launch(Stream stream, const Launch& launch) {
  const auto* const kernel = dynamic_cast<const FakeKernel*>(launch.kernel);
  if (kernel == nullptr || kernel->owner != this) {
    return fail(ErrorKind::launch_failed, name() + ": not a kernel of this device");
  }
  const std::string& kernel_name = kernel->id().name;
  std::shared_ptr<const FakeBehaviour> behaviour;
  FakeLaunch seen{.kernel = kernel_name,
                  .args = launch.args,
                  .groups = launch.groups,
                  .group_size = launch.group_size};
  {
    const std::lock_guard lock(mutex_);
    KernelState& state = state_locked(kernel_name);
    behaviour = state.behaviour;
    seen.index = state.counts.asked++;
    seen.now_s = now_s_;
    if (Status admitted = admit_locked(stream, launch, *behaviour, seen.index); !admitted) {
      log_locked({FakeCallKind::launch, kernel_name, stream.native, false, now_s_, now_s_});
      return admitted;
    }
  }
  if (behaviour->launch_gate) behaviour->launch_gate->arrive_and_wait();

  std::function<Status(const void*)> code = behaviour->entry;
  if (!code && kernel->code != nullptr) code = kernel->code;
  const Status status = run_fake_kernel(launch, *behaviour, code);
  const double seconds = launch_seconds(*kernel, seen, *behaviour);

  FakeTiming timing = behaviour->timing;
  if (kernel->probe && timing == FakeTiming::honest) {
    // A rate of zero or of no number at all is a lie that the clock has to tell.
    if (std::isnan(seconds)) timing = FakeTiming::nan;
    if (std::isinf(seconds)) timing = FakeTiming::infinite;
  }
  count(this, stream, seconds, timing);

  const std::lock_guard lock(mutex_);
  const double begin_s = now_s_;
  advance_locked(seconds);
  log_locked(
      {FakeCallKind::launch, kernel_name, stream.native, status.has_value(), begin_s, now_s_});
  if (status) ++state_locked(kernel_name).counts.launches;
  if (const auto found = streams_.find(stream.native);
      status && behaviour->late_error && found != streams_.end()) {
    found->second = behaviour->late_error;
  }
  return status;
}

Result<ProbeKernel> FakeClient::probe_kernel(ProbeKind kind, DType dtype) {
  const FakeProbes& probes = script_.probes;
  if ((kind == ProbeKind::compute && !probes.compute.contains(dtype)) ||
      (kind == ProbeKind::matrix && !probes.matrix.contains(dtype))) {
    return fail(ErrorKind::unsupported,
                fmt::format("{}: no {} units for {}", name(), to_string(kind), to_string(dtype)));
  }
  ProbeKernel probe;
  probe.operations_per_repeat = probe_operations(kind, capabilities().compute_units);
  if (kind != ProbeKind::launch) {
    probe.groups.x = static_cast<std::uint32_t>(std::max(1, capabilities().compute_units));
  }
  const std::lock_guard lock(mutex_);
  if (Status usable = usable_locked({}); !usable) return std::unexpected(usable.error());
  std::shared_ptr<const Kernel>& kernel = probes_[{kind, dtype}];
  if (kernel == nullptr) {
    KernelId id{.name = fmt::format("probe_{}_{}", to_string(kind), to_string(dtype)),
                .source_hash = "fake",
                .parameters = std::string(to_string(dtype))};
    // A script may name a probe kernel, to have it fail; `otherwise` is about the other kernels.
    if (!script_.kernels.contains(id.name) && !kernels_.contains(id.name)) {
      kernels_[id.name].behaviour = std::make_shared<const FakeBehaviour>();
    }
    kernel =
        std::make_shared<const FakeKernel>(std::move(id), this, nullptr, FakeProbe{kind, dtype});
  }
  probe.kernel = kernel;
  return probe;
}

// ---------------------------------------------------------------------------------------------
// Order and time

Result<Stream> FakeClient::create_stream() {
  const std::lock_guard lock(mutex_);
  if (Status usable = usable_locked({}); !usable) return std::unexpected(usable.error());
  streams_[++last_stream_];
  return Stream{last_stream_};
}

void FakeClient::destroy_stream(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (stream.native != 0) streams_.erase(stream.native);
}

Status FakeClient::synchronize(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (Status usable = usable_locked(stream); !usable) return usable;
  log_locked({FakeCallKind::synchronize, "", stream.native, true, now_s_, now_s_});
  return take_late_error_locked(stream);
}

bool FakeClient::busy(Stream) {
  const std::lock_guard lock(mutex_);
  advance_locked(1e-6);
  return script_.busy && script_.busy(now_s_);
}

Result<std::unique_ptr<Event>> FakeClient::record(Stream stream) {
  const std::lock_guard lock(mutex_);
  if (Status usable = usable_locked(stream); !usable) return std::unexpected(usable.error());
  return std::make_unique<FakeEvent>(stream.native, shown_locked());
}

Status FakeClient::wait(const Event& event) {
  const auto* const fake = dynamic_cast<const FakeEvent*>(&event);
  if (fake == nullptr) {
    return fail(ErrorKind::invalid_argument, name() + ": not an event of this device");
  }
  const std::lock_guard lock(mutex_);
  if (lost_) return usable_locked({});
  // The stream may be gone by now; then there is nothing left to wait for.
  return streams_.contains(fake->stream) ? take_late_error_locked({fake->stream}) : Status();
}

Status FakeClient::wait(Stream stream, const Event& event) {
  if (dynamic_cast<const FakeEvent*>(&event) == nullptr) {
    return fail(ErrorKind::invalid_argument, name() + ": not an event of this device");
  }
  const std::lock_guard lock(mutex_);
  return usable_locked(stream);  // the work before the event is done already
}

Result<double> FakeClient::elapsed_s(const Event& from, const Event& to) {
  const auto* const begin = dynamic_cast<const FakeEvent*>(&from);
  const auto* const end = dynamic_cast<const FakeEvent*>(&to);
  if (begin == nullptr || end == nullptr) {
    return fail(ErrorKind::invalid_argument, name() + ": not events of this device");
  }
  return quantised(end->at_s - begin->at_s);
}

Result<double> FakeClient::do_profile(Stream stream, FunctionRef<Status()> body, int repeats) {
  if (repeats < 1) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("{}: cannot profile {} repeats", name(), repeats));
  }
  {
    const std::lock_guard lock(mutex_);
    if (Status usable = usable_locked(stream); !usable) return std::unexpected(usable.error());
  }
  Frame frame(this, stream.native);
  for (int i = 0; i < repeats; ++i) {
    if (Status status = body(); !status) return std::unexpected(std::move(status.error()));
  }
  {
    const std::lock_guard lock(mutex_);
    if (Status usable = usable_locked(stream); !usable) return std::unexpected(usable.error());
    if (Status late = take_late_error_locked(stream); !late) {
      return std::unexpected(std::move(late.error()));
    }
  }
  const double seconds = quantised(frame.seconds);
  switch (frame.timing) {
    case FakeTiming::zero:
      return 0.0;
    case FakeTiming::negative:
      return -1e-6;
    case FakeTiming::nan:
      return std::numeric_limits<double>::quiet_NaN();
    case FakeTiming::infinite:
      return std::numeric_limits<double>::infinity();
    case FakeTiming::error:
      return fail(ErrorKind::not_timed, name() + ": the clock failed");
    case FakeTiming::stands_still:
    case FakeTiming::honest:
      break;
  }
  if (!std::isfinite(seconds) || seconds <= 0) {
    return fail(ErrorKind::not_timed,
                fmt::format("{}: the clock gave {} s for {} repeats", name(), seconds, repeats));
  }
  return seconds;
}

}  // namespace rooftune
