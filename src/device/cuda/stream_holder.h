// Rows of short launches at the rate of the device: the stream is held back by a kernel that waits,
// while the host enqueues what is to be timed behind it.
//
// As a graph the launches would follow each other as closely, but making one takes longer than most
// rows run. The kernel looks at a word in the host's memory and does not wait for ever: where the
// host synchronises, or is kept from enqueuing, the row was disturbed, and this is known.
#ifndef ROOFTUNE_DEVICE_CUDA_STREAM_HOLDER_H_
#define ROOFTUNE_DEVICE_CUDA_STREAM_HOLDER_H_

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "device/cuda/context.h"
#include "device/cuda/timers.h"

namespace rooftune {

// Usable from any thread.
class StreamHolder {
 public:
  using Build = std::function<Result<std::shared_ptr<const Kernel>>()>;

  // A stream that is held back, until this goes at the latest.
  class Hold {
   public:
    explicit Hold(CudaTimer& timer) : timer_(&timer) {}
    ~Hold() { let_go(); }
    Hold(Hold&& other) noexcept : timer_(std::exchange(other.timer_, nullptr)) {}
    Hold& operator=(Hold&&) = delete;
    void let_go();
    // The stream went on before it was let go. To be asked when what lies behind is done.
    bool late() const;

   private:
    CudaTimer* timer_;
  };

  // `build` makes the kernel of kernel_source(), on a thread of this object.
  explicit StreamHolder(Build build) : build_(std::move(build)), owner_(getpid()) {}
  // Waits for a build in progress.
  ~StreamHolder();

  // Begins to build, once, and returns: until the kernel is there nothing can be held.
  void get_ready();

  // Holds a stream back for as long as it takes to enqueue so many calls; nothing where that cannot
  // be done now, or did not do any good lately. Inside of the context. Another's capture of the
  // stream must not be going on.
  std::optional<Hold> hold(CUstream stream, CudaTimer& timer, int calls);
  // How it went. Who is late is likely to be so again: others have to do without for a while.
  void note(bool late);

  // Errors: internal, where the program lacks the file.
  static Result<std::string> kernel_text();

 private:
  const Build build_;
  const pid_t owner_;  // the child of a fork has no thread to wait for
  std::atomic<bool> begun_{false};
  std::shared_ptr<const Kernel> built_;             // before it is published
  std::atomic<const CudaKernel*> kernel_{nullptr};  // in built_
  std::atomic<int> without_{0};                     // rows that do without, from now on
  std::atomic<int> penalty_{0};                     // of the last one that was late
  std::thread thread_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_STREAM_HOLDER_H_
