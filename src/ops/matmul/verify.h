// Is this product right? Random vectors ask in O(n^2): C x against alpha A (B x) + beta C0 x.
#ifndef ROOFTUNE_OPS_MATMUL_VERIFY_H_
#define ROOFTUNE_OPS_MATMUL_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/matrix_passes.h"
#include "rooftune/error.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// The same product with its packed right operand as rows of n in `plain`, which takes k * n
// elements of its type.
GemmArgs with_plain_rhs(const GemmArgs& gemm, std::byte* plain);

// The reference for one product, made once and compared with the output of any number of
// candidates. All arithmetic is in f64.
//
// For each row i and each of two vectors x of random numbers around +-1, with r = (C x)_i:
//   error = |r - y_i| / sqrt(s_i + t_i),
//     s_i = alpha^2 sum_p a_ip^2 (sum_j b_pj^2) + beta^2 sum_j c0_ij^2, t_i = sum_j c_ij^2,
// the size that |r - y_i| has when every element of the row is off by about itself; a single wrong
// element of n shows as 1 / sqrt(n) or more. The error of a product is the largest of its rows'.
class ProductCheck {
 public:
  // What `high` allows: bf16x3, or TF32 where the device has that (SYSTEM section 10).
  static constexpr double kHighError = 0x1p-15, kTf32Error = 0x1p-10;

  // Reads A and B (and C for beta != 0, which must hold C0) now, through `passes`.
  // Errors: out_of_memory; those of the passes.
  static Result<ProductCheck> make(const GemmArgs& gemm, std::unique_ptr<MatrixPasses> passes,
                                   double high_error = kHighError);
  // Of memory that the host can read.
  static Result<ProductCheck> make(const GemmArgs& gemm) {
    return make(gemm, host_matrix_passes());
  }

  // True when the operands can tell right from wrong: every sum of products is finite and far from
  // overflow and underflow of the type, and the values differ enough for rounding errors to be
  // independent (equal values round the same way every time, and errors then pile up in a right
  // kernel too).
  bool conclusive() const { return conclusive_; }

  // Device memory that the vectors take.
  std::uint64_t device_bytes() const { return passes_->device_bytes(); }

  // Compares the output, which `gemm.c` points to. `complete` and `contained` stay true: they need
  // the whole allocation (see MatmulTrial).
  // Errors: those of the passes; none on the host.
  Result<Check> check(const GemmArgs& gemm) const;

  // The largest error that is right: 4 eps sqrt(k) + 4 eps, the statistical bound of sums in
  // blocks with a factor for its tail; for f64 and integers, where this check rounds (and nothing
  // else does for integers), sqrt(n) joins sqrt(k). The rounding of a 16-bit output and what the
  // precision policy allows come on top, and for f8 2^-12: matrix units add its products up with
  // some 13 bits behind the point.
  static double error_bound(const GemmArgs& gemm, double high_error = kHighError);

 private:
  Status expect(const GemmArgs& gemm);

  std::unique_ptr<MatrixPasses> passes_;  // has the memory of the vectors
  std::int64_t group_ = 1;                // matrices that are done at a time
  double* x_ = nullptr;                   // both x, and n ones
  double* expected_ = nullptr;            // batch triples: y for both vectors, s
  double* product_ = nullptr;             // a group of triples: C x for both vectors, t
  double high_error_ = kHighError;
  bool conclusive_ = true;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_VERIFY_H_
