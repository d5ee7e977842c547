// Matrix times vector on one thread, for the kernels that share it out in different ways.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_MAT_VEC_H_
#define ROOFTUNE_OPS_MATMUL_CPU_MAT_VEC_H_

#include "ops/matmul/cpu/dots.h"

namespace rooftune {
namespace {

// y = alpha * M x + beta * y; M(i, p) is m + i * row + p * step.
template <class E, class Out>
struct MatVec {
  Index rows, terms;
  const E* m;
  Index row, step;
  const E* x;
  Index x_step;
  Out* y;
  Index y_step;
  Sum<E> alpha, beta;
  bool m_unsigned, x_unsigned;
};

template <class E, class Out>
MatVec<E, Out> mat_vec_of(const Product<E, Out>& p) {
  return {p.m, p.k,     p.a,     p.a_row, p.a_col,      p.b,         p.b_row,
          p.c, p.c_row, p.alpha, p.beta,  p.a_unsigned, p.b_unsigned};
}

// For m = 1 or n = 1. With both, either operand can be the matrix of one row: the one whose terms
// lie side by side is taken.
template <class E, class Out>
MatVec<E, Out> mat_vec_of(const GemmArgs& args, Index batch) {
  const Product<E, Out> p = product_of<E, Out>(args, batch);
  const bool turn = p.n != 1 || (p.m == 1 && p.a_col != 1);
  return mat_vec_of(turn ? transposed(p) : p);
}

// The same, but with the rows side by side.
template <class E, class Out>
MatVec<E, Out> mat_vec_by_unit_rows(const GemmArgs& args, Index batch) {
  const Product<E, Out> p = product_of<E, Out>(args, batch);
  return mat_vec_of(p.n == 1 && p.a_row == 1 ? p : transposed(p));
}

template <class E, class Out>
MatVec<E, Out> part_of(const MatVec<E, Out>& whole, Index i, Index rows, Index p, Index terms) {
  MatVec<E, Out> part = whole;
  part.rows = rows;
  part.terms = terms;
  part.m += i * whole.row + p * whole.step;
  part.x += p * whole.x_step;
  part.y += i * whole.y_step;
  return part;
}

// Terms whose sum is made in the lanes of a few vectors before it is added to a total.
inline constexpr Index kDotTerms = 16384;

// Dot products of kRows rows with x; terms and x side by side.
template <class D, int kRows>
void dot_rows(const typename D::E* m, Index row, const typename D::X* x, Index terms,
              typename D::Total (&total)[kRows]) {
  using V = typename D::Vector;
  constexpr Index kStep = D::kTerms;
  for (int r = 0; r < kRows; ++r) total[r] = 0;
  for (Index p0 = 0; p0 < terms; p0 += kDotTerms) {
    const Index end = lesser(terms, p0 + kDotTerms);
    V even[kRows], odd[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) even[r] = odd[r] = D::zero();
    Index p = p0;
    for (; p + 2 * kStep <= end; p += 2 * kStep) {
      const auto x0 = D::load_x(x + p);
      const auto x1 = D::load_x(x + p + kStep);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        even[r] = D::add(even[r], D::load_a(m + r * row + p), x0);
        odd[r] = D::add(odd[r], D::load_a(m + r * row + p + kStep), x1);
      }
    }
    for (; p < end; p += kStep) {
      const Index count = lesser(end - p, kStep);
      const auto x0 = D::load_x(x + p, count);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        even[r] = D::add(even[r], D::load_a(m + r * row + p, count), x0);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[r] += D::total(D::plus(even[r], odd[r]));
  }
}

// The dot form, for rows whose terms lie side by side (step 1) and an x that does (x_step 1).
template <class Dots, class Out>
void mat_vec_by_rows(const MatVec<typename Dots::E, Out>& v) {
  Dots::with_signs(v.m_unsigned, v.x_unsigned, [&]<class D>() {
    constexpr int kRows = 4;
    Index i = 0;
    const Index together = row_after_row<typename D::E>(v.rows, v.terms, 1) ? 0 : v.rows;
    for (; i + kRows <= together; i += kRows) {
      typename D::Total total[kRows];
      dot_rows<D, kRows>(v.m + i * v.row, v.row, v.x, v.terms, total);
      for (int r = 0; r < kRows; ++r) {
        update_one(v.y + (i + r) * v.y_step, v.alpha, v.beta, D::finish(total[r]));
      }
    }
    for (; i < v.rows; ++i) {
      typename D::Total total[1];
      dot_rows<D, 1>(v.m + i * v.row, v.row, v.x, v.terms, total);
      update_one(v.y + i * v.y_step, v.alpha, v.beta, D::finish(total[0]));
    }
  });
}

// sums[i] += sum over kTerms columns of M(i, p) x(p); rows side by side.
template <class S, int kTerms, class E, class Out>
void add_columns(const MatVec<E, Out>& v, Index p, typename S::Element* sums) {
  using V = typename S::Vector;
  using From = Elements<S, E>;
  const auto* m = v.m + p * v.step;
  V x[kTerms];
#pragma GCC unroll 8
  for (int t = 0; t < kTerms; ++t) x[t] = From::broadcast(v.x + (p + t) * v.x_step);
  Index i = 0;
  for (; i + S::kWidth <= v.rows; i += S::kWidth) {
    V sum = S::mul(From::load(m + i), x[0]);
#pragma GCC unroll 8
    for (int t = 1; t < kTerms; ++t) sum = S::fma(From::load(m + t * v.step + i), x[t], sum);
    S::store(sums + i, S::add(S::load(sums + i), sum));
  }
  if (i < v.rows) {
    const auto mask = S::mask(v.rows - i);
    V sum = S::mul(From::load(m + i, mask), x[0]);
#pragma GCC unroll 8
    for (int t = 1; t < kTerms; ++t) {
      sum = S::fma(From::load(m + t * v.step + i, mask), x[t], sum);
    }
    S::store(sums + i, mask, S::add(S::load(sums + i, mask), sum));
  }
}

// The axpy form, for rows that lie side by side (row 1): columns are added to a block of y that
// stays in the first-level cache, eight at a time, each as a stream of its own.
template <class S, class E, class Out>
void mat_vec_by_columns(const MatVec<E, Out>& v) {
  using T = typename S::Element;
  constexpr Index kRows = 2048;
  // A narrower output must not take partial sums.
  const Index most_terms = __is_same(Out, T) ? 1024 : v.terms;
  alignas(64) T sums[kRows];
  for (Index i = 0; i < v.rows; i += kRows) {
    const Index rows = lesser(kRows, v.rows - i);
    for (Index p0 = 0; p0 < v.terms; p0 += most_terms) {
      const auto part = part_of(v, i, rows, p0, lesser(most_terms, v.terms - p0));
      for (Index r = 0; r < rows; ++r) sums[r] = T(0);
      Index p = 0;
      for (; p + 8 <= part.terms; p += 8) add_columns<S, 8>(part, p, sums);
      for (; p < part.terms; ++p) add_columns<S, 1>(part, p, sums);
      const T beta = p0 == 0 ? v.beta : T(1);
      if (v.y_step == 1) {
        update_block<S>(sums, 0, 1, rows, v.alpha, beta, part.y, 0, 1);
      } else {
        for (Index r = 0; r < rows; ++r) {
          update_one(part.y + r * v.y_step, v.alpha, beta, sums[r]);
        }
      }
    }
  }
}

// x side by side: itself, or a copy in `buffer`.
template <class E, class Out>
const E* unit_vector(const MatVec<E, Out>& v, E* buffer) {
  if (v.x_step == 1) return v.x;
  for (Index p = 0; p < v.terms; ++p) store_one(buffer + p, load_one(v.x + p * v.x_step));
  return buffer;
}

// Parts that the rows of one product are cut into: `each_thread` for every thread over the whole
// batch, but no part with so little work that handing it out is not worth while.
inline Index mat_vec_parts(const GemmArgs& args, Index rows, Index least_rows, Index each_thread,
                           const Team& team) {
  if (team.threads() == 1) return 1;
  const Index wanted =
      lesser(each_thread * team.threads(), static_cast<Index>(work(args) / kWorthThreads) + 1);
  return greater(1, lesser(rows / least_rows, ceil_div(wanted, args.batch)));
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_MAT_VEC_H_
