// Gram products: the right operand is the left one transposed, so the result without alpha and beta
// is symmetric. Only what lies on and below the diagonal is computed, and is added to C in both
// places. The rows are packed once, into panels whose columns serve as rows of the tile too.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_GRAM_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_GRAM_INL_H_

#include "ops/matmul/cpu/pack.h"
#include "ops/matmul/cpu/register_tile.h"

namespace rooftune {
namespace {

template <class S, int kTileRows, int kVectors, int kTerms>
struct Gram {
  using T = typename S::Element;
  static constexpr Index kRows = kTileRows, kCols = kVectors * S::kWidth;
  static_assert(kCols % kRows == 0 && kCols % Square<T>::kSide == 0);
  // Panels on each side of a task: its part of one side stays in the second-level cache.
  static constexpr Index kMostPanels = 192 / kCols;
  // Elements that are packed at a time: every task reads much of them, from the caches.
  static constexpr Index kMostPacked = Index{1} << 19;
  // Terms between two visits of C, at least: to write it in both places costs as much as some
  // hundred terms.
  static constexpr Index kLeastTerms = 1024;

  struct Plan {
    Index panels, groups;
    KBlocks blocks;
    std::size_t panel_bytes, sum_bytes;  // the latter for each thread

    std::size_t bytes(Index threads) const {
      return panel_bytes + sum_bytes * static_cast<std::size_t>(threads);
    }
  };

  static Plan plan(const Product<T>& p, Index threads) {
    Plan plan;
    plan.panels = ceil_div(p.m, kCols);
    plan.groups = ceil_div(plan.panels, kMostPanels);
    const Index wanted = threads == 1 ? 1 : 4 * threads;
    while (plan.groups < plan.panels && plan.groups * (plan.groups + 1) / 2 < wanted) {
      ++plan.groups;
    }
    plan.blocks = k_blocks(p.k, greater(kLeastTerms, kMostPacked / (plan.panels * kCols)));
    const auto bytes = [](Index elements) {
      return (static_cast<std::size_t>(elements) * sizeof(T) + 4095) / 4096 * 4096;
    };
    plan.panel_bytes = bytes(plan.panels * kCols * plan.blocks.size);
    const Index side = ceil_div(plan.panels, plan.groups) * kCols;
    plan.sum_bytes = bytes(side * side);
    return plan;
  }

  // sums += a^T b for kRows columns of one panel and all of another.
  static void tile(Index terms, const T* a, const T* b, T* sums, Index pitch, bool first) {
    typename S::Vector sum[kTileRows][kVectors];
#pragma GCC unroll 32
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] = S::zero();
    }
    for (; terms > 0; --terms) {
      typename S::Vector vb[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) vb[v] = S::load(b + v * S::kWidth);
#pragma GCC unroll 32
      for (int i = 0; i < kTileRows; ++i) {
        const auto va = S::broadcast(a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sum[i][v] = S::fma(va, vb[v], sum[i][v]);
      }
      a += kCols;
      b += kCols;
    }
    Tile<T> t;
    t.c = sums;
    t.c_row = pitch;
    t.alpha = T(1);
    t.beta = first ? T(0) : T(1);
    write_tile<S, kTileRows, kVectors, false>(sum, t);
  }

  // to[c * kCols + r] = from[r * pitch + c]
  static void turn(const T* from, Index pitch, T* to) {
    using Sq = Square<T>;
    constexpr Index kSide = Sq::kSide;
    for (Index r = 0; r < kCols; r += kSide) {
      for (Index c = 0; c < kCols; c += kSide) {
        typename Sq::Vector v[kSide];
#pragma GCC unroll 4
        for (Index i = 0; i < kSide; ++i) __builtin_memcpy(&v[i], from + (r + i) * pitch + c, 16);
        Sq::turn(v);
#pragma GCC unroll 4
        for (Index i = 0; i < kSide; ++i) __builtin_memcpy(to + (c + i) * kCols + r, &v[i], 16);
      }
    }
  }

  // The block of C with the columns of panels [i, i_end) as rows and those of [j, j_end) as
  // columns.
  static void block(const Product<T>& p, Index p0, Index terms, const T* packed, Index i,
                    Index i_end, Index j, Index j_end, T* sums) {
    const Index pitch = (j_end - j) * kCols;
    const Index step = kCols * terms;
    const auto place = [&](Index ip, Index jp) {
      return sums + (ip - i) * kCols * pitch + (jp - j) * kCols;
    };
    for (Index q = 0; q < terms; q += kTerms) {
      const Index count = lesser(Index{kTerms}, terms - q);
      for (Index jp = j; jp < j_end; ++jp) {
        const T* b = packed + jp * step + q * kCols;
        for (Index ip = greater(i, jp); ip < i_end; ++ip) {
          const T* a = packed + ip * step + q * kCols;
          for (Index r = 0; r < kCols; r += kRows) {
            tile(count, a + r, b, place(ip, jp) + r * pitch, pitch, q == 0);
          }
        }
      }
    }
    const T beta = block_beta(p, p0);
    alignas(64) T turned[kCols * kCols];
    for (Index ip = i; ip < i_end; ++ip) {
      const Index rows = lesser(kCols, p.m - ip * kCols);
      for (Index jp = j; jp < lesser(j_end, ip + 1); ++jp) {
        const Index cols = lesser(kCols, p.m - jp * kCols);
        update_block<S>(place(ip, jp), pitch, rows, cols, p.alpha, beta,
                        p.c + ip * kCols * p.c_row + jp * kCols * p.c_col, p.c_row, p.c_col);
        if (ip == jp) continue;
        turn(place(ip, jp), pitch, turned);
        update_block<S>(turned, kCols, cols, rows, p.alpha, beta,
                        p.c + jp * kCols * p.c_row + ip * kCols * p.c_col, p.c_row, p.c_col);
      }
    }
  }

  // `memory` holds plan.bytes() for the threads of the team.
  static void run(const Product<T>& p, const Plan& plan, const Team& team, std::byte* memory) {
    T* const packed = reinterpret_cast<T*>(memory);
    for (Index p0 = 0; p0 < p.k; p0 += plan.blocks.size) {
      const Index terms = lesser(plan.blocks.size, p.k - p0);
      team.run(plan.panels, [&](Index panel, int) {
        const Index first = panel * kCols;
        pack_panel<S, kCols>(p.a + first * p.a_row + p0 * p.a_col, p.a_row, p.a_col,
                             lesser(kCols, p.m - first), terms, packed + first * terms);
      });
      team.run(plan.groups * plan.groups, [&](Index task, int worker) {
        // The long rows at the bottom come first.
        const Index row = plan.groups - 1 - task / plan.groups, column = task % plan.groups;
        if (column > row) return;
        block(p, p0, terms, packed, part_begin(plan.panels, plan.groups, row),
              part_begin(plan.panels, plan.groups, row + 1),
              part_begin(plan.panels, plan.groups, column),
              part_begin(plan.panels, plan.groups, column + 1),
              reinterpret_cast<T*>(memory + plan.panel_bytes +
                                   plan.sum_bytes * static_cast<std::size_t>(worker)));
      });
    }
  }
};

// Without alpha and beta the transposed product is the same: C may be written either way.
template <class T>
Product<T> gram_product(const GemmArgs& args, Index batch) {
  Product<T> p = product_of<T>(args, batch);
  if (p.c_col != 1 && p.c_row == 1) {
    p.c_row = p.c_col;
    p.c_col = 1;
  }
  return p;
}

template <class S, int kRows, int kVectors, int kTerms>
KernelOutcome gram(const void* raw, CpuContext& context) {
  using T = typename S::Element;
  using G = Gram<S, kRows, kVectors, kTerms>;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Team team = team_for(work(args) / 2, context);
  const Index threads = team.threads();
  // With many products each thread takes whole ones: no waiting in between.
  const bool whole_products = threads > 1 && args.batch >= 2 * threads;
  const typename G::Plan plan =
      G::plan(gram_product<T>(args, 0), whole_products ? Index{1} : threads);
  const std::size_t each = plan.bytes(1);
  std::byte* const memory = context.scratch(
      whole_products ? each * static_cast<std::size_t>(threads) : plan.bytes(threads));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  if (whole_products) {
    team.run(args.batch, [&](Index batch, int worker) {
      G::run(gram_product<T>(args, batch), plan, Team{},
             memory + static_cast<std::size_t>(worker) * each);
    });
    return KernelOutcome::done;
  }
  for (Index batch = 0; batch < args.batch; ++batch) {
    G::run(gram_product<T>(args, batch), plan, team, memory);
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_GRAM_INL_H_
