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
  // Nothing for techniques that have no model (those of panels, the naive one and what the policies
  // that allow less than f32 have of their own).
  static std::optional<KernelGuess> make(const CpuMatmulCandidate& row);

  // Seconds on so many threads; 0 for a type that the technique has no model for. Counted are the
  // vector operations of whole tiles, the vectors and single elements they load, what is packed,
  // turned and streamed, and what each matrix, tile and fork costs. Ratios between kernels are what
  // is meant: the costs are those of one processor (guess.cc).
  double seconds(const GemmArgs& args, int threads) const;

 private:
  enum class Walk : std::uint8_t { tiles, dots, columns };
  // When a kernel makes the transposed product instead.
  enum class Turning : std::uint8_t { never, for_columns, for_few_vectors };
  enum class Packs : std::uint8_t { nothing, both, columns, columns_that_lie_apart };
  // A product as the kernel walks over it.
  struct Sides {
    double m = 0, n = 0, a_bytes = 0, b_bytes = 0;
    double a_step = 0;  // bytes from one term of A to the next
    bool turned = false;
    bool a_along_m = false, a_along_k = false, b_along_n = false, b_along_k = false;
  };
  KernelGuess() = default;
  Sides sides_of(const GemmArgs& args) const;
  double turned_elements(const Sides& sides, double k) const;
  // Of one matrix of the batch.
  double tiles_ns(const Sides& sides, double k, const KernelCosts& costs, double lanes,
                  int dot) const;
  double vector_ns(const GemmArgs& args, const KernelCosts& costs, double lanes, int dot) const;

  Isa isa_ = Isa::portable;
  Walk walk_ = Walk::tiles;
  Turning turning_ = Turning::never;
  Packs packs_ = Packs::nothing;
  int rows_ = 1, vectors_ = 1;  // of the tile
  int terms_ = 0;               // after which sums are written; 0: at the end
  bool always_forks_ = false;
  bool one_tile_is_one_task_ = false;
  bool whole_matrices_ = false;         // threads share the batch out, not a product
  bool for_vectors_ = false;            // made for m or n or k of 1
  const KernelCosts* plain_ = nullptr;  // f32, f64
  const KernelCosts* half_ = nullptr;   // 16 bits, widened to f32
  const KernelCosts* dot_ = nullptr;    // instructions that add several products at once
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GUESS_H_
