// The kernels that show what an NVIDIA GPU can do.
#ifndef ROOFTUNE_DEVICE_CUDA_PROBES_H_
#define ROOFTUNE_DEVICE_CUDA_PROBES_H_

#include <string>
#include <vector>

#include "device/cuda/client.h"

namespace rooftune {

// Errors: unsupported where the device has no unit of the kind for the type; those of compile().
Result<ProbeKernel> cuda_probe(CudaClient& client, ProbeKind kind, DType dtype);

// What a probe is compiled from, for tests that compile all of them.
struct CudaProbe {
  std::string file;  // "device/cuda/probes.cu"; empty: no such probe
  std::vector<std::string> defines;
  std::uint32_t blocks_per_unit = 1, threads = 1;
  double operations_per_repeat = 0;  // of one block
  DType measured = DType::f32;       // the type whose rate it is
};
CudaProbe describe_cuda_probe(int capability, ProbeKind kind, DType dtype);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_PROBES_H_
