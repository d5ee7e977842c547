// A right operand in panels: groups of a few columns, each with all of its terms one after the
// other, as the register tiles of one instruction set read them.
//
//   [panel][group of terms][column]   and, for bytes in fours, one more row: the sums of the
//   columns
//
// Columns beyond n and groups beyond k are zeros.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PANELS_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PANELS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "device/cpu/isa.h"
#include "ops/matmul/cpu/packed_rhs.h"

namespace rooftune {

// What the kernels of a level read; nothing where it has none of its own for these types. The
// portable level has a format for all of them.
std::optional<PanelFormat> panel_format(Isa isa, TypeFamily family);

// The best of these levels'.
PanelFormat best_panel_format(std::span<const Isa> levels, TypeFamily family);

std::string to_string(const PanelFormat& format, DType dtype);

// Of a whole matrix. Nothing when it does not fit in 63 bits.
std::optional<std::int64_t> panels_bytes(const PanelFormat& format, DType dtype, std::int64_t k,
                                         std::int64_t n);

// A matrix to pack: B(p, j) is at + p * row + j * col, in elements.
struct PlainRhs {
  const void* at;
  std::int64_t row, col;
};

// Fills the panels [first, last) of `rhs`, whose sizes are set, in `memory`: that of the whole
// matrix.
void pack_panels(const PackedRhs& rhs, const PlainRhs& from, std::int64_t first, std::int64_t last,
                 std::byte* memory);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PANELS_H_
