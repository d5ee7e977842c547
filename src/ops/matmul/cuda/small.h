// What the families for vectors and small products share on the host: stream, gemv, tiny.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_SMALL_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_SMALL_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/output.h"

namespace rooftune {

inline Output output_of(const GemmArgs& args) {
  return {args.alpha, args.beta, static_cast<int>(size_of(args.c_type)),
          args.c_type == DType::f16 ? 1 : 0};
}

// The batch of a problem that refuse_general() lets pass.
inline FlatBatch flat_batch(const GemmArgs& args) {
  FlatBatch flat;
  flatten_batch(args, flat);
  return flat;
}

// Why no kernel of these families takes a problem, or null.
inline const char* refuse_general(const GemmArgs& args) {
  if (args.packed != nullptr) return "the right operand is packed";
  if (args.batch_rank > 1) return "the batch has several axes";
  const auto misaligned = [](const void* address, DType dtype) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size_of(dtype));
  };
  if (misaligned(args.a, args.a_type) != 0 || misaligned(args.b, args.b_type) != 0 ||
      misaligned(args.c, args.c_type) != 0)
    return "an operand is not aligned to its elements";
  return nullptr;
}

// Whether rows of an operand, `pitch` elements apart, and its batches, `batch` apart, can be loaded
// `bytes` at a time. A pitch or batch of 0 is that of a single row or batch.
inline bool loads_of(std::uint64_t bytes, const void* address, DType dtype, std::int64_t pitch,
                     std::int64_t batch) {
  const std::int64_t size = size_of(dtype);
  return alignment(address, pitch * size) >= bytes && alignment(nullptr, batch * size) >= bytes;
}

// --- Bits of a variant, lowest first.
class VariantWriter {
 public:
  VariantWriter& put(std::uint64_t value, int bits) {
    variant_ |= value << at_;
    at_ += bits;
    return *this;
  }
  VariantWriter& put(DType dtype) { return put(static_cast<std::uint64_t>(dtype), 4); }
  CudaVariant variant() const { return variant_; }

 private:
  CudaVariant variant_ = 0;
  int at_ = 0;
};
class VariantReader {
 public:
  explicit VariantReader(CudaVariant variant) : rest_(variant) {}
  int number(int bits) {
    const auto value = static_cast<int>(rest_ & ((1u << bits) - 1));
    rest_ >>= bits;
    return value;
  }
  DType dtype() { return static_cast<DType>(number(4)); }

 private:
  CudaVariant rest_;
};

inline std::string define(std::string_view name, std::int64_t value) {
  return std::string(name) + "=" + std::to_string(value);
}
inline std::string define(std::string_view name, DType dtype) {
  return std::string(name) + "=" + std::string(cuda_type(dtype));
}

// The types of A and B that products have.
struct TypePair {
  DType a, b;
};
inline constexpr TypePair kTypePairs[] = {
    {DType::f32, DType::f32},       {DType::f64, DType::f64},       {DType::bf16, DType::bf16},
    {DType::f16, DType::f16},       {DType::i8, DType::i8},         {DType::i8, DType::u8},
    {DType::u8, DType::i8},         {DType::u8, DType::u8},         {DType::f8e4m3, DType::f8e4m3},
    {DType::f8e4m3, DType::f8e5m2}, {DType::f8e5m2, DType::f8e4m3}, {DType::f8e5m2, DType::f8e5m2}};

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Blocks of a grid are numbered along x.
inline constexpr std::int64_t kMaxBlocks = std::numeric_limits<std::int32_t>::max();

// What a launch costs, and what one multiprocessor takes in at most: 4.5 TB/s over the 132 of an
// H200. Guesses order candidates; their ratio is what counts.
inline constexpr double kLaunchSeconds = 2e-6;
inline constexpr double kBytesPerSecond = 34e9;

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_SMALL_H_
