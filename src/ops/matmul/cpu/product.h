// One matrix product with typed pointers, and the ways kernels look at it.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PRODUCT_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PRODUCT_H_

#include <cstddef>

#include "device/cpu/context.h"
#include "ops/elements.h"
#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/gemm_args.h"

namespace rooftune {
namespace {

// alpha or beta in the type of the sums. Those of integers are whole numbers of up to 2^31 and
// count modulo 2^32.
template <class T>
inline T scalar(double value) {
  return static_cast<T>(value);
}
template <>
inline std::int32_t scalar<std::int32_t>(double value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
}

// E is the type of A and B, Out that of C; sums, alpha and beta have the type Sum<E>. A copy of A
// may have been widened to another type.
template <class E, class Out = Sum<E>, class A = E>
struct Product {
  Index m, n, k;
  const A* a;
  Index a_row, a_col;
  const E* b;
  Index b_row, b_col;
  Out* c;
  Index c_row, c_col;
  Sum<E> alpha, beta;
  bool a_unsigned = false, b_unsigned = false;  // bytes without a sign
};

// The stride along an axis of extent 1 means nothing; it is given as 1, so that it is never in the
// way of a kernel that wants a unit stride.
template <class E, class Out = Sum<E>>
Product<E, Out> product_of(const GemmArgs& args, Index batch_index) {
  BatchOffsets at;
  if (args.batch_rank == 1) {
    at = {batch_index * args.a_batch[0], batch_index * args.b_batch[0],
          batch_index * args.c_batch[0]};
  } else if (batch_index != 0) {
    at = batch_offsets(args, batch_index);
  }
  Product<E, Out> p = {args.m,
                       args.n,
                       args.k,
                       static_cast<const E*>(args.a) + at.a,
                       args.a_row,
                       args.a_col,
                       static_cast<const E*>(args.b) + at.b,
                       args.b_row,
                       args.b_col,
                       static_cast<Out*>(args.c) + at.c,
                       args.c_row,
                       args.c_col,
                       scalar<Sum<E>>(args.alpha),
                       scalar<Sum<E>>(args.beta),
                       args.a_type == DType::u8,
                       args.b_type == DType::u8};
  if (p.m == 1) p.a_row = p.c_row = 1;
  if (p.n == 1) p.b_col = p.c_col = 1;
  if (p.k == 1) p.a_col = p.b_row = 1;
  return p;
}

// C^T = B^T A^T: the same product with rows and columns in each other's place.
template <class E, class Out>
Product<E, Out> transposed(const Product<E, Out>& p) {
  return {p.n,     p.m, p.k,     p.b,     p.b_col, p.b_row, p.a,          p.a_col,
          p.a_row, p.c, p.c_col, p.c_row, p.alpha, p.beta,  p.b_unsigned, p.a_unsigned};
}

// The product turned so that B has unit stride along its columns where that is possible, which is
// what a kernel needs that loads vectors of B where they lie. Where both ways are possible: the
// one that writes whole vectors of C, then the one with the longer rows.
template <class E, class Out>
Product<E, Out> with_unit_columns(const Product<E, Out>& p) {
  if (p.a_row != 1) return p;
  if (p.b_col != 1) return transposed(p);
  if ((p.c_col == 1) != (p.c_row == 1)) return p.c_col == 1 ? p : transposed(p);
  return p.n >= p.m ? p : transposed(p);
}

// C is written a vector at a time along its columns; a C that lies the other way is made as the
// transposed product.
template <class E, class Out>
Product<E, Out> with_unit_output(const Product<E, Out>& p) {
  return p.c_col != 1 && p.c_row == 1 ? transposed(p) : p;
}

// The part of a product with rows [i, i + m), columns [j, j + n) and terms [p, p + k).
template <class E, class Out, class A>
Product<E, Out, A> part_of(const Product<E, Out, A>& whole, Index i, Index m, Index j, Index n,
                           Index p, Index k) {
  Product<E, Out, A> part = whole;
  part.m = m;
  part.n = n;
  part.k = k;
  part.a += i * whole.a_row + p * whole.a_col;
  part.b += p * whole.b_row + j * whole.b_col;
  part.c += i * whole.c_row + j * whole.c_col;
  return part;
}

// Calls run.operator()<Out>() with the type of the output: that of the sums, or the one of the
// operands where it is narrower.
template <class E, class Run>
KernelOutcome with_output_type(const GemmArgs& args, Run run) {
  if constexpr (!__is_same(E, Sum<E>) && sizeof(E) == 2) {
    if (args.c_type != DType::f32) return run.template operator()<E>();
  }
  return run.template operator()<Sum<E>>();
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
template <class E, class Out, class A>
Sum<E> block_beta(const Product<E, Out, A>& product, Index first_term) {
  return first_term == 0 ? product.beta : Sum<E>(1);
}

// Integers wrap around, as the sums of the vector units do.
inline float scaled(float alpha, float sum) { return alpha * sum; }
inline double scaled(double alpha, double sum) { return alpha * sum; }
inline std::int32_t scaled(std::int32_t alpha, std::int32_t sum) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(alpha) *
                                   static_cast<std::uint32_t>(sum));
}
inline float added(float a, float b) { return a + b; }
inline double added(double a, double b) { return a + b; }
inline std::int32_t added(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

template <class T, class Out>
void update_one(Out* c, T alpha, T beta, T sum) {
  T value = scaled(alpha, sum);
  if (beta != T(0)) value = added(scaled(beta, T(to_sum(load_one(c)))), value);
  store_one(c, from_sum<Out>(value));
}

// C = alpha * sums + beta * C for a small block of finished sums that lies in a buffer.
template <class S, class T, class Out>
void update_block(const T* sums, Index pitch, Index rows, Index cols, T alpha, T beta, Out* c,
                  Index c_row, Index c_col) {
  if (c_col != 1 || __is_same(T, std::int32_t)) {
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) {
        update_one(c + i * c_row + j * c_col, alpha, beta, sums[i * pitch + j]);
      }
    }
    return;
  }
  if constexpr (!__is_same(T, std::int32_t)) {
    using To = Elements<S, Out>;
    const auto va = S::broadcast(alpha);
    const auto vb = S::broadcast(beta);
    for (Index i = 0; i < rows; ++i) {
      const T* from = sums + i * pitch;
      Out* to = c + i * c_row;
      for (Index j = 0; j < cols; j += S::kWidth) {
        const auto mask = S::mask(lesser(cols - j, S::kWidth));
        auto v = S::mul(va, S::load(from + j, mask));
        if (beta != T(0)) v = S::fma(vb, To::load(to + j, mask), v);
        To::store(to + j, mask, v);
      }
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
