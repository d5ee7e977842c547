// What the sums of an operand should be, made on the host without any candidate's help.
#ifndef ROOFTUNE_OPS_REDUCE_REFERENCE_H_
#define ROOFTUNE_OPS_REDUCE_REFERENCE_H_

#include <cstdint>
#include <memory>

#include "ops/reduce/sum_args.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune {

// Calls visit(index, out_offset) for every output: its number, counted with the last kept axis
// fastest, and its offset in elements from args.out.
template <class Visit>
void for_each_output(const SumArgs& args, Visit&& visit) {
  std::int64_t at[kMaxSumAxes] = {};
  std::int64_t offset = 0;
  for (std::int64_t index = 0; index < args.outputs; ++index) {
    visit(index, offset);
    for (int axis = args.keep_rank - 1; axis >= 0; --axis) {
      offset += args.out_keep[axis];
      if (++at[axis] < args.keep_extent[axis]) break;
      offset -= args.keep_extent[axis] * args.out_keep[axis];
      at[axis] = 0;
    }
  }
}

// Where the absolute values of the terms add up to less, no order of additions overflows.
double largest_safe(DType dtype);

// Exact sums of every output to about f64's precision, and how they can be used.
class SumReference {
 public:
  SumReference() = default;

  // Reads every element of the input once: on the host, through the client, or by a kernel of its
  // own where the host cannot read the device's memory.
  // Errors: out_of_memory for the host's; those of Client::read.
  static Result<SumReference> make(Client& client, const SumArgs& args, Stream stream);

  // Of output `index` (see for_each_output). The sum is NaN or infinite as IEEE rules say when
  // such terms are in it.
  double sum(std::int64_t index) const { return sums_[index].value; }
  // Sum of the absolute values of the terms: the scale of the rounding errors. NaN when a term is
  // NaN or infinite.
  double magnitude(std::int64_t index) const { return sums_[index].magnitude; }

  // Whether comparing with these sums says something: most of them are finite and well inside the
  // range of the type, and the values of the input are not all the same.
  bool conclusive() const { return conclusive_; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count_) * sizeof(Sum); }
  // What those of a problem take on the host.
  static std::uint64_t bytes_for(const SumArgs& args) {
    return static_cast<std::uint64_t>(args.outputs) * sizeof(Sum);
  }

 private:
  struct Sum {
    double value = 0, low = 0;  // the value, and what rounding took from it
    double magnitude = 0;
    void add(double x);
  };
  // Add all terms; set whether they differ.
  template <class T>
  Status add_all(Client& client, const SumArgs& args, Stream stream);
  Status add_all_on_device(Client& client, const SumArgs& args, Stream stream);

  std::unique_ptr<Sum[]> sums_;
  std::int64_t count_ = 0;
  bool varied_ = false;
  bool conclusive_ = false;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_REFERENCE_H_
