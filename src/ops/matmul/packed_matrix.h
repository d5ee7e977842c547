// What is behind a PackedMatrix.
#ifndef ROOFTUNE_OPS_MATMUL_PACKED_MATRIX_H_
#define ROOFTUNE_OPS_MATMUL_PACKED_MATRIX_H_

#include <array>

#include "device/cpu/memory.h"
#include "ops/matmul/cpu/panels.h"
#include "rooftune/device.h"
#include "rooftune/packed_matrix.h"
#include "rooftune/tensor.h"

namespace rooftune {

struct PackedPanels {
  PackedRhs rhs;
  std::uint64_t bytes = 0;
  AlignedMemory memory;
};

// The formats that a device reads, by type family.
using PanelFormats = std::array<PanelFormat, kTypeFamilies>;
PanelFormats panel_formats(const Client& client);

// Errors: those of Session::pack_rhs.
Result<PackedMatrix> make_packed_matrix(Client& client, const PanelFormats& formats,
                                        const ConstView& rhs, Stream stream);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_PACKED_MATRIX_H_
