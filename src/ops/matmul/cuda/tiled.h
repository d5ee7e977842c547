// Candidates whose blocks make tiles of C out of asynchronous copies (simt.cu, dmma.cu), with k in
// one piece, split among blocks, or shared by the blocks of a cluster.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_TILED_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_TILED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

struct TiledForm {
  const char* name;
  int tile_m, tile_n;
  int warps_m, warps_n;  // of a block
  int depth, stages;
  int blocks;       // at a time on a multiprocessor
  bool split;       // k among blocks; their sums are added by a second kernel
  double share;     // of the peak that large aligned products reach
  int spill_bytes;  // that are known and do no harm: outside the loop, or few in it
  // Blocks of a cluster, which share a tile's k and add up their sums without a second kernel.
  int cluster_k = 1;
};

// How an operand's tiles are copied: A_COPY and B_COPY of the kernels.
enum class TileCopyKind : std::uint8_t {
  terms = 0,          // terms are contiguous
  elements = 1,       // any strides; fast where elements of a term are contiguous
  wide_elements = 2,  // likewise contiguous, 16 bytes at a time
  wide_terms = 3,     // terms are contiguous, 16 bytes at a time
};

class Tiled : public CudaCandidate {
 public:
  Tiled(const TiledForm& form, TypeFamily family, std::string_view file);

  const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const override;
  CudaVariant variant(const GemmArgs& args) const override;
  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override;
  std::vector<CudaVariant> variants() const override;
  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override;
  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override;

 protected:
  struct Copies {
    TileCopyKind a, b;
  };
  const TiledForm& form() const { return form_; }
  std::uint32_t threads() const { return 32u * unsigned(form_.warps_m * form_.warps_n); }

  // What specialises the family's kernel beyond the form's warps, stages and copies.
  virtual std::vector<std::string> own_defines() const = 0;
  virtual std::uint32_t shared_bytes(Copies copies) const = 0;
  // Whether wide copies of contiguous terms pay; the narrow ones also take what is not aligned.
  virtual bool likes_wide_terms() const = 0;

 private:
  double modelled_s(const GemmArgs& args, std::int64_t parts, int multiprocessors) const;
  double cluster_sums_s(double blocks_each) const;
  std::int64_t parts(const GemmArgs& args, int multiprocessors) const;
  Copies copies(const GemmArgs& args) const;
  Copies copies(bool a_terms, bool b_terms, bool wide) const;
  static CudaVariant bits(Copies copies) {
    return static_cast<CudaVariant>(copies.a) | static_cast<CudaVariant>(copies.b) << 2;
  }

  const TiledForm form_;
  const TypeFamily family_;
  const std::string_view file_;
  const std::int64_t bytes_;  // of an element
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_TILED_H_
