#include "ops/matmul/rivals/cublaslt_api.h"

#include <type_traits>

#include "fmt/format.h"

namespace rooftune::rivals {
namespace {

// Looks functions up and remembers the first that is missing.
class Finder {
 public:
  explicit Finder(const Library& library) : library_(library) {}

  template <class F>
  void operator()(F& function, const char* name) {
    function = library_.find<F>(name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  Status status() const {
    if (missing_.empty()) return {};
    return fail(ErrorKind::unsupported, fmt::format("{} has no {}", library_.file(), missing_));
  }

 private:
  const Library& library_;
  std::string missing_;
};

}  // namespace

Result<LtApi> LtApi::find_in(const Library& library) {
  LtApi api;
  Finder find(library);
  find(api.version, "cublasLtGetVersion");
  find(api.status_name, "cublasLtGetStatusName");
  find(api.create, "cublasLtCreate");
  find(api.destroy, "cublasLtDestroy");
  find(api.desc_create, "cublasLtMatmulDescCreate");
  find(api.desc_destroy, "cublasLtMatmulDescDestroy");
  find(api.desc_set, "cublasLtMatmulDescSetAttribute");
  find(api.layout_create, "cublasLtMatrixLayoutCreate");
  find(api.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(api.layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(api.preference_create, "cublasLtMatmulPreferenceCreate");
  find(api.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  find(api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(api.matmul, "cublasLtMatmul");
  if (Status whole = find.status(); !whole) return std::unexpected(whole.error());
  return api;
}

std::string LtApi::describe(int status) const {
  const char* name = status_name(status);
  return fmt::format("{} ({})", name == nullptr ? "an unknown status" : name, status);
}

Result<CudaContext> CudaContext::of(const void* memory) {
  constexpr int kDeviceOrdinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  const auto driver = Library::load("libcuda.so.1", {});
  if (!driver) {
    return fail(ErrorKind::unsupported, "there is no CUDA driver: " + driver.error().text);
  }
  CudaContext context;
  Finder find(*driver);
  find(context.pointer_attribute_, "cuPointerGetAttribute");
  find(context.retain_, "cuDevicePrimaryCtxRetain");
  find(context.current_, "cuCtxGetCurrent");
  find(context.push_, "cuCtxPushCurrent_v2");
  find(context.pop_, "cuCtxPopCurrent_v2");
  if (Status whole = find.status(); !whole) return std::unexpected(whole.error());
  int device = 0;
  int result =
      context.pointer_attribute_(&device, kDeviceOrdinal, reinterpret_cast<std::uintptr_t>(memory));
  if (result == 0) result = context.retain_(&context.context_, device);
  if (result == 0) return context;
  return fail(ErrorKind::unsupported,
              fmt::format("the CUDA driver gives no context of the device (error {})", result));
}

CudaContext::Scope::Scope(const CudaContext& context) : context_(context) {
  if (context.context_ == nullptr) return;
  void* current = nullptr;
  if (context.current_(&current) == 0 && current == context.context_) return;
  pushed_ = context.push_(context.context_) == 0;
}

CudaContext::Scope::~Scope() {
  void* popped = nullptr;
  if (pushed_) context_.pop_(&popped);
}

}  // namespace rooftune::rivals
