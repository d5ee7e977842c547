// One matrix product with typed pointers, and the ways kernels look at it.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PRODUCT_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PRODUCT_H_

#include <cstddef>

#include "device/cpu/context.h"
#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/gemm_args.h"
#include "ops/simd.h"

namespace rooftune {
namespace {

template <class T>
struct Product {
  Index m, n, k;
  const T* a;
  Index a_row, a_col;
  const T* b;
  Index b_row, b_col;
  T* c;
  Index c_row, c_col;
  T alpha, beta;
};

// The stride along an axis of extent 1 means nothing; it is given as 1, so that it is never in the
// way of a kernel that wants a unit stride.
template <class T>
Product<T> product_of(const GemmArgs& args, Index batch_index) {
  const BatchOffsets at = batch_index == 0 ? BatchOffsets{} : batch_offsets(args, batch_index);
  Product<T> p = {args.m,
                  args.n,
                  args.k,
                  static_cast<const T*>(args.a) + at.a,
                  args.a_row,
                  args.a_col,
                  static_cast<const T*>(args.b) + at.b,
                  args.b_row,
                  args.b_col,
                  static_cast<T*>(args.c) + at.c,
                  args.c_row,
                  args.c_col,
                  static_cast<T>(args.alpha),
                  static_cast<T>(args.beta)};
  if (p.m == 1) p.a_row = p.c_row = 1;
  if (p.n == 1) p.b_col = p.c_col = 1;
  if (p.k == 1) p.a_col = p.b_row = 1;
  return p;
}

// C^T = B^T A^T: the same product with rows and columns in each other's place.
template <class T>
Product<T> transposed(const Product<T>& p) {
  return {p.n,     p.m,     p.k, p.b,     p.b_col, p.b_row, p.a,
          p.a_col, p.a_row, p.c, p.c_col, p.c_row, p.alpha, p.beta};
}

// The product turned so that B has unit stride along its columns where that is possible, which is
// what a kernel needs that loads vectors of B where they lie. Where both ways are possible: the
// one that writes whole vectors of C, then the one with the longer rows.
template <class T>
Product<T> with_unit_columns(const Product<T>& p) {
  if (p.a_row != 1) return p;
  if (p.b_col != 1) return transposed(p);
  if ((p.c_col == 1) != (p.c_row == 1)) return p.c_col == 1 ? p : transposed(p);
  return p.n >= p.m ? p : transposed(p);
}

// The part of a product with rows [i, i + m), columns [j, j + n) and terms [p, p + k).
template <class T>
Product<T> part_of(const Product<T>& whole, Index i, Index m, Index j, Index n, Index p, Index k) {
  Product<T> part = whole;
  part.m = m;
  part.n = n;
  part.k = k;
  part.a += i * whole.a_row + p * whole.a_col;
  part.b += p * whole.b_row + j * whole.b_col;
  part.c += i * whole.c_row + j * whole.c_col;
  return part;
}

// A long sum in blocks of at most `most` terms, of even length but for the last. Lengths are
// multiples of 32: the sums of whole numbers stay exact 32 times longer.
struct KBlocks {
  Index size, count;
};
inline KBlocks k_blocks(Index k, Index most) {
  if (k <= most) return {k, 1};
  const Index size = lesser(most, round_up(ceil_div(k, ceil_div(k, most)), 32));
  return {size, ceil_div(k, size)};
}

// The first block of a long sum applies beta; the others add to what the blocks before them wrote.
template <class T>
T block_beta(const Product<T>& product, Index first_term) {
  return first_term == 0 ? product.beta : T(1);
}

template <class T>
void update_one(T* c, T alpha, T beta, T sum) {
  store_one(c, beta == T(0) ? alpha * sum : beta * load_one(c) + alpha * sum);
}

// C = alpha * sums + beta * C for a small block of finished sums that lies in a buffer.
template <class S, class T>
void update_block(const T* sums, Index pitch, Index rows, Index cols, T alpha, T beta, T* c,
                  Index c_row, Index c_col) {
  if (c_col != 1) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        update_one(c + i * c_row + j * c_col, alpha, beta, sums[i * pitch + j]);
      }
    }
    return;
  }
  const auto va = S::broadcast(alpha);
  const auto vb = S::broadcast(beta);
  for (Index i = 0; i < rows; ++i) {
    const T* from = sums + i * pitch;
    T* to = c + i * c_row;
    for (Index j = 0; j < cols; j += S::kWidth) {
      const auto mask = S::mask(lesser(cols - j, S::kWidth));
      auto v = S::mul(va, S::load(from + j, mask));
      if (beta != T(0)) v = S::fma(vb, S::load(to + j, mask), v);
      S::store(to + j, mask, v);
    }
  }
}

// Runs tasks on all threads of a launch or, without a context, on the calling one: the inside of a
// product that is itself one task of many.
struct Team {
  CpuContext* context = nullptr;

  int threads() const { return context == nullptr ? 1 : context->threads(); }
  template <class Task>
  void run(Index count, Task&& task) const {
    if (context == nullptr || count == 1) {
      for (Index index = 0; index < count; ++index) task(index, 0);
    } else {
      context->parallel_for(count, task);
    }
  }
};

// Multiply-adds below which waking other threads costs more than they save: about a microsecond
// of one core's work for a fork and join of the same order.
inline constexpr double kWorthThreads = 32768;

inline Team team_for(double multiply_adds, CpuContext& context) {
  return {multiply_adds < 2 * kWorthThreads || context.threads() == 1 ? nullptr : &context};
}

// Batches are walked in groups when each product needs `each` elements of scratch memory: what a
// launch asks for is kept by its thread, so it must not grow with the batch.
inline Index batch_group(Index batch, Index each) {
  constexpr Index kMostElements = Index{1} << 22;
  return greater(1, lesser(batch, kMostElements / greater(each, 1)));
}

inline double work(const GemmArgs& args) {
  return static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.k) *
         static_cast<double>(args.batch);
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PRODUCT_H_
