// Matrix times vector on one thread, for the kernels that share it out in different ways.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_MAT_VEC_H_
#define ROOFTUNE_OPS_MATMUL_CPU_MAT_VEC_H_

#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// y = alpha * M x + beta * y; M(i, p) is m + i * row + p * step.
template <class T>
struct MatVec {
  Index rows, terms;
  const T* m;
  Index row, step;
  const T* x;
  Index x_step;
  T* y;
  Index y_step;
  T alpha, beta;
};

template <class T>
MatVec<T> mat_vec_of(const Product<T>& p) {
  return {p.m, p.k, p.a, p.a_row, p.a_col, p.b, p.b_row, p.c, p.c_row, p.alpha, p.beta};
}

// For m = 1 or n = 1. With both, either operand can be the matrix of one row: the one whose terms
// lie side by side is taken.
template <class T>
MatVec<T> mat_vec_of(const GemmArgs& args, Index batch) {
  const Product<T> p = product_of<T>(args, batch);
  const bool turn = p.n != 1 || (p.m == 1 && p.a_col != 1);
  return mat_vec_of(turn ? transposed(p) : p);
}

// The same, but with the rows side by side.
template <class T>
MatVec<T> mat_vec_by_unit_rows(const GemmArgs& args, Index batch) {
  const Product<T> p = product_of<T>(args, batch);
  return mat_vec_of(p.n == 1 && p.a_row == 1 ? p : transposed(p));
}

template <class T>
MatVec<T> part_of(const MatVec<T>& whole, Index i, Index rows, Index p, Index terms) {
  MatVec<T> part = whole;
  part.rows = rows;
  part.terms = terms;
  part.m += i * whole.row + p * whole.step;
  part.x += p * whole.x_step;
  part.y += i * whole.y_step;
  return part;
}

// Terms whose sum is made in the lanes of a few vectors before it is added to an f64 total.
inline constexpr Index kDotTerms = 16384;

// Dot products of kRows rows with x; terms and x side by side.
template <class S, int kRows>
void dot_rows(const typename S::Element* m, Index row, const typename S::Element* x, Index terms,
              double (&total)[kRows]) {
  using V = typename S::Vector;
  constexpr Index kWidth = S::kWidth;
  for (int r = 0; r < kRows; ++r) total[r] = 0;
  for (Index p0 = 0; p0 < terms; p0 += kDotTerms) {
    const Index end = lesser(terms, p0 + kDotTerms);
    V even[kRows], odd[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) even[r] = odd[r] = S::zero();
    Index p = p0;
    for (; p + 2 * kWidth <= end; p += 2 * kWidth) {
      const V x0 = S::load(x + p);
      const V x1 = S::load(x + p + kWidth);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        even[r] = S::fma(S::load(m + r * row + p), x0, even[r]);
        odd[r] = S::fma(S::load(m + r * row + p + kWidth), x1, odd[r]);
      }
    }
    for (; p < end; p += kWidth) {
      const auto mask = S::mask(lesser(end - p, kWidth));
      const V x0 = S::load(x + p, mask);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        even[r] = S::fma(S::load(m + r * row + p, mask), x0, even[r]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[r] += double{S::sum(S::add(even[r], odd[r]))};
  }
}

// The dot form, for rows whose terms lie side by side (step 1) and an x that does (x_step 1).
template <class S>
void mat_vec_by_rows(const MatVec<typename S::Element>& v) {
  using T = typename S::Element;
  constexpr int kRows = 4;
  Index i = 0;
  for (; i + kRows <= v.rows; i += kRows) {
    double total[kRows];
    dot_rows<S, kRows>(v.m + i * v.row, v.row, v.x, v.terms, total);
    for (int r = 0; r < kRows; ++r) {
      update_one(v.y + (i + r) * v.y_step, v.alpha, v.beta, static_cast<T>(total[r]));
    }
  }
  for (; i < v.rows; ++i) {
    double total[1];
    dot_rows<S, 1>(v.m + i * v.row, v.row, v.x, v.terms, total);
    update_one(v.y + i * v.y_step, v.alpha, v.beta, static_cast<T>(total[0]));
  }
}

// sums[i] += sum over kTerms columns of M(i, p) x(p); rows side by side.
template <class S, int kTerms>
void add_columns(const MatVec<typename S::Element>& v, Index p, typename S::Element* sums) {
  using V = typename S::Vector;
  const auto* m = v.m + p * v.step;
  V x[kTerms];
#pragma GCC unroll 8
  for (int t = 0; t < kTerms; ++t) x[t] = S::broadcast(load_one(v.x + (p + t) * v.x_step));
  Index i = 0;
  for (; i + S::kWidth <= v.rows; i += S::kWidth) {
    V sum = S::mul(S::load(m + i), x[0]);
#pragma GCC unroll 8
    for (int t = 1; t < kTerms; ++t) sum = S::fma(S::load(m + t * v.step + i), x[t], sum);
    S::store(sums + i, S::add(S::load(sums + i), sum));
  }
  if (i < v.rows) {
    const auto mask = S::mask(v.rows - i);
    V sum = S::mul(S::load(m + i, mask), x[0]);
#pragma GCC unroll 8
    for (int t = 1; t < kTerms; ++t) sum = S::fma(S::load(m + t * v.step + i, mask), x[t], sum);
    S::store(sums + i, mask, S::add(S::load(sums + i, mask), sum));
  }
}

// The axpy form, for rows that lie side by side (row 1): columns are added to a block of y that
// stays in the first-level cache, eight at a time, each as a stream of its own.
template <class S>
void mat_vec_by_columns(const MatVec<typename S::Element>& v) {
  using T = typename S::Element;
  constexpr Index kRows = 2048;
  constexpr Index kTerms = 1024;
  alignas(64) T sums[kRows];
  for (Index i = 0; i < v.rows; i += kRows) {
    const Index rows = lesser(kRows, v.rows - i);
    for (Index p0 = 0; p0 < v.terms; p0 += kTerms) {
      const MatVec<T> part = part_of(v, i, rows, p0, lesser(kTerms, v.terms - p0));
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
template <class T>
const T* unit_vector(const MatVec<T>& v, T* buffer) {
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
