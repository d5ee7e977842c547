// A libcuda.so.1 that needs no GPU. Memory is that of the host, kernels are launched and do
// nothing, and what goes wrong is named by the variable STUB_CUDA:
//   old          the driver is one of CUDA 11.4
//   no_init      cuInit() fails
//   no_device    there is no device: cuInit() says so, as NVIDIA's does
//   empty        cuInit() succeeds and shows no device
//   old_gpu      the device has compute capability 7.5
//   no_context   the device is there and gives no context
//   no_memory    memory cannot be allocated
//   little       there are 64 KiB of it
//   no_image     compiled kernels are refused
//   refuses      launches are refused
//   faults       the first kernel faults: whatever the driver is asked for after that is refused
//   works        nothing
// Compiled with STUB_CUDA_LACKS, it lacks two functions.
//
// The one kernel that it knows is that which holds a stream back, by its block of one thread: who
// waits for what lies behind it before it was let go waits until its time is over.
//
// A test that has loaded it may ask how often a function was called: stub_calls("cuLaunchKernel").
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/hold_args.h"

// cuda.h may rename it to a later form, which we do not use.
#undef cuEventElapsedTime

struct CUctx_st {};
struct CUmod_st {};
struct CUfunc_st {};
struct CUgraph_st {};
struct CUgraphExec_st {};
struct CUmemPoolHandle_st {};
struct CUstream_st {
  bool captured = false;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point at;
};

namespace {

bool is(std::string_view behaviour) {
  const char* const asked = std::getenv("STUB_CUDA");
  return asked != nullptr && asked == behaviour;
}

CUctx_st the_context;
CUmod_st the_module;
CUfunc_st the_function;
CUmemPoolHandle_st the_pool;
CUstream_st default_stream;
thread_local std::vector<CUcontext> contexts;

// What every call gives once a kernel has faulted.
std::atomic<CUresult> fault = CUDA_SUCCESS;

std::mutex memory_mutex;
std::map<CUdeviceptr, std::size_t> memory;
std::size_t memory_used = 0;

CUstream_st& of(CUstream stream) { return stream == nullptr ? default_stream : *stream; }

std::mutex calls_mutex;
std::map<std::string, std::uint64_t, std::less<>> calls;

// What holds a stream back and was not waited for yet.
std::mutex hold_mutex;
rooftune::HoldArgs hold = {};

// Nobody lets go who waits.
void wait_for_hold() {
  const std::lock_guard lock(hold_mutex);
  if (hold.words != nullptr && hold.words->open != hold.ticket) hold.words->late = hold.ticket;
  hold = {};
}

// The answer to a call that needs the context; who calls is counted.
CUresult answer(const char* who = __builtin_FUNCTION()) {
  {
    const std::lock_guard lock(calls_mutex);
    ++calls[who];
  }
  if (fault != CUDA_SUCCESS) return fault;
  return contexts.empty() || contexts.back() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* where, std::size_t bytes, const char* who = __builtin_FUNCTION()) {
  if (const CUresult done = answer(who); done != CUDA_SUCCESS) return done;
  constexpr std::size_t kAlignment = 256;  // the driver's
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(memory_mutex);
  const std::size_t most = is("no_memory") ? 0 : is("little") ? 64 << 10 : 1 << 30;
  if (bytes > most - memory_used) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const got = std::aligned_alloc(kAlignment, bytes);
  if (got == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *where = reinterpret_cast<CUdeviceptr>(got);
  memory[*where] = bytes;
  memory_used += bytes;
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr where, const char* who = __builtin_FUNCTION()) {
  const std::lock_guard lock(memory_mutex);
  const auto found = memory.find(where);
  if (found == memory.end()) return CUDA_ERROR_INVALID_VALUE;
  memory_used -= found->second;
  memory.erase(found);
  std::free(reinterpret_cast<void*>(where));
  return answer(who);
}

CUresult copy(void* to, const void* from, std::size_t bytes,
              const char* who = __builtin_FUNCTION()) {
  if (const CUresult done = answer(who); done != CUDA_SUCCESS) return done;
  std::memmove(to, from, bytes);
  return CUDA_SUCCESS;
}

template <class T>
CUresult set(CUdeviceptr where, T value, std::size_t count,
             const char* who = __builtin_FUNCTION()) {
  if (const CUresult done = answer(who); done != CUDA_SUCCESS) return done;
  auto* const elements = reinterpret_cast<T*>(where);
  for (std::size_t i = 0; i < count; ++i) elements[i] = value;
  return CUDA_SUCCESS;
}

template <class T>
CUresult make(T** handle, const char* who = __builtin_FUNCTION()) {
  const CUresult done = answer(who);
  if (done == CUDA_SUCCESS) *handle = new T;
  return done;
}

template <class T>
CUresult destroy(T* handle, const char* who = __builtin_FUNCTION()) {
  delete handle;
  return answer(who);
}

struct Named {
  CUresult result;
  const char* name;
  const char* text;
};
constexpr Named kNamed[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

const Named* named(CUresult result) {
  for (const Named& one : kNamed) {
    if (one.result == result) return &one;
  }
  return nullptr;
}

}  // namespace

extern "C" {

std::uint64_t stub_calls(const char* function) {
  const std::lock_guard lock(calls_mutex);
  const auto found = calls.find(function);
  return found == calls.end() ? 0 : found->second;
}

CUresult cuInit(unsigned int) {
  if (is("no_init")) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  return is("no_device") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = is("old") ? 11040 : 13000;
  return CUDA_SUCCESS;
}
// As the driver does, both give null for a number that it does not know.
CUresult cuGetErrorName(CUresult result, const char** name) {
  const Named* const known = named(result);
  *name = known != nullptr ? known->name : nullptr;
  return known != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult result, const char** text) {
  const Named* const known = named(result);
  *text = known != nullptr ? known->text : nullptr;
  return known != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int* count) {
  *count = is("empty") ? 0 : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  if (index != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Stub GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = is("old_gpu") ? 7 : 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = is("old_gpu") ? 5 : 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 1 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  if (is("no_context")) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  *context = &the_context;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
  *pool = &the_pool;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool) { return CUDA_SUCCESS; }
CUresult cuDeviceGraphMemTrim(CUdevice) { return answer(); }
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  if (is("no_image")) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  *module = &the_module;
  return answer();
}
CUresult cuModuleUnload(CUmodule) { return answer(); }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = &the_function;
  return answer();
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return answer();
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return answer(); }
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned threads, unsigned,
                        unsigned, unsigned, CUstream, void** parameters, void**) {
  const CUresult done = answer();
  if (done == CUDA_SUCCESS && is("refuses")) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (done == CUDA_SUCCESS && threads == 1) {
    const std::lock_guard lock(hold_mutex);
    hold = *static_cast<const rooftune::HoldArgs*>(parameters[0]);
    return done;
  }
  // The launch itself is over before the kernel does what it must not.
  if (is("faults")) fault = CUDA_ERROR_ILLEGAL_ADDRESS;
  return done;
}

CUresult cuMemAlloc(CUdeviceptr* where, std::size_t bytes) { return allocate(where, bytes); }
CUresult cuMemFree(CUdeviceptr where) { return release(where); }
CUresult cuMemHostAlloc(void** where, std::size_t bytes, unsigned) {
  *where = std::calloc(1, bytes);
  return answer();
}
CUresult cuMemFreeHost(void* where) {
  std::free(where);
  return answer();
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr* on_device, void* where, unsigned) {
  *on_device = reinterpret_cast<CUdeviceptr>(where);
  return answer();
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* where, std::size_t bytes, CUmemoryPool, CUstream) {
  return allocate(where, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr where, CUstream) { return release(where); }
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  return copy(reinterpret_cast<void*>(to), from, bytes);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy(to, reinterpret_cast<const void*>(from), bytes);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}
CUresult cuMemsetD8Async(CUdeviceptr where, unsigned char value, std::size_t count, CUstream) {
  return set(where, value, count);
}
CUresult cuMemsetD16Async(CUdeviceptr where, unsigned short value, std::size_t count, CUstream) {
  return set(where, value, count);
}
CUresult cuMemsetD32Async(CUdeviceptr where, unsigned value, std::size_t count, CUstream) {
  return set(where, value, count);
}
CUresult cuMemsetD2D32Async(CUdeviceptr where, std::size_t pitch, unsigned value, std::size_t width,
                            std::size_t height, CUstream) {
  CUresult done = answer();
  for (std::size_t row = 0; row < height && done == CUDA_SUCCESS; ++row) {
    done = set(where + row * pitch, value, width);
  }
  return done;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return make(stream); }
CUresult cuStreamDestroy(CUstream stream) { return destroy(stream); }
CUresult cuStreamSynchronize(CUstream) {
  wait_for_hold();
  return answer();
}
CUresult cuStreamQuery(CUstream) { return answer(); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return answer(); }
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  of(stream).captured = true;
  return answer();
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  of(stream).captured = false;
  return make(graph);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return answer(); }
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph, unsigned long long) {
  return make(executable);
}
CUresult cuGraphLaunch(CUgraphExec, CUstream) { return answer(); }
CUresult cuGraphExecDestroy(CUgraphExec executable) { return destroy(executable); }
CUresult cuGraphDestroy(CUgraph graph) { return destroy(graph); }
#ifndef STUB_CUDA_LACKS
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = of(stream).captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return answer();
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return answer(); }
#endif

CUresult cuEventCreate(CUevent* event, unsigned) { return make(event); }
CUresult cuEventDestroy(CUevent event) { return destroy(event); }
CUresult cuEventRecord(CUevent event, CUstream) {
  // The clock of this device goes on at every event, however coarse that of the host is.
  static std::atomic<int> ticks = 0;
  event->at = std::chrono::steady_clock::now() + std::chrono::microseconds(++ticks);
  return answer();
}
CUresult cuEventSynchronize(CUevent) {
  wait_for_hold();
  return answer();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return answer();
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  *map = {};
  return answer();
}

}  // extern "C"
