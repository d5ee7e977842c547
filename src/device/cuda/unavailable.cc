// Built in place of the CUDA device where the toolkit's headers were not found.
#include "device/cuda/client.h"

namespace rooftune {
namespace {

constexpr const char* kReason =
    "this build has no CUDA device: cuda.h and nvrtc.h were not found when it was configured";

}  // namespace

Result<std::vector<CudaDevice>> CudaClient::list() { return fail(ErrorKind::unsupported, kReason); }

Result<std::shared_ptr<CudaClient>> CudaClient::make(int) {
  return fail(ErrorKind::unsupported, kReason);
}

}  // namespace rooftune
