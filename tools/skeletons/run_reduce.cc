// Runs the kernel TECHNIQUE on small sums of whole numbers, so that results are exact.
#define ROOFTUNE_KERNEL_ISA 0
#include <cstdio>
#include <vector>

#include "ops/reduce/cpu/TECHNIQUE-inl.h"
#include "tools/skeletons/serial_context.h"

namespace rooftune {

// The sum over rows, or columns, of a matrix.
template <class T>
bool right(Index kept, Index reduced, bool by_rows) {
  std::vector<T> in(kept * reduced), out(kept, T(-1));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i * 7 % 11) - T(5);
  SumArgs args;
  args.dtype = dtype_of<T>;
  args.in = in.data(), args.out = out.data();
  args.outputs = kept, args.terms = reduced;
  args.keep_rank = args.reduce_rank = 1;
  args.keep_extent[0] = kept, args.reduce_extent[0] = reduced;
  args.in_keep[0] = by_rows ? reduced : 1, args.in_reduce[0] = by_rows ? 1 : kept;
  args.out_keep[0] = 1;
  SerialContext context;
  if (TECHNIQUE<Simd<T>>(&args, context) != KernelOutcome::done) return false;
  for (Index i = 0; i < kept; ++i) {
    T wanted = 0;
    for (Index r = 0; r < reduced; ++r) wanted += in[i * args.in_keep[0] + r * args.in_reduce[0]];
    if (out[i] != wanted) {
      std::printf("wrong at %d of %d, %d terms\n", int(i), int(kept), int(reduced));
      return false;
    }
  }
  return true;
}

}  // namespace rooftune

int main() {
  for (const auto [kept, reduced] : {std::array<long, 2>{2, 2}, {7, 3}, {5, 1000}, {300, 131}}) {
    for (const bool by_rows : {true, false}) {
      if (!rooftune::right<float>(kept, reduced, by_rows)) return 1;
      if (!rooftune::right<double>(kept, reduced, by_rows)) return 1;
    }
  }
}
