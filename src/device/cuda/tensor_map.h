// The descriptor of a bulk tensor copy, for host code that does not see the toolkit's headers.
#ifndef ROOFTUNE_DEVICE_CUDA_TENSOR_MAP_H_
#define ROOFTUNE_DEVICE_CUDA_TENSOR_MAP_H_

#ifndef __CUDACC_RTC__
#include <array>
#include <cstdint>

#include "rooftune/dtype.h"
#endif

namespace rooftune {

// A CUtensorMap: passed by value inside a kernel's argument struct (__grid_constant__).
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

#ifndef __CUDACC_RTC__
// What cuTensorMapEncodeTiled is asked for. Axis 0 is the contiguous one.
struct TensorMapShape {
  DType dtype = DType::f32;
  bool tf32 = false;                             // f32 that the copy rounds to TF32
  int rank = 2;                                  // up to 5
  const void* address = nullptr;                 // 16-byte aligned
  std::array<std::uint64_t, 5> extents{};        // elements
  std::array<std::uint64_t, 4> strides_bytes{};  // of axes 1 ...; multiples of 16
  std::array<std::uint32_t, 5> box{};            // elements, at most 256 each
  int swizzle_bytes = 128;                       // 0, 32, 64 or 128: at least the bytes of box[0]
  int l2_promotion_bytes = 256;                  // 0, 64, 128 or 256
  bool operator==(const TensorMapShape&) const = default;
};
#endif

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_TENSOR_MAP_H_
