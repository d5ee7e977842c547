// A packed right operand as the kernels see it: see panels.h.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_RHS_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_RHS_H_

#include <cstddef>
#include <cstdint>

#include "ops/matmul/gemm_args.h"

namespace rooftune {

// What one column of one group of terms is.
enum class PanelUnit : std::uint8_t {
  element,    // one term, as it is
  pair,       // a word with two terms of 16 bits
  byte_pair,  // the same of bytes, widened
  byte_quad,  // a word with four bytes
};

struct PanelFormat {
  PanelUnit unit = PanelUnit::element;
  std::uint8_t columns = 1;  // of a panel
  std::uint8_t groups = 1;   // a panel has a multiple of so many
  bool operator==(const PanelFormat&) const = default;
};

struct PackedRhs {
  PanelFormat format;
  DType dtype = DType::f32;
  std::int64_t k = 0, n = 0;
  std::int64_t rows = 0;  // groups of a panel, without the sums of its columns
  std::int64_t panel_bytes = 0;
  const std::byte* memory = nullptr;  // of panel 0
};

// Terms of a group, and bytes of it.
std::int64_t terms_of(PanelUnit unit);
std::int64_t bytes_of(PanelUnit unit, DType dtype);

// Everything but the memory.
PackedRhs packed_rhs(const PanelFormat& format, DType dtype, std::int64_t k, std::int64_t n);

// The columns [first, first + count) as a plain matrix [k, count], rows side by side, of the
// elements that were packed.
void unpack_columns(const PackedRhs& rhs, std::int64_t first, std::int64_t count, void* to);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_RHS_H_
