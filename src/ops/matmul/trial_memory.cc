#include "ops/matmul/trial_memory.h"

#include "ops/matmul/cuda/kernels.h"
#include "ops/matmul/cuda/trial_memory.h"

namespace rooftune {
std::unique_ptr<TrialMemory> trial_memory(Client& client, const GemmArgs& gemm) {
  if (client.capabilities().host_memory) return host_trial_memory(&client);
  return cuda_trial_memory(client, cuda_compiler(client), gemm);
}

std::unique_ptr<MatrixPasses> matrix_passes(Client& client, Stream stream) {
  if (client.capabilities().host_memory) return host_matrix_passes(&client);
  return cuda_matrix_passes(client, stream, cuda_compiler(client));
}

}  // namespace rooftune
