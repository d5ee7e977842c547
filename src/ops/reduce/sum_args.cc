#include "ops/reduce/sum_args.h"

namespace rooftune {

std::int64_t term_step(const SumArgs& args) {
  return args.reduce_rank == 0 ? 0 : args.in_reduce[args.reduce_rank - 1];
}

std::int64_t output_step(const SumArgs& args) {
  return args.keep_rank == 0 ? 0 : args.in_keep[args.keep_rank - 1];
}

std::int64_t term_run(const SumArgs& args) {
  return args.reduce_rank == 0 ? 1 : args.reduce_extent[args.reduce_rank - 1];
}

std::int64_t output_run(const SumArgs& args) {
  return args.keep_rank == 0 ? 1 : args.keep_extent[args.keep_rank - 1];
}

}  // namespace rooftune
