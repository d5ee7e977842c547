#include <fmt/format.h>

#include "device/cuda/client.h"

namespace rooftune {

Status CudaClient::supports(const CudaDevice& device) {
  // The oldest devices that the kernels are written for have mma.sync, cp.async and ldmatrix.
  constexpr int kLeast = 80;
  if (device.capability >= kLeast) return {};
  return fail(
      ErrorKind::unsupported,
      fmt::format("{} has compute capability {}.{}; {}.{} is the least", device.name,
                  device.capability / 10, device.capability % 10, kLeast / 10, kLeast % 10));
}

}  // namespace rooftune
