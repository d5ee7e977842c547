// A large matrix times a few vectors as dot products: for a matrix whose terms lie side by side.
// Every row is read from memory once and meets all vectors while it is in the first-level cache.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_

#include "ops/matmul/cpu/dots.h"
#include "ops/matmul/cpu/legality.h"

namespace rooftune {
namespace {

// The product turned so that the few vectors are its columns.
template <class E, class Out>
Product<E, Out> with_few_columns(const Product<E, Out>& p) {
  if (p.n > kMaxSkinny) return transposed(p);
  if (p.m > kMaxSkinny) return p;
  return p.a_col == 1 ? p : transposed(p);
}

// Sums that are not finished yet, as vectors: reduced to one number only at the end of a long
// stretch of terms.
template <class D, int kRows>
using LaneSums = typename D::Vector[kRows][kMaxSkinny];

// lanes[r][j + c] += products of row r of a and row c of x, lane by lane.
template <class D, int kRows, int kCols>
void dot_block(const typename D::E* a, Index a_row, const typename D::X* x, Index x_row,
               Index terms, Index j, LaneSums<D, kRows>& lanes) {
  typename D::Vector sum[kRows][kCols];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) sum[r][c] = lanes[r][j + c];
  }
  Index p = 0;
  for (; p + D::kTerms <= terms; p += D::kTerms) {
    decltype(D::load_x(x)) vx[kCols];
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) vx[c] = D::load_x(x + c * x_row + p);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto va = D::load_a(a + r * a_row + p);
#pragma GCC unroll 4
      for (int c = 0; c < kCols; ++c) sum[r][c] = D::add(sum[r][c], va, vx[c]);
    }
  }
  if (p < terms) {
    decltype(D::load_x(x)) vx[kCols];
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) vx[c] = D::load_x(x + c * x_row + p, terms - p);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto va = D::load_a(a + r * a_row + p, terms - p);
#pragma GCC unroll 4
      for (int c = 0; c < kCols; ++c) sum[r][c] = D::add(sum[r][c], va, vx[c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) lanes[r][j + c] = sum[r][c];
  }
}

// The block of the register file: rows x columns of sums, the vectors of x, one of a.
template <class D>
inline constexpr int kSkinnyRows = D::kManyRegisters ? 6 : 3;
template <class D>
inline constexpr int kSkinnyCols = D::kManyRegisters ? 4 : 3;

// Rows [0, kRows) of p, whose x is given with terms side by side.
template <class D, int kRows, class Out>
void skinny_row_block(const Product<typename D::E, Out>& p, const typename D::X* x, Index x_row) {
  // 2 KB of every row: those of a and of the columns at hand share the first-level cache.
  constexpr Index kTerms = 2048 / sizeof(typename D::X);
  constexpr Index kStretch = 16 * kTerms;
  constexpr int kCols = kSkinnyCols<D>;
  typename D::Total total[kRows][kMaxSkinny];
  for (int r = 0; r < kRows; ++r) {
    for (Index j = 0; j < p.n; ++j) total[r][j] = 0;
  }
  LaneSums<D, kRows> lanes;
  for (Index begin = 0; begin < p.k; begin += kStretch) {
    const Index end = lesser(p.k, begin + kStretch);
    for (int r = 0; r < kRows; ++r) {
      for (Index j = 0; j < p.n; ++j) lanes[r][j] = D::zero();
    }
    for (Index p0 = begin; p0 < end; p0 += kTerms) {
      const Index terms = lesser(kTerms, end - p0);
      Index j = 0;
      for (; j + kCols <= p.n; j += kCols) {
        dot_block<D, kRows, kCols>(p.a + p0, p.a_row, x + p0 + j * x_row, x_row, terms, j, lanes);
      }
      if (j + 2 <= p.n) {
        dot_block<D, kRows, 2>(p.a + p0, p.a_row, x + p0 + j * x_row, x_row, terms, j, lanes);
        j += 2;
      }
      for (; j < p.n; ++j) {
        dot_block<D, kRows, 1>(p.a + p0, p.a_row, x + p0 + j * x_row, x_row, terms, j, lanes);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (Index j = 0; j < p.n; ++j) total[r][j] += D::total(lanes[r][j]);
    }
  }
  for (Index r = 0; r < kRows; ++r) {
    for (Index j = 0; j < p.n; ++j) {
      update_one(p.c + r * p.c_row + j * p.c_col, p.alpha, p.beta, D::finish(total[r][j]));
    }
  }
}

template <class Dots, class Out>
KernelOutcome run_skinny_rows(const GemmArgs& args, CpuContext& context) {
  using E = typename Dots::E;
  using X = typename Dots::X;
  constexpr int kRows = kSkinnyRows<Dots>;
  const Product<E, Out> first = with_few_columns(product_of<E, Out>(args, 0));
  const Team team = team_for(work(args), context);
  const bool copy = first.b_row != 1 || !__is_same(X, E);
  // An odd number of cache lines between the vectors: powers of two would share a few cache sets.
  const Index x_row =
      copy ? (ceil_div(first.k, Index{64 / sizeof(X)}) | 1) * Index{64 / sizeof(X)} : first.b_col;
  const Index group = copy ? batch_group(args.batch, first.n * x_row) : args.batch;
  X* copies = nullptr;
  if (copy) {
    copies = reinterpret_cast<X*>(
        context.scratch(static_cast<std::size_t>(group * first.n * x_row) * sizeof(X)));
    if (copies == nullptr) return KernelOutcome::out_of_memory;
  }
  const Index blocks = ceil_div(first.m, kRows);
  const Index parts =
      team.threads() == 1
          ? 1
          : lesser(blocks, lesser(16 * Index{team.threads()},
                                  static_cast<Index>(work(args) / kWorthThreads) + 1));
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    if (copy) {
      team.run(batches * first.n, [&](Index task, int) {
        const Product<E, Out> p =
            with_few_columns(product_of<E, Out>(args, batch0 + task / first.n));
        const E* from = p.b + task % first.n * p.b_col;
        X* to = copies + task * x_row;
        for (Index q = 0; q < p.k; ++q) {
          if constexpr (__is_same(X, E)) {
            to[q] = load_one(from + q * p.b_row);
          } else {
            to[q] = to_sum(load_one(from + q * p.b_row));
          }
        }
      });
    }
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      const Product<E, Out> p = with_few_columns(product_of<E, Out>(args, batch0 + batch));
      const X* x = copies + batch * p.n * x_row;
      if constexpr (__is_same(X, E)) {
        if (!copy) x = p.b;
      }
      const Index end = lesser(p.m, part_begin(blocks, parts, task % parts + 1) * kRows);
      Dots::with_signs(p.a_unsigned, p.b_unsigned, [&]<class D>() {
        Index i = part_begin(blocks, parts, task % parts) * kRows;
        // With more columns the sums take longer than the rows.
        const bool alone = p.n <= 4 && row_after_row<E>(end - i, p.k, p.n);
        for (; !alone && i + kRows <= end; i += kRows) {
          skinny_row_block<D, kRows>(part_of(p, i, kRows, 0, p.n, 0, p.k), x, x_row);
        }
        for (; i < end; ++i) skinny_row_block<D, 1>(part_of(p, i, 1, 0, p.n, 0, p.k), x, x_row);
      });
    });
  }
  return KernelOutcome::done;
}

template <class Dots>
KernelOutcome skinny_rows(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Dots::E>(
      args, [&]<class Out>() { return run_skinny_rows<Dots, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_
