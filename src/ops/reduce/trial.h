// Inputs for measuring one sum, and the check of what a candidate wrote.
#ifndef ROOFTUNE_OPS_REDUCE_TRIAL_H_
#define ROOFTUNE_OPS_REDUCE_TRIAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ops/reduce/reference.h"
#include "ops/reduce/sum_args.h"
#include "rooftune/device.h"
#include "rooftune/error.h"
#include "rooftune/tunable_set.h"

namespace rooftune {

// The caller's input, and an output of the same strides and alignment in scratch memory with a
// margin on both sides; an output that is spread thinly over memory is made dense instead. Where
// the input cannot tell right from wrong (NaN, Inf, zeros, one value everywhere), random small
// integers of the same layout take its place, memory permitting; otherwise checks are not
// conclusive.
//
// The check reads the input once, when the trial is made, element by element where it has gaps:
// nothing beside the operands is read. Every output is compared, and so is what lies between and
// around them.
class SumTrial final : public Trial<SumArgs> {
 public:
  // Errors: out_of_memory; those of the client.
  static Result<std::unique_ptr<SumTrial>> make(Client& client, const SumArgs& problem,
                                                Stream stream);
  // With integers from the beginning: the caller's input is not looked at and may be gone.
  // Errors: as make(); out_of_memory also where all of it would take more than `most_bytes`.
  static Result<std::unique_ptr<SumTrial>> make_with_own_input(Client& client,
                                                               const SumArgs& problem,
                                                               Stream stream,
                                                               std::uint64_t most_bytes);

  const SumArgs& args() const override { return args_; }
  Result<std::vector<SumArgs>> copies(std::size_t count, Stream stream,
                                      std::uint64_t most_bytes) override;
  Status poison(Stream stream) override;
  Result<Check> check(Stream stream) override;
  std::uint64_t scratch_bytes() const override;

 private:
  explicit SumTrial(Client& client) : client_(client) {}
  Status make_output(const SumArgs& problem);
  Status replace_input(const SumArgs& problem, Stream stream);
  // Memory of the input's layout with small integers.
  Result<std::byte*> make_input(const SumArgs& problem, Stream stream, Buffer& buffer);

  Client& client_;
  SumArgs args_;
  SumReference reference_;
  Buffer input_;                // empty: the caller's is used
  std::vector<Buffer> copies_;  // of the input
  Buffer output_;               // margin, reach of the output, margin
  std::byte* first_ = nullptr;  // the first element of the margin
  std::int64_t elements_ = 0;   // with both margins
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_TRIAL_H_
