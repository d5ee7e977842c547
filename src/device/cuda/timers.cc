#include "device/cuda/timers.h"

#include <new>
#include <utility>

namespace rooftune {

CudaTimer::~CudaTimer() {
  const CudaContext::Apart apart(*context);
  if (begin != nullptr) context->driver.event_destroy(begin);
  if (end != nullptr) context->driver.event_destroy(end);
  if (words != nullptr) context->driver.free_on_host(words);
}

bool CudaTimer::shares_words() {
  if (std::exchange(asked_, true)) return words != nullptr;
  const CudaDriver& driver = context->driver;
  void* memory = nullptr;
  if (driver.allocate_on_host(&memory, sizeof(HoldWords), CU_MEMHOSTALLOC_DEVICEMAP) !=
      CUDA_SUCCESS) {
    return false;
  }
  if (driver.host_memory_on_device(&device_words, memory, 0) != CUDA_SUCCESS) {
    driver.free_on_host(memory);
    return false;
  }
  words = new (memory) HoldWords{};
  return true;
}

std::expected<std::unique_ptr<CudaTimer>, CUresult> CudaTimers::make() const {
  const CudaDriver& driver = context_->driver;
  auto timer = std::make_unique<CudaTimer>(context_);
  for (CUevent* event : {&timer->begin, &timer->end}) {
    if (const CUresult done = driver.event_create(event, CU_EVENT_DEFAULT); done != CUDA_SUCCESS) {
      return std::unexpected(done);
    }
  }
  return timer;
}

std::expected<CudaTimers::Taken, CUresult> CudaTimers::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Taken taken(free_.back().release(), {this});
      free_.pop_back();
      return taken;
    }
  }
  auto made = make();
  if (!made) return std::unexpected(made.error());
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(++made_);  // to give one back cannot fail
  }
  return Taken(made->release(), {this});
}

void CudaTimers::give_back(CudaTimer* timer) {
  std::unique_ptr<CudaTimer> owned(timer);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(owned));
}

}  // namespace rooftune
