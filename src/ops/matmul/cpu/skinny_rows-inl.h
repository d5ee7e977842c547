// A large matrix times a few vectors as dot products: for a matrix whose terms lie side by side.
// Every row is read from memory once and meets all vectors while it is in the first-level cache.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_

#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

// The product turned so that the few vectors are its columns.
template <class T>
Product<T> with_few_columns(const Product<T>& p) {
  if (p.n > kMaxSkinny) return transposed(p);
  if (p.m > kMaxSkinny) return p;
  return p.a_col == 1 ? p : transposed(p);
}

// Sums that are not finished yet, as vectors: reduced to one number only at the end of a long
// stretch of terms.
template <class S, int kRows>
using LaneSums = typename S::Vector[kRows][kMaxSkinny];

// lanes[r][j + c] += products of row r of a and row c of x, lane by lane.
template <class S, int kRows, int kCols>
void dot_block(const typename S::Element* a, Index a_row, const typename S::Element* x, Index x_row,
               Index terms, Index j, LaneSums<S, kRows>& lanes) {
  using V = typename S::Vector;
  V sum[kRows][kCols];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) sum[r][c] = lanes[r][j + c];
  }
  Index p = 0;
  for (; p + S::kWidth <= terms; p += S::kWidth) {
    V vx[kCols];
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) vx[c] = S::load(x + c * x_row + p);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V va = S::load(a + r * a_row + p);
#pragma GCC unroll 4
      for (int c = 0; c < kCols; ++c) sum[r][c] = S::fma(va, vx[c], sum[r][c]);
    }
  }
  if (p < terms) {
    const auto mask = S::mask(terms - p);
    V vx[kCols];
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) vx[c] = S::load(x + c * x_row + p, mask);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V va = S::load(a + r * a_row + p, mask);
#pragma GCC unroll 4
      for (int c = 0; c < kCols; ++c) sum[r][c] = S::fma(va, vx[c], sum[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) lanes[r][j + c] = sum[r][c];
  }
}

// The block of the register file: rows x columns of sums, the vectors of x, one of a.
template <class S>
inline constexpr int kSkinnyRows = S::kRegisters == 32 ? 6 : 3;
template <class S>
inline constexpr int kSkinnyCols = S::kRegisters == 32 ? 4 : 3;

// Rows [0, kRows) of p, whose x is given with terms side by side.
template <class S, int kRows>
void skinny_row_block(const Product<typename S::Element>& p, const typename S::Element* x,
                      Index x_row) {
  using T = typename S::Element;
  // 2 KB of every row: those of a and of the columns at hand share the first-level cache.
  constexpr Index kTerms = 2048 / sizeof(T);
  constexpr Index kStretch = 16 * kTerms;
  constexpr int kCols = kSkinnyCols<S>;
  double total[kRows][kMaxSkinny] = {};
  LaneSums<S, kRows> lanes;
  for (Index begin = 0; begin < p.k; begin += kStretch) {
    const Index end = lesser(p.k, begin + kStretch);
    for (int r = 0; r < kRows; ++r) {
      for (Index j = 0; j < p.n; ++j) lanes[r][j] = S::zero();
    }
    for (Index p0 = begin; p0 < end; p0 += kTerms) {
      const Index terms = lesser(kTerms, end - p0);
      Index j = 0;
      for (; j + kCols <= p.n; j += kCols) {
        dot_block<S, kRows, kCols>(p.a + p0, p.a_row, x + p0 + j * x_row, x_row, terms, j, lanes);
      }
      for (; j < p.n; ++j) {
        dot_block<S, kRows, 1>(p.a + p0, p.a_row, x + p0 + j * x_row, x_row, terms, j, lanes);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (Index j = 0; j < p.n; ++j) total[r][j] += double{S::sum(lanes[r][j])};
    }
  }
  for (Index r = 0; r < kRows; ++r) {
    for (Index j = 0; j < p.n; ++j) {
      update_one(p.c + r * p.c_row + j * p.c_col, p.alpha, p.beta, static_cast<T>(total[r][j]));
    }
  }
}

template <class S>
KernelOutcome skinny_rows(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  constexpr int kRows = kSkinnyRows<S>;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Product<T> first = with_few_columns(product_of<T>(args, 0));
  const Team team = team_for(work(args), context);
  const bool copy = first.b_row != 1;
  // An odd number of cache lines between the vectors: powers of two would share a few cache sets.
  const Index x_row =
      copy ? (ceil_div(first.k, Index{64 / sizeof(T)}) | 1) * Index{64 / sizeof(T)} : first.b_col;
  const Index group = copy ? batch_group(args.batch, first.n * x_row) : args.batch;
  T* copies = nullptr;
  if (copy) {
    copies = reinterpret_cast<T*>(
        context.scratch(static_cast<std::size_t>(group * first.n * x_row) * sizeof(T)));
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
        const Product<T> p = with_few_columns(product_of<T>(args, batch0 + task / first.n));
        const T* from = p.b + task % first.n * p.b_col;
        T* to = copies + task * x_row;
        for (Index q = 0; q < p.k; ++q) to[q] = load_one(from + q * p.b_row);
      });
    }
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      const Product<T> p = with_few_columns(product_of<T>(args, batch0 + batch));
      const T* x = copy ? copies + batch * p.n * x_row : p.b;
      const Index end = lesser(p.m, part_begin(blocks, parts, task % parts + 1) * kRows);
      Index i = part_begin(blocks, parts, task % parts) * kRows;
      for (; i + kRows <= end; i += kRows) {
        skinny_row_block<S, kRows>(part_of(p, i, kRows, 0, p.n, 0, p.k), x, x_row);
      }
      for (; i < end; ++i) skinny_row_block<S, 1>(part_of(p, i, 1, 0, p.n, 0, p.k), x, x_row);
    });
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SKINNY_ROWS_INL_H_
