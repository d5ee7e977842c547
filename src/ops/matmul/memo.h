// What a thread remembers of its last products, so that a call with the same shapes, strides and
// types as an earlier one need not check, fold and look up again: that takes longer than a small
// product does.
#ifndef ROOFTUNE_OPS_MATMUL_MEMO_H_
#define ROOFTUNE_OPS_MATMUL_MEMO_H_

#include <array>
#include <cstdint>

#include "ops/matmul/key.h"
#include "ops/matmul/problem.h"
#include "rooftune/detail/decision_table.h"
#include "rooftune/tuner.h"

namespace rooftune {

// One product, by everything but the pointers and the values of alpha and beta.
class MatmulMemo {
 public:
  using MatmulTuner = Tuner<MatmulKey, GemmArgs>;

  // The place where this thread remembers a product of these shapes, or an older one that it
  // would replace.
  static MatmulMemo& of(const ConstView& lhs, const ConstView& rhs, const View& out);

  // True when this is that product and its decision still stands, and the call needs none of the
  // care that make_matmul_problem takes (null pointers, operands that may overlap, alpha = 0).
  bool serves(std::uint64_t context, const MatmulTuner& tuner, const ConstView& lhs,
              const ConstView& rhs, const View& out, const MatmulOptions& options) const;

  // Runs the decision on these operands.
  Status run(MatmulTuner& tuner, const ConstView& lhs, const ConstView& rhs, const View& out,
             const MatmulOptions& options);

  // Remembers a product whose decision was found under `version` of the tuner's table; `precision`
  // as the caller gave it.
  void keep(std::uint64_t context, std::uint64_t version, const detail::Entry<MatmulKey>& entry,
            const MatmulProblem& problem, const ConstView& lhs, const ConstView& rhs,
            const View& out, Precision precision);

 private:
  // Bytes from the pointer of an operand to its first and behind its last element.
  struct Reach {
    std::int64_t begin = 0, end = 0;
  };
  static Reach reach_of(const ConstView& view);

  std::uint64_t context_ = 0;  // no session has this id
  std::uint64_t version_ = 0;
  const detail::Entry<MatmulKey>* entry_ = nullptr;
  GemmArgs args_;
  Layout lhs_, rhs_, out_;
  Reach lhs_reach_, rhs_reach_, out_reach_;
  bool accumulate_ = false;
  bool gram_shaped_ = false;
  Precision precision_ = Precision::highest;
  bool running_ = false;  // a kernel has args_ in use: a nested call must not change them
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_MEMO_H_
