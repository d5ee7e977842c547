#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace rooftune {
namespace {

// Streams with no wish of their own are the legacy default stream, so no _ptsz names.
#define ROOFTUNE_TEXT_OF(name) #name
#define ROOFTUNE_TEXT(name) ROOFTUNE_TEXT_OF(name)

// The oldest driver that has every function below.
constexpr int kOldest = 12000;

Result<CudaDriver> load() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorKind::unsupported,
                "no NVIDIA driver: libcuda.so.1 cannot be loaded (is one installed?)");
  }
  CudaDriver driver{};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing += std::string(" ") + name;
  };
  // Each is a macro in cuda.h where it has a version, and expands to the symbol to look for.
  find(driver.init, ROOFTUNE_TEXT(cuInit));
  find(driver.driver_version, ROOFTUNE_TEXT(cuDriverGetVersion));
  if (!missing.empty()) {
    return fail(ErrorKind::unsupported, "libcuda.so.1 is no NVIDIA driver: it lacks" + missing);
  }
  if (driver.driver_version(&driver.version) != CUDA_SUCCESS || driver.version < kOldest) {
    return fail(ErrorKind::unsupported,
                fmt::format("the NVIDIA driver is too old: it is one of CUDA {}.{}, and {}.{} is "
                            "the oldest that will do",
                            driver.version / 1000, driver.version % 1000 / 10, kOldest / 1000,
                            kOldest % 1000 / 10));
  }
  find(driver.error_name, ROOFTUNE_TEXT(cuGetErrorName));
  find(driver.error_string, ROOFTUNE_TEXT(cuGetErrorString));
  find(driver.device_count, ROOFTUNE_TEXT(cuDeviceGetCount));
  find(driver.device_get, ROOFTUNE_TEXT(cuDeviceGet));
  find(driver.device_name, ROOFTUNE_TEXT(cuDeviceGetName));
  find(driver.device_attribute, ROOFTUNE_TEXT(cuDeviceGetAttribute));
  find(driver.device_memory, ROOFTUNE_TEXT(cuDeviceTotalMem));
  find(driver.primary_retain, ROOFTUNE_TEXT(cuDevicePrimaryCtxRetain));
  find(driver.primary_release, ROOFTUNE_TEXT(cuDevicePrimaryCtxRelease));
  find(driver.context_current, ROOFTUNE_TEXT(cuCtxGetCurrent));
  find(driver.context_push, ROOFTUNE_TEXT(cuCtxPushCurrent));
  find(driver.context_pop, ROOFTUNE_TEXT(cuCtxPopCurrent));
  find(driver.module_load, ROOFTUNE_TEXT(cuModuleLoadData));
  find(driver.module_unload, ROOFTUNE_TEXT(cuModuleUnload));
  find(driver.module_function, ROOFTUNE_TEXT(cuModuleGetFunction));
  find(driver.function_attribute, ROOFTUNE_TEXT(cuFuncGetAttribute));
  find(driver.set_function_attribute, ROOFTUNE_TEXT(cuFuncSetAttribute));
  find(driver.launch, ROOFTUNE_TEXT(cuLaunchKernel));
  find(driver.allocate, ROOFTUNE_TEXT(cuMemAlloc));
  find(driver.free, ROOFTUNE_TEXT(cuMemFree));
  find(driver.allocate_on_host, ROOFTUNE_TEXT(cuMemHostAlloc));
  find(driver.free_on_host, ROOFTUNE_TEXT(cuMemFreeHost));
  find(driver.host_memory_on_device, ROOFTUNE_TEXT(cuMemHostGetDevicePointer));
  find(driver.allocate_from_pool, ROOFTUNE_TEXT(cuMemAllocFromPoolAsync));
  find(driver.free_async, ROOFTUNE_TEXT(cuMemFreeAsync));
  find(driver.create_pool, ROOFTUNE_TEXT(cuMemPoolCreate));
  find(driver.destroy_pool, ROOFTUNE_TEXT(cuMemPoolDestroy));
  find(driver.set_pool_attribute, ROOFTUNE_TEXT(cuMemPoolSetAttribute));
  find(driver.copy_to_device, ROOFTUNE_TEXT(cuMemcpyHtoDAsync));
  find(driver.copy_to_host, ROOFTUNE_TEXT(cuMemcpyDtoHAsync));
  find(driver.copy_on_device, ROOFTUNE_TEXT(cuMemcpyDtoDAsync));
  find(driver.set_bytes, ROOFTUNE_TEXT(cuMemsetD8Async));
  find(driver.set_halves, ROOFTUNE_TEXT(cuMemsetD16Async));
  find(driver.set_words, ROOFTUNE_TEXT(cuMemsetD32Async));
  find(driver.set_columns, ROOFTUNE_TEXT(cuMemsetD2D32Async));
  find(driver.stream_create, ROOFTUNE_TEXT(cuStreamCreate));
  find(driver.stream_destroy, ROOFTUNE_TEXT(cuStreamDestroy));
  find(driver.stream_synchronize, ROOFTUNE_TEXT(cuStreamSynchronize));
  find(driver.stream_query, ROOFTUNE_TEXT(cuStreamQuery));
  find(driver.stream_wait, ROOFTUNE_TEXT(cuStreamWaitEvent));
  find(driver.stream_capturing, ROOFTUNE_TEXT(cuStreamIsCapturing));
  find(driver.begin_capture, ROOFTUNE_TEXT(cuStreamBeginCapture));
  find(driver.end_capture, ROOFTUNE_TEXT(cuStreamEndCapture));
  find(driver.exchange_capture_mode, ROOFTUNE_TEXT(cuThreadExchangeStreamCaptureMode));
  find(driver.graph_instantiate, ROOFTUNE_TEXT(cuGraphInstantiate));
  find(driver.graph_upload, ROOFTUNE_TEXT(cuGraphUpload));
  find(driver.graph_launch, ROOFTUNE_TEXT(cuGraphLaunch));
  find(driver.graph_exec_destroy, ROOFTUNE_TEXT(cuGraphExecDestroy));
  find(driver.graph_destroy, ROOFTUNE_TEXT(cuGraphDestroy));
  find(driver.trim_graph_memory, ROOFTUNE_TEXT(cuDeviceGraphMemTrim));
  find(driver.event_create, ROOFTUNE_TEXT(cuEventCreate));
  find(driver.event_destroy, ROOFTUNE_TEXT(cuEventDestroy));
  find(driver.event_record, ROOFTUNE_TEXT(cuEventRecord));
  find(driver.event_synchronize, ROOFTUNE_TEXT(cuEventSynchronize));
  // Not the version of 12.8, whose only difference are errors that older drivers do not know.
  find(driver.event_elapsed, "cuEventElapsedTime");
  find(driver.encode_tensor_map, ROOFTUNE_TEXT(cuTensorMapEncodeTiled));
  if (!missing.empty()) {
    return fail(ErrorKind::unsupported, "the NVIDIA driver lacks" + missing);
  }
  const CUresult ready = driver.init(0);
  if (ready != CUDA_SUCCESS) {
    return fail(ErrorKind::unsupported,
                "the NVIDIA driver cannot be used: " + driver.describe(ready));
  }
  return driver;
}

}  // namespace

std::string CudaDriver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(result, &name);
  error_string(result, &text);
  return fmt::format("{}: {}", name != nullptr ? name : fmt::format("error {}", int(result)),
                     text != nullptr ? text : "no description");
}

Result<const CudaDriver*> cuda_driver() {
  static const Result<CudaDriver> driver = load();
  if (!driver) return std::unexpected(driver.error());
  return &*driver;
}

}  // namespace rooftune
