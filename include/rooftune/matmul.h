// Matrix products of any rank: options and errors. The call itself is Session::matmul, or the
// one-line rooftune::matmul of rooftune.h.
//
//   out = alpha * lhs x rhs + beta * out
//
// Shapes: lhs [..., m, k], rhs [..., k, n], out [..., m, n]; the leading (batch) axes of lhs and
// rhs broadcast as in NumPy and give those of out. A rank-1 lhs [k] counts as [1, k] and a rank-1
// rhs [k] as [k, 1]; out then has no axis in that place. At most 6 batch axes.
// Types, lhs x rhs -> out, and what the sums are made in:
//   f32 x f32 -> f32             f32, or less under a precision policy (see precision.h)
//   f64 x f64 -> f64             f64
//   bf16 x bf16 -> bf16 or f32   f32; subnormal operands and sums may count as zero
//   f16 x f16 -> f16 or f32      f32
//   i8 or u8 x i8 or u8 -> i32   integers modulo 2^32: always exact for k up to 32768
//   f8 x f8 -> f32, bf16, f16    f32; f8 is f8e4m3 or f8e5m2, each operand for itself
// A result is rounded once to the type of out, to the nearest, ties to even; a NaN stays a NaN,
// what is too large becomes Inf. Layouts: any strides, negative and zero ones for inputs too; out
// must not overlap itself or an input. Pointers may be misaligned. Sizes are 64-bit. Rules: alpha
// and beta are rounded to the type of the sums first, and must be whole numbers of at most 2^31 for
// integer products; beta == 0 never reads out (NaN there does not matter); k == 0 or alpha == 0
// writes beta * out without reading lhs and rhs; a zero-sized result returns at once. Otherwise
// IEEE rules hold: 0 * NaN is NaN, subnormals are kept, and row i of out depends on row i of lhs
// only. Sums run in blocks, so that long ones do not stall: the relative error norm-wise against
// f64 is at most about sqrt(k) * eps, and the verification holds every candidate to error <= 4 *
// eps * (sqrt(k) + 1) in the norm of the random-vector check, plus the rounding of a 16-bit out and
// what the policy allows.
#ifndef ROOFTUNE_MATMUL_H_
#define ROOFTUNE_MATMUL_H_

#include <string>

#include "rooftune/device.h"
#include "rooftune/settings.h"
#include "rooftune/tensor.h"

namespace rooftune {

struct CallReport;

// How a candidate is chosen.
enum class Strategy : std::uint8_t {
  autotune,  // measured at first use, remembered after
  untuned,   // a fixed heuristic; no measuring, nothing stored
  named,     // exactly `candidate`
};

struct MatmulOptions {
  double alpha = 1, beta = 0;
  Precision precision = Precision::highest;
  Strategy strategy = Strategy::autotune;
  std::string_view candidate = {};  // for Strategy::named; a name from `rooftune why`
  Stream stream = {};
  CallReport* report = nullptr;  // filled in when given
};

struct PackOptions {
  Stream stream = {};  // the operand is read in its order
};

}  // namespace rooftune

#endif  // ROOFTUNE_MATMUL_H_
