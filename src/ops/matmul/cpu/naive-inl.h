// The fallback: plain loops that accept every problem. Sums are made in f64 whatever the type is,
// so they neither stall nor lose more than the final rounding for f32 and narrower types.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_

#include "ops/matmul/cpu/packed_rhs.h"
#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// A few columns of one row: enough independent sums to hide the latency of an addition.
inline constexpr Index kNaiveColumns = 32;

// Partial sums of this many terms are added to the total, so that the error of a long f64 sum
// grows with the number of blocks and not with the number of terms.
inline constexpr Index kNaiveTerms = 1024;

// What a term is multiplied and summed in: f64, or for bytes an integer that counts modulo 2^32.
template <class E>
struct NaiveSum {
  using Type = double;
  static double of(E value, bool) { return double{to_sum(value)}; }
};
template <>
struct NaiveSum<std::int8_t> {
  using Type = std::uint32_t;
  static std::uint32_t of(std::int8_t value, bool is_unsigned) {
    return is_unsigned ? static_cast<std::uint8_t>(value) : static_cast<std::uint32_t>(value);
  }
};

template <class Out>
void write_naive(Out* to, double alpha, double beta, double sum) {
  double value = alpha * sum;
  if (beta != 0) value += beta * double{to_sum(load_one(to))};
  store_one(to, from_sum<Out>(static_cast<Sum<Out>>(value)));
}
inline void write_naive(std::int32_t* to, std::int32_t alpha, std::int32_t beta,
                        std::uint32_t sum) {
  update_one(to, alpha, beta, static_cast<std::int32_t>(sum));
}

template <class E, class Out>
void naive_columns(const Product<E, Out>& p, Index i, Index j, Index cols) {
  using From = NaiveSum<E>;
  using T = typename From::Type;
  T total[kNaiveColumns] = {};
  for (Index p0 = 0; p0 < p.k; p0 += kNaiveTerms) {
    T part[kNaiveColumns] = {};
    const Index p1 = lesser(p.k, p0 + kNaiveTerms);
    for (Index q = p0; q < p1; ++q) {
      const T a = From::of(load_one(p.a + i * p.a_row + q * p.a_col), p.a_unsigned);
      const E* b = p.b + q * p.b_row + j * p.b_col;
      for (Index c = 0; c < cols; ++c) {
        part[c] += a * From::of(load_one(b + c * p.b_col), p.b_unsigned);
      }
    }
    for (Index c = 0; c < cols; ++c) total[c] += part[c];
  }
  for (Index c = 0; c < cols; ++c) {
    write_naive(p.c + i * p.c_row + (j + c) * p.c_col, p.alpha, p.beta, total[c]);
  }
}

// With a packed B a task takes a few columns, which it unpacks, and all rows.
template <class E>
KernelOutcome naive_packed(const GemmArgs& args, CpuContext& context) {
  const Index parts = ceil_div(args.n, kNaiveColumns);
  const Team team = team_for(work(args), context);
  const Index each = args.k * kNaiveColumns;
  E* const memory = reinterpret_cast<E*>(
      context.scratch(static_cast<std::size_t>(each * team.threads()) * sizeof(E)));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  return with_output_type<E>(args, [&]<class Out>() {
    team.run(parts, [&](Index task, int worker) {
      const Index j = task * kNaiveColumns;
      const Index cols = lesser(kNaiveColumns, args.n - j);
      E* const b = memory + worker * each;
      unpack_columns(*args.packed, j, cols, b);
      for (Index batch = 0; batch < args.batch; ++batch) {
        Product<E, Out> p = product_of<E, Out>(args, batch);
        p.b = b;
        p.b_row = cols;
        p.b_col = 1;
        p.c += j * p.c_col;
        for (Index i = 0; i < args.m; ++i) naive_columns(p, i, 0, cols);
      }
    });
    return KernelOutcome::done;
  });
}

template <class E>
KernelOutcome naive(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  if (args.packed != nullptr) return naive_packed<E>(args, context);
  const Index column_parts = ceil_div(args.n, kNaiveColumns);
  const Index parts = args.m * column_parts;
  return with_output_type<E>(args, [&]<class Out>() {
    team_for(work(args), context).run(args.batch * parts, [&](Index task, int) {
      const Index j = task % parts % column_parts * kNaiveColumns;
      naive_columns(product_of<E, Out>(args, task / parts), task % parts / column_parts, j,
                    lesser(kNaiveColumns, args.n - j));
    });
    return KernelOutcome::done;
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_NAIVE_INL_H_
