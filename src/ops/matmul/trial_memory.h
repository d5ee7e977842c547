// What a trial does with the elements of operands, wherever those lie: with it, MatmulTrial
// (trial.h) is one text for every device.
#ifndef ROOFTUNE_OPS_MATMUL_TRIAL_MEMORY_H_
#define ROOFTUNE_OPS_MATMUL_TRIAL_MEMORY_H_

#include <cstdint>
#include <memory>

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/matrix_passes.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune {

class TrialMemory {
 public:
  virtual ~TrialMemory() = default;
  // Fills memory with numbers made from those in +-[0.5, 1.5], the same for the same seed. Bytes
  // reach up to 126, or 252 without a sign, nearly the whole range of their type, or less when a
  // sum of so many terms could leave its own.
  virtual Status fill_random(Stream stream, DType dtype, void* memory, std::int64_t elements,
                             std::uint64_t seed, std::int64_t terms) = 0;
  // Some such numbers, over and over where that is quicker: for operands that nobody checks.
  virtual Status fill_repeating(Stream stream, DType dtype, void* memory, std::int64_t elements,
                                std::int64_t terms) {
    return fill_random(stream, dtype, memory, elements, 1, terms);
  }
  // As fill_random in the elements of C and nothing beside them, always the same numbers.
  virtual Status start_output(Stream stream, const GemmArgs& gemm) = 0;
  // Counts the elements that have exactly these bits, behind what came before on the stream, which
  // must be done where the host reads the memory. What is found out is asked for afterwards: with
  // the results of passes of this object that ran since, it may be there already.
  virtual Status begin_count(Stream stream, const void* memory, std::int64_t elements,
                             std::int64_t element_bytes, std::uint64_t wanted) = 0;
  virtual Result<std::uint64_t> counted(Stream stream) = 0;
  // These may outlive the object.
  virtual std::unique_ptr<MatrixPasses> passes(Stream stream) = 0;
};

// By what factor random bytes are smaller in long sums, so that no sum leaves the range of its
// type.
double byte_shrink(std::int64_t terms);

// For memory that the host can read; see host_matrix_passes() for the client.
std::unique_ptr<TrialMemory> host_trial_memory(Client* client = nullptr);

// What suits the memory of a device: for a trial of this product, and for a check outside of one.
std::unique_ptr<TrialMemory> trial_memory(Client& client, const GemmArgs& gemm);
std::unique_ptr<MatrixPasses> matrix_passes(Client& client, Stream stream);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_TRIAL_MEMORY_H_
