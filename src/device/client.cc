#include <fmt/format.h>

#include "base/clock.h"
#include "rooftune/device.h"

namespace rooftune {

Result<Buffer> Client::allocate(std::uint64_t bytes) {
  if (bytes == 0) return Buffer();
  const std::uint64_t most = capabilities_.max_allocation_bytes;
  if (most != 0 && bytes > most) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("{}: cannot allocate {} bytes: the device gives at most {} at once",
                            name_, bytes, most));
  }
  Result<std::shared_ptr<void>> memory = do_allocate(bytes);
  if (!memory) {
    return fail(memory.error().kind,
                fmt::format("{}: cannot allocate {} bytes: {}", name_, bytes, memory.error().text));
  }
  if (*memory == nullptr) {
    return fail(ErrorKind::out_of_memory,
                fmt::format("{}: cannot allocate {} bytes", name_, bytes));
  }
  allocated_->fetch_add(bytes, std::memory_order_relaxed);
  void* const address = memory->get();
  return Buffer(std::shared_ptr<void>(
                    address,
                    [held = *std::move(memory), counter = allocated_, bytes](void*) mutable {
                      held.reset();
                      counter->fetch_sub(bytes, std::memory_order_relaxed);
                    }),
                bytes);
}

Result<std::shared_ptr<const Kernel>> Client::compile(const KernelSource& source) {
  std::shared_ptr<TableEntry> entry;
  {
    const std::lock_guard lock(table_mutex_);
    std::shared_ptr<TableEntry>& slot = table_[source.id.digest()];
    if (slot == nullptr) slot = std::make_shared<TableEntry>();
    entry = slot;
  }
  // Outside the table's lock: only those who want this very kernel wait for it.
  std::call_once(entry->once, [&] { entry->kernel = build_or_load(source); });
  if (!entry->kernel && entry->kernel.error().kind == ErrorKind::out_of_memory) {
    // A shortage passes: the next who asks tries again.
    const std::lock_guard lock(table_mutex_);
    if (const auto found = table_.find(source.id.digest());
        found != table_.end() && found->second == entry) {
      table_.erase(found);
    }
  }
  return entry->kernel;
}

void Client::set_binary_cache(BinaryCache* cache) {
  const std::unique_lock lock(cache_mutex_);
  binary_cache_ = cache;
}

Result<std::shared_ptr<const Kernel>> Client::build_or_load(const KernelSource& source) {
  if (const auto binary = cached_binary(source.id)) {
    Result<std::shared_ptr<const Kernel>> loaded = do_load(source, *binary);
    if (loaded && *loaded != nullptr) return loaded;
    // A binary that does not load costs a compilation and nothing else: the cache is disposable.
  }

  const double begin_s = steady_now_s();
  Result<Built> built = do_build(source);
  // build_failed is the compiler's verdict; with any other error it never ran.
  const bool compiled = built ? built->compiled : built.error().kind == ErrorKind::build_failed;
  if (compiled) {
    compilations_.fetch_add(1, std::memory_order_relaxed);
    if (Subscriber* const subscriber = this->subscriber(); subscriber != nullptr) {
      subscriber->on_span({"compile", source.id.name, name_, begin_s, steady_now_s()});
    }
  }
  if (!built) return std::unexpected(std::move(built.error()));
  if (built->kernel == nullptr) {
    return fail(ErrorKind::internal,
                fmt::format("{}: building \"{}\" gave no kernel", name_, source.id.name));
  }
  if (!built->binary.empty()) keep_binary(source.id, built->binary);
  return std::move(built->kernel);
}

std::optional<std::string> Client::cached_binary(const KernelId& id) {
  const std::shared_lock lock(cache_mutex_);
  return binary_cache_ != nullptr ? binary_cache_->load(id) : std::nullopt;
}

void Client::keep_binary(const KernelId& id, std::string_view binary) {
  const std::shared_lock lock(cache_mutex_);
  if (binary_cache_ != nullptr) binary_cache_->save(id, binary);
}

Result<std::shared_ptr<const Kernel>> Client::do_load(const KernelSource& source,
                                                      std::string_view) {
  return fail(
      ErrorKind::unsupported,
      fmt::format("{}: kernels such as \"{}\" have no binary form here", name_, source.id.name));
}

namespace {

// The launches of one profile() on this thread, told to the subscriber when the clock has stopped.
// They may be nested and belong to several clients.
class LaunchTally {
 public:
  explicit LaunchTally(const Client* client) : client_(client), outer_(innermost) {
    innermost = this;
  }
  ~LaunchTally() { innermost = outer_; }
  LaunchTally(const LaunchTally&) = delete;
  LaunchTally& operator=(const LaunchTally&) = delete;

  static LaunchTally* of(const Client* client) {
    return innermost != nullptr && innermost->client_ == client ? innermost : nullptr;
  }

  // Where launches of this kernel are counted; null when there are more kernels than are kept
  // apart, and this launch is to be told of by itself.
  std::uint64_t* count_of(const Kernel* kernel) {
    for (int i = 0; i < used_; ++i) {
      if (kernels_[i] == kernel) return &counts_[i];
    }
    if (used_ == kMost) return nullptr;
    kernels_[used_] = kernel;
    return &counts_[used_++];
  }

  void report(Subscriber& subscriber, double begin_s) const {
    const double end_s = steady_now_s();
    for (int i = 0; i < used_; ++i) {
      if (counts_[i] == 0) continue;
      subscriber.on_span(
          {"launch", kernels_[i]->id().name, client_->name(), begin_s, end_s, counts_[i]});
    }
  }

 private:
  static constexpr int kMost = 8;  // a candidate is one kernel, or a few
  static thread_local LaunchTally* innermost;

  const Client* client_;
  LaunchTally* outer_;
  int used_ = 0;
  const Kernel* kernels_[kMost] = {};
  std::uint64_t counts_[kMost] = {};
};

thread_local LaunchTally* LaunchTally::innermost = nullptr;

}  // namespace

Result<double> Client::profile(Stream stream, FunctionRef<Status()> body, int repeats) {
  if (subscriber() == nullptr) return do_profile(stream, body, repeats);
  const LaunchTally tally(this);
  const double begin_s = steady_now_s();
  auto seconds = do_profile(stream, body, repeats);
  if (Subscriber* const subscriber = this->subscriber()) tally.report(*subscriber, begin_s);
  return seconds;
}

Status Client::observed_launch(Stream stream, const Launch& launch) {
  if (launch.kernel == nullptr) {
    return fail(ErrorKind::launch_failed, name_ + ": a launch without a kernel");
  }
  if (LaunchTally* const tally = LaunchTally::of(this)) {
    if (std::uint64_t* const count = tally->count_of(launch.kernel)) {
      Status status = do_launch(stream, launch);
      if (status) ++*count;
      return status;
    }
  }
  const double begin_s = steady_now_s();
  Status status = do_launch(stream, launch);
  // Spans count launches: one that was refused is none. The subscriber is asked for again, since
  // it may have gone while the kernel ran.
  if (Subscriber* const subscriber = this->subscriber(); status && subscriber != nullptr) {
    subscriber->on_span({"launch", launch.kernel->id().name, name_, begin_s, steady_now_s()});
  }
  return status;
}

}  // namespace rooftune
