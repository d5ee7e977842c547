#include "device/cuda/stream_holder.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/embedded.h"

namespace rooftune {

std::span<const EmbeddedFile> cuda_probe_sources();  // made by the build

namespace {

// More calls take longer to enqueue than anybody should wait for, and may be more launches than the
// driver has room for.
constexpr int kMostCalls = 128;

// A launch takes the host 2 to 3 us, and a call may be several. The constant part is what the host
// may lose to other threads without a loss of the row.
double most_seconds(int calls) { return 0.5e-3 + 10e-6 * calls; }

// No GPU of today is much faster; at a lower clock the bound is longer by as much.
constexpr double kCyclesPerSecond = 2e9;

constexpr int kLeastPenalty = 16, kMostPenalty = 4096;

}  // namespace

void StreamHolder::Hold::let_go() {
  if (timer_ == nullptr) return;
  std::atomic_ref(timer_->words->open).store(timer_->ticket, std::memory_order_release);
}

bool StreamHolder::Hold::late() const {
  return std::atomic_ref(timer_->words->late).load(std::memory_order_acquire) == timer_->ticket;
}

StreamHolder::~StreamHolder() {
  if (!thread_.joinable()) return;
  if (getpid() == owner_) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void StreamHolder::get_ready() {
  if (begun_.load(std::memory_order_relaxed) || begun_.exchange(true)) return;
  try {
    thread_ = std::thread([this] {
      auto kernel = build_();
      if (!kernel) return;  // rows are graphs then
      built_ = *std::move(kernel);
      kernel_.store(static_cast<const CudaKernel*>(built_.get()), std::memory_order_release);
    });
  } catch (const std::system_error&) {
    // No more threads.
  }
}

std::optional<StreamHolder::Hold> StreamHolder::hold(CUstream stream, CudaTimer& timer, int calls) {
  const CudaKernel* const kernel = kernel_.load(std::memory_order_acquire);
  if (kernel == nullptr || calls > kMostCalls || !timer.shares_words()) return std::nullopt;
  if (without_.load(std::memory_order_relaxed) > 0) {
    without_.fetch_sub(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  HoldArgs args{};
  args.words = std::bit_cast<HoldWords*>(timer.device_words);
  args.ticket = ++timer.ticket;
  args.most_cycles = static_cast<long long>(most_seconds(calls) * kCyclesPerSecond);
  void* parameters[] = {&args};
  // What refuses this launch will refuse the next one, and is told of there.
  if (timer.context->driver.launch(kernel->function, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                                   nullptr) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return Hold(timer);
}

void StreamHolder::note(bool late) {
  if (!late) {
    penalty_.store(0, std::memory_order_relaxed);
    return;
  }
  const int penalty =
      std::clamp(2 * penalty_.load(std::memory_order_relaxed), kLeastPenalty, kMostPenalty);
  penalty_.store(penalty, std::memory_order_relaxed);
  without_.store(penalty, std::memory_order_relaxed);
}

Result<std::string> StreamHolder::kernel_text() {
  return with_includes(cuda_probe_sources(), "device/cuda/hold.cu");
}

}  // namespace rooftune
