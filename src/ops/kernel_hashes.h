// What each CPU kernel runs, as a short text: the version of a candidate. The definition is made
// by the build (cmake/hash_kernels.cmake).
#ifndef ROOFTUNE_OPS_KERNEL_HASHES_H_
#define ROOFTUNE_OPS_KERNEL_HASHES_H_

#include <string_view>

namespace rooftune {

// A hash of ops/<op>/cpu/<source>-inl.h, of the project's headers that it includes, of the compiler
// and of its flags; comments and formatting do not count. Empty when there is no such file.
//   kernel_source_hash("matmul", "gemv_rows")
std::string_view kernel_source_hash(std::string_view op, std::string_view source);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_KERNEL_HASHES_H_
