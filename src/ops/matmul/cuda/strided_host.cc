#include "ops/matmul/cuda/strided_host.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "ops/matmul/cuda/layout.h"

namespace rooftune {
namespace {

CudaVariant bits_of(DType a, DType b, DType c) {
  return static_cast<CudaVariant>(a) | static_cast<CudaVariant>(b) << 4 |
         static_cast<CudaVariant>(c) << 8;
}

bool is_aligned(const void* address, DType type) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size_of(type)) ==
         0;
}

}  // namespace

StridedArgs strided_args(const GemmArgs& args) {
  StridedArgs device{};
  device.a = args.a;
  device.b = args.b;
  device.c = args.c;
  device.m = args.m;
  device.n = args.n;
  device.k = args.k;
  device.a_row = args.a_row;
  device.a_col = args.a_col;
  device.b_row = args.b_row;
  device.b_col = args.b_col;
  device.c_row = args.c_row;
  device.c_col = args.c_col;
  device.alpha = args.alpha;
  device.beta = args.beta;
  device.batch = args.batch;
  device.batch_rank = args.batch_rank;
  for (int axis = 0; axis < args.batch_rank; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    device.batch_extent[axis] = args.batch_extent[at];
    device.a_batch[axis] = args.a_batch[at];
    device.b_batch[axis] = args.b_batch[at];
    device.c_batch[axis] = args.c_batch[at];
  }
  return device;
}

CudaVariant type_bits(const GemmArgs& args) {
  return bits_of(args.a_type, args.b_type, args.c_type);
}

std::vector<std::string> type_defines(CudaVariant variant) {
  const auto named = [&](const char* name, int shift) {
    return name + std::string(cuda_type(static_cast<DType>(variant >> shift & 15)));
  };
  return {named("A_TYPE=", 0), named("B_TYPE=", 4), named("C_TYPE=", 8)};
}

std::vector<CudaVariant> all_type_bits() {
  std::vector<CudaVariant> all = {
      bits_of(DType::f32, DType::f32, DType::f32),    bits_of(DType::f64, DType::f64, DType::f64),
      bits_of(DType::bf16, DType::bf16, DType::bf16), bits_of(DType::bf16, DType::bf16, DType::f32),
      bits_of(DType::f16, DType::f16, DType::f16),    bits_of(DType::f16, DType::f16, DType::f32)};
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) all.push_back(bits_of(a, b, DType::i32));
  }
  for (const DType a : {DType::f8e4m3, DType::f8e5m2}) {
    for (const DType b : {DType::f8e4m3, DType::f8e5m2}) {
      for (const DType c : {DType::f32, DType::bf16, DType::f16}) all.push_back(bits_of(a, b, c));
    }
  }
  return all;
}

bool element_aligned(const GemmArgs& args) {
  return is_aligned(args.a, args.a_type) && is_aligned(args.b, args.b_type) &&
         is_aligned(args.c, args.c_type);
}

std::uint32_t blocks_for(std::int64_t pieces) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(pieces, std::int64_t{1} << 20));
}

}  // namespace rooftune
