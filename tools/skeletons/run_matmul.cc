// Runs the kernel TECHNIQUE on small products of whole numbers, so that results are exact.
#define ROOFTUNE_KERNEL_ISA 0
#include <cstdio>
#include <vector>

#include "ops/matmul/cpu/TECHNIQUE-inl.h"
#include "tools/skeletons/serial_context.h"

namespace rooftune {

// One product with batch, each operand by rows or by columns; c starts as 3 everywhere.
template <class T>
bool right(Index m, Index n, Index k, int layouts, double alpha, double beta) {
  constexpr Index kBatch = 2;
  std::vector<T> a(kBatch * m * k), b(k * n), c(kBatch * m * n, T(3));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i * 7 % 11) - T(5);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i * 5 % 9) - T(4);
  GemmArgs args;
  args.family = sizeof(T) == 4 ? TypeFamily::f32 : TypeFamily::f64;
  args.a_type = args.b_type = args.c_type = dtype_of<T>;
  args.m = m, args.n = n, args.k = k;
  args.a = a.data(), args.b = b.data(), args.c = c.data();
  args.a_row = layouts & 1 ? 1 : k, args.a_col = layouts & 1 ? m : 1;
  args.b_row = layouts & 2 ? 1 : n, args.b_col = layouts & 2 ? k : 1;
  args.c_row = layouts & 4 ? 1 : n, args.c_col = layouts & 4 ? m : 1;
  args.alpha = alpha, args.beta = beta;
  args.batch = kBatch, args.batch_rank = 1;
  args.batch_extent[0] = kBatch;
  args.a_batch[0] = m * k, args.c_batch[0] = m * n;  // b is shared
  SerialContext context;
  if (TECHNIQUE<Simd<T>>(&args, context) != KernelOutcome::done) return false;
  for (Index x = 0; x < kBatch; ++x) {
    for (Index i = 0; i < m; ++i) {
      for (Index j = 0; j < n; ++j) {
        T sum = 0;
        for (Index p = 0; p < k; ++p) {
          sum +=
              a[x * m * k + i * args.a_row + p * args.a_col] * b[p * args.b_row + j * args.b_col];
        }
        const T wanted = T(alpha) * sum + T(beta) * T(3);
        if (c[x * m * n + i * args.c_row + j * args.c_col] != wanted) {
          std::printf("wrong at batch %d row %d column %d of %dx%dx%d\n", int(x), int(i), int(j),
                      int(m), int(n), int(k));
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace rooftune

int main() {
  for (const auto [m, n, k] :
       {std::array<long, 3>{1, 1, 1}, {5, 7, 3}, {4, 16, 600}, {33, 1, 257}}) {
    for (int layouts = 0; layouts < 8; ++layouts) {
      if (!rooftune::right<float>(m, n, k, layouts, 1, 0)) return 1;
      if (!rooftune::right<double>(m, n, k, layouts, -2, 1)) return 1;
    }
  }
}
