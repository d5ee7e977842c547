// The primary context of a CUDA device, and what lives in it: kernels and events.
#ifndef ROOFTUNE_DEVICE_CUDA_CONTEXT_H_
#define ROOFTUNE_DEVICE_CUDA_CONTEXT_H_

#include <atomic>
#include <bit>
#include <memory>
#include <utility>

#include "device/cuda/driver.h"
#include "device/cuda/tensor_map.h"
#include "rooftune/device.h"

namespace rooftune {

inline CUstream native(Stream stream) { return std::bit_cast<CUstream>(stream.native); }
inline CUdeviceptr pointer(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

// The primary context of a device, held while anybody needs it: the client, its buffers, kernels
// and events. Everything that the driver is asked for happens inside of a Scope.
class CudaContext {
 public:
  static Result<std::shared_ptr<CudaContext>> retain(const CudaDriver& driver, CUdevice device) {
    CUcontext handle = nullptr;
    if (const CUresult done = driver.primary_retain(&handle, device); done != CUDA_SUCCESS) {
      return fail(ErrorKind::unsupported, "the device cannot be used: " + driver.describe(done));
    }
    return std::shared_ptr<CudaContext>(new CudaContext(driver, device, handle));
  }
  ~CudaContext() { driver.primary_release(device_); }
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  // Makes the context that of this thread, and gives the thread back its own.
  class Scope {
   public:
    explicit Scope(const CudaContext& context) : driver_(context.driver) {
      CUcontext current = nullptr;
      driver_.context_current(&current);
      pushed_ = current != context.handle_;
      if (pushed_) driver_.context_push(context.handle_);
    }
    ~Scope() {
      CUcontext popped = nullptr;
      if (pushed_) driver_.context_pop(&popped);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const CudaDriver& driver_;
    bool pushed_ = false;
  };

  // Driver calls that may synchronise are forbidden while a stream is captured, which they would
  // spoil, unless the thread says that it means them.
  class Relaxed {
   public:
    explicit Relaxed(const CudaContext& context) : driver_(context.driver) {
      driver_.exchange_capture_mode(&mode_);
    }
    ~Relaxed() { driver_.exchange_capture_mode(&mode_); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

   private:
    const CudaDriver& driver_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  };

  // Both: for what an application must not notice while it captures.
  class Apart {
   public:
    explicit Apart(const CudaContext& context) : scope_(context), relaxed_(context) {}

   private:
    const Scope scope_;
    const Relaxed relaxed_;
  };

  const CudaDriver& driver;

 private:
  CudaContext(const CudaDriver& the_driver, CUdevice device, CUcontext handle)
      : driver(the_driver), device_(device), handle_(handle) {}
  const CUdevice device_;
  const CUcontext handle_;
};

class CudaKernel final : public Kernel {
 public:
  CudaKernel(KernelId id, std::shared_ptr<CudaContext> context, CUmodule module, CUfunction entry)
      : Kernel(std::move(id)), function(entry), context_(std::move(context)), module_(module) {}
  ~CudaKernel() override {
    const CudaContext::Apart apart(*context_);
    context_->driver.module_unload(module_);
  }
  const CUfunction function;
  mutable std::atomic<bool> launched{false};  // once at least

 private:
  const std::shared_ptr<CudaContext> context_;
  const CUmodule module_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(std::shared_ptr<CudaContext> context, CUevent handle)
      : event(handle), context_(std::move(context)) {}
  ~CudaEvent() override {
    const CudaContext::Apart apart(*context_);
    context_->driver.event_destroy(event);
  }
  const CUevent event;

 private:
  const std::shared_ptr<CudaContext> context_;
};

// CudaClient::encode.
Status encode_tensor_map(const CudaContext& context, const TensorMapShape& shape, TensorMap& map);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_CONTEXT_H_
