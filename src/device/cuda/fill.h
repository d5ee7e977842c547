// Patterns in device memory.
#ifndef ROOFTUNE_DEVICE_CUDA_FILL_H_
#define ROOFTUNE_DEVICE_CUDA_FILL_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cuda/driver.h"

namespace rooftune {

// A pattern of 1 to 16 bytes over and over, in the stream's order. Inside of the context.
CUresult cuda_fill(const CudaDriver& driver, CUstream stream, void* device,
                   std::span<const std::byte> pattern, std::uint64_t bytes);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_FILL_H_
