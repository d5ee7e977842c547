// How exact a matrix product has to be.
#ifndef ROOFTUNE_PRECISION_H_
#define ROOFTUNE_PRECISION_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace rooftune {

// Precision policies for products of f32; part of the key. Each allows what the ones before it
// allow, and more. Errors are relative, norm-wise, against f64; those of sums in f32, which grow
// with sqrt(k), come on top of the last two.
//   highest   f32 arithmetic: about sqrt(k) * 2^-23. IEEE rules hold, subnormals are kept
//   split     sums of six products of bf16 parts, which keep f32's accuracy: at most 4 times that
//   high      sums of three such products (bf16x3), or TF32 where a device has it: 2^-15 or 2^-10
//   medium    one product of operands rounded to bf16: 2^-7
// What `split`, `high` and `medium` may do besides: an Inf or NaN in an operand gives Inf or NaN in
// the elements that depend on it, but an Inf may become a NaN; parts below 2^-126 count as zero, so
// operands lose digits below about 2^-110 and subnormal ones count as zero. Operands stay finite.
// Products of other types take no notice of the policy.
enum class Precision : std::uint8_t { highest, split, high, medium };
std::string_view to_string(Precision precision);
std::optional<Precision> parse_precision(std::string_view name);

}  // namespace rooftune

#endif  // ROOFTUNE_PRECISION_H_
