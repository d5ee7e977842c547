// What rows of launches are timed with, kept from one to the next: to make events, and memory that
// host and device share, takes longer than short rows.
#ifndef ROOFTUNE_DEVICE_CUDA_TIMERS_H_
#define ROOFTUNE_DEVICE_CUDA_TIMERS_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cuda/context.h"
#include "device/cuda/hold_args.h"

namespace rooftune {

// For one row at a time.
struct CudaTimer {
  explicit CudaTimer(std::shared_ptr<CudaContext> its_context) : context(std::move(its_context)) {}
  ~CudaTimer();
  CudaTimer(const CudaTimer&) = delete;
  CudaTimer& operator=(const CudaTimer&) = delete;

  // Makes the words when they are first wanted. False where the device cannot see the host's
  // memory, or there is none.
  bool shares_words();

  const std::shared_ptr<CudaContext> context;
  CUevent begin = nullptr, end = nullptr;
  HoldWords* words = nullptr;
  CUdeviceptr device_words = 0;  // the same memory
  std::uint32_t ticket = 0;      // of the last hold

 private:
  bool asked_ = false;  // for the words
};

// Usable from any thread, inside of the context. The work that its timers are part of is done
// before it goes.
class CudaTimers {
 public:
  // Gives a timer back. One whose row failed may be part of work that still goes on: its events are
  // recorded anew, and its tickets are others, so that nobody notices.
  struct GiveBack {
    CudaTimers* owner = nullptr;
    void operator()(CudaTimer* timer) const { owner->give_back(timer); }
  };
  using Taken = std::unique_ptr<CudaTimer, GiveBack>;

  explicit CudaTimers(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}

  // One that nobody else has until it is given back. Errors: the driver's.
  std::expected<Taken, CUresult> take();

 private:
  std::expected<std::unique_ptr<CudaTimer>, CUresult> make() const;
  void give_back(CudaTimer* timer);

  const std::shared_ptr<CudaContext> context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CudaTimer>> free_;
  std::size_t made_ = 0;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_TIMERS_H_
