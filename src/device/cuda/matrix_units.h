// The matrix units of NVIDIA GPUs.
#ifndef ROOFTUNE_DEVICE_CUDA_MATRIX_UNITS_H_
#define ROOFTUNE_DEVICE_CUDA_MATRIX_UNITS_H_

#include <vector>

#include "rooftune/device.h"

namespace rooftune {

// Those of a compute capability of 8.0 or later: the largest shape of each instruction and type
// (PTX ISA, "mma" and "wgmma.mma_async").
std::vector<MatrixUnit> matrix_units_of(int capability);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_MATRIX_UNITS_H_
