// What the families that use StridedArgs share on the host.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_HOST_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/strided.h"

namespace rooftune {

StridedArgs strided_args(const GemmArgs& args);

// The three element types of a product in the low 12 bits of a variant.
inline constexpr int kTypeBits = 12;
CudaVariant type_bits(const GemmArgs& args);
// "A_TYPE=float", "B_TYPE=float", "C_TYPE=float".
std::vector<std::string> type_defines(CudaVariant variant);
// Every combination that a product may have.
std::vector<CudaVariant> all_type_bits();

// Whether every pointer is a multiple of its element's size.
bool element_aligned(const GemmArgs& args);

// Thread blocks for so many pieces of work: blocks of a grid that is too large take several in
// turn. 2^20 keeps the last blocks' share of the time small, and the count far from any limit.
std::uint32_t blocks_for(std::int64_t pieces);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_STRIDED_HOST_H_
