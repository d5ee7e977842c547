// The CUDA driver (libcuda), loaded at run time: one program serves machines with and without it.
#ifndef ROOFTUNE_DEVICE_CUDA_DRIVER_H_
#define ROOFTUNE_DEVICE_CUDA_DRIVER_H_

#include <cuda.h>

#include <string>

#include "rooftune/error.h"

namespace rooftune {

// The functions that we call, under the driver's own names. Those with a version in their symbol
// are looked up with it, so that an old or new driver gives exactly what cuda.h declares.
struct CudaDriver {
  decltype(&::cuInit) init;
  decltype(&::cuDriverGetVersion) driver_version;
  decltype(&::cuGetErrorName) error_name;
  decltype(&::cuGetErrorString) error_string;
  decltype(&::cuDeviceGetCount) device_count;
  decltype(&::cuDeviceGet) device_get;
  decltype(&::cuDeviceGetName) device_name;
  decltype(&::cuDeviceGetAttribute) device_attribute;
  decltype(&::cuDeviceTotalMem) device_memory;
  decltype(&::cuDevicePrimaryCtxRetain) primary_retain;
  decltype(&::cuDevicePrimaryCtxRelease) primary_release;
  decltype(&::cuCtxGetCurrent) context_current;
  decltype(&::cuCtxPushCurrent) context_push;
  decltype(&::cuCtxPopCurrent) context_pop;
  decltype(&::cuModuleLoadData) module_load;
  decltype(&::cuModuleUnload) module_unload;
  decltype(&::cuModuleGetFunction) module_function;
  decltype(&::cuFuncGetAttribute) function_attribute;
  decltype(&::cuFuncSetAttribute) set_function_attribute;
  decltype(&::cuLaunchKernel) launch;
  decltype(&::cuMemAlloc) allocate;
  decltype(&::cuMemFree) free;
  decltype(&::cuMemHostAlloc) allocate_on_host;
  decltype(&::cuMemFreeHost) free_on_host;
  decltype(&::cuMemHostGetDevicePointer) host_memory_on_device;
  decltype(&::cuMemAllocFromPoolAsync) allocate_from_pool;
  decltype(&::cuMemFreeAsync) free_async;
  decltype(&::cuMemPoolCreate) create_pool;
  decltype(&::cuMemPoolDestroy) destroy_pool;
  decltype(&::cuMemPoolSetAttribute) set_pool_attribute;
  decltype(&::cuMemcpyHtoDAsync) copy_to_device;
  decltype(&::cuMemcpyDtoHAsync) copy_to_host;
  decltype(&::cuMemcpyDtoDAsync) copy_on_device;
  decltype(&::cuMemsetD8Async) set_bytes;
  decltype(&::cuMemsetD16Async) set_halves;
  decltype(&::cuMemsetD32Async) set_words;
  decltype(&::cuMemsetD2D32Async) set_columns;
  decltype(&::cuStreamCreate) stream_create;
  decltype(&::cuStreamDestroy) stream_destroy;
  decltype(&::cuStreamSynchronize) stream_synchronize;
  decltype(&::cuStreamQuery) stream_query;
  decltype(&::cuStreamWaitEvent) stream_wait;
  decltype(&::cuStreamIsCapturing) stream_capturing;
  decltype(&::cuStreamBeginCapture) begin_capture;
  decltype(&::cuStreamEndCapture) end_capture;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
  decltype(&::cuGraphInstantiate) graph_instantiate;
  decltype(&::cuGraphUpload) graph_upload;
  decltype(&::cuGraphLaunch) graph_launch;
  decltype(&::cuGraphExecDestroy) graph_exec_destroy;
  decltype(&::cuGraphDestroy) graph_destroy;
  decltype(&::cuDeviceGraphMemTrim) trim_graph_memory;
  decltype(&::cuEventCreate) event_create;
  decltype(&::cuEventDestroy) event_destroy;
  decltype(&::cuEventRecord) event_record;
  decltype(&::cuEventSynchronize) event_synchronize;
  decltype(&::cuEventElapsedTime) event_elapsed;
  decltype(&::cuTensorMapEncodeTiled) encode_tensor_map;

  int version = 0;  // 13000 is 13.0

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string describe(CUresult result) const;
};

// The driver of this process, loaded and initialised once. Errors: unsupported, with what is
// missing: no libcuda, a libcuda that is too old, no device, a device that does not answer.
Result<const CudaDriver*> cuda_driver();

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_DRIVER_H_
