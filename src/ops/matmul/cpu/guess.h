// A guess of the time that a CPU kernel takes for a product, from its technique and its tile.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GUESS_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GUESS_H_

#include <optional>

#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/gemm_args.h"

namespace rooftune {

struct KernelCosts;

// What a guess needs to know of a row; made once.
class KernelGuess {
 public:
  // Nothing for techniques that have no model (those of panels and matrix tiles, and the naive
  // one).
  static std::optional<KernelGuess> make(const CpuMatmulCandidate& row);

  // Seconds on so many threads; 0 for a type that the technique has no model for. Counted are the
  // vector operations of whole tiles, the vectors and single elements they load, what is packed and
  // streamed, and what each matrix, tile and fork costs. Ratios between kernels are what is meant:
  // the costs are those of one processor (guess.cc), where the best guess was within 10 % of the
  // best of all kernels for 8 products of 10.
  double seconds(const GemmArgs& args, int threads) const;

 private:
  enum class Walk : std::uint8_t { tiles, dots, columns };
  KernelGuess() = default;
  double tiles_ns(const GemmArgs& args, const KernelCosts& costs, double lanes, int dot) const;
  double vector_ns(const GemmArgs& args, const KernelCosts& costs, double lanes, int dot) const;

  Isa isa_ = Isa::portable;
  Walk walk_ = Walk::tiles;
  int rows_ = 1, vectors_ = 1;  // of the tile
  bool whole_panels_ = false;   // columns are packed in panels of whole tiles
  bool always_forks_ = false;
  bool whole_matrices_ = false;         // threads share the batch out, not a product
  bool for_vectors_ = false;            // made for m or n or k of 1
  const KernelCosts* plain_ = nullptr;  // f32, f64
  const KernelCosts* half_ = nullptr;   // 16 bits, widened to f32
  const KernelCosts* dot_ = nullptr;    // instructions that add several products at once
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GUESS_H_
