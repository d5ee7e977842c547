// The five loops of Goto and van de Geijn: both operands are packed into panels that fit the
// caches, whatever their layout was.
//
// Blocks of k and n are walked in order. For each, panels of A and of B are packed by all threads
// together; then the block of C is cut in both directions into tasks, which the threads take as
// they become free.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_

#include "ops/matmul/cpu/pack.h"
#include "ops/matmul/cpu/register_tile.h"

namespace rooftune {
namespace {

// In elements, for f32; f64 halves mc and nc.
struct Blocking {
  int mc;  // rows of A in one task: mc * kc stays in the second-level cache
  int kc;  // terms of a panel: kc * columns of a tile is for the first-level cache
  int nc;  // columns of B that are packed at a time
};

// Rows of A that are packed at a time: bounds the memory for tall products.
inline constexpr Index kMaxPackedRows = 6144;

template <class S, int kRows, int kVectors>
struct Packed {
  using T = typename S::Element;
  static constexpr Index kCols = kVectors * S::kWidth;

  struct Plan {
    Index n_blocks, m_blocks;         // of the outer loops
    Index terms, a_panels, b_panels;  // the most in one block
    Index mc;
    std::size_t a_bytes, b_bytes;
  };

  static Plan plan(Index m, Index n, Index k, const Blocking& blocking) {
    const Index scale = static_cast<Index>(sizeof(T) / sizeof(float));
    Plan plan;
    plan.terms = k_blocks(k, blocking.kc).size;
    const Index row_panels = ceil_div(m, kRows);
    plan.m_blocks = ceil_div(row_panels * kRows, kMaxPackedRows);
    plan.a_panels = ceil_div(row_panels, plan.m_blocks);
    const Index col_panels = ceil_div(n, kCols);
    plan.n_blocks = ceil_div(col_panels * kCols, blocking.nc / scale);
    plan.b_panels = ceil_div(col_panels, plan.n_blocks);
    plan.mc = greater(kRows, blocking.mc / scale / kRows * kRows);
    const auto bytes = [&](Index elements) {
      return (static_cast<std::size_t>(elements) * sizeof(T) + 4095) / 4096 * 4096;
    };
    plan.a_bytes = bytes(plan.a_panels * kRows * plan.terms);
    plan.b_bytes = bytes(plan.b_panels * kCols * plan.terms);
    return plan;
  }

  // The tiles [i, i_end) x [j, j_end), counted in panels, of one block of C.
  static void multiply(const Product<T>& block, T beta, const T* a, const T* b, Index i,
                       Index i_end, Index j, Index j_end) {
    alignas(64) T buffer[kRows * kCols];
    Tile<T> tile;
    tile.k = block.k;
    for (Index jp = j; jp < j_end; ++jp) {
      const Index cols = lesser(kCols, block.n - jp * kCols);
      tile.b = b + jp * kCols * block.k;
      for (Index ip = i; ip < i_end; ++ip) {
        const Index rows = lesser(kRows, block.m - ip * kRows);
        T* c = block.c + ip * kRows * block.c_row + jp * kCols * block.c_col;
        tile.a = a + ip * kRows * block.k;
        if (rows == kRows && cols == kCols && block.c_col == 1) {
          tile.c = c;
          tile.c_row = block.c_row;
          tile.alpha = block.alpha;
          tile.beta = beta;
          tile_packed<S, kRows, kVectors>(tile);
        } else {
          tile.c = buffer;
          tile.c_row = kCols;
          tile.alpha = T(1);
          tile.beta = T(0);
          tile_packed<S, kRows, kVectors>(tile);
          update_block<S>(buffer, kCols, rows, cols, block.alpha, beta, c, block.c_row,
                          block.c_col);
        }
      }
    }
  }

  // `memory` holds plan.a_bytes + plan.b_bytes.
  static void run(const Product<T>& p, const Plan& plan, const Team& team, std::byte* memory) {
    T* const packed_a = reinterpret_cast<T*>(memory);
    T* const packed_b = reinterpret_cast<T*>(memory + plan.a_bytes);
    const Index row_panels = ceil_div(p.m, kRows);
    const Index col_panels = ceil_div(p.n, kCols);
    // Panels that one packing task takes: enough to outweigh handing the task out.
    constexpr Index kAGroup = 4;
    constexpr Index kBGroup = 2;
    for (Index nb = 0; nb < plan.n_blocks; ++nb) {
      const Index j0 = part_begin(col_panels, plan.n_blocks, nb);
      const Index b_panels = part_begin(col_panels, plan.n_blocks, nb + 1) - j0;
      const Index n0 = j0 * kCols;
      const Index n = lesser(b_panels * kCols, p.n - n0);
      for (Index p0 = 0; p0 < p.k; p0 += plan.terms) {
        const Index terms = lesser(plan.terms, p.k - p0);
        for (Index mb = 0; mb < plan.m_blocks; ++mb) {
          const Index i0 = part_begin(row_panels, plan.m_blocks, mb);
          const Index a_panels = part_begin(row_panels, plan.m_blocks, mb + 1) - i0;
          const Index m0 = i0 * kRows;
          const Index m = lesser(a_panels * kRows, p.m - m0);
          const Product<T> block = part_of(p, m0, m, n0, n, p0, terms);
          const Index a_groups = ceil_div(a_panels, kAGroup);
          const Index b_groups = mb == 0 ? ceil_div(b_panels, kBGroup) : 0;
          team.run(a_groups + b_groups, [&](Index task, int) {
            if (task < b_groups) {
              for (Index j = task * kBGroup; j < lesser(b_panels, (task + 1) * kBGroup); ++j) {
                pack_panel<S, kCols>(block.b + j * kCols * block.b_col, block.b_col, block.b_row,
                                     lesser(kCols, n - j * kCols), terms,
                                     packed_b + j * kCols * terms);
              }
              return;
            }
            task -= b_groups;
            for (Index i = task * kAGroup; i < lesser(a_panels, (task + 1) * kAGroup); ++i) {
              pack_panel<S, kRows>(block.a + i * kRows * block.a_row, block.a_row, block.a_col,
                                   lesser(kRows, m - i * kRows), terms,
                                   packed_a + i * kRows * terms);
            }
          });
          const Index row_parts = ceil_div(a_panels, plan.mc / kRows);
          const Index wanted = team.threads() == 1 ? 1 : 4 * Index{team.threads()};
          const Index col_parts = lesser(b_panels, ceil_div(wanted, row_parts));
          team.run(row_parts * col_parts, [&](Index task, int) {
            const Index row_part = task / col_parts;
            const Index col_part = task % col_parts;
            multiply(block, block_beta(p, p0), packed_a, packed_b,
                     part_begin(a_panels, row_parts, row_part),
                     part_begin(a_panels, row_parts, row_part + 1),
                     part_begin(b_panels, col_parts, col_part),
                     part_begin(b_panels, col_parts, col_part + 1));
          });
        }
      }
    }
  }
};

// C is written a vector at a time along its columns; a C that lies the other way is made as the
// transposed product.
template <class T>
Product<T> with_unit_output(const Product<T>& p) {
  return p.c_col != 1 && p.c_row == 1 ? transposed(p) : p;
}

template <class S, int kRows, int kVectors, Blocking kBlocking>
KernelOutcome packed(const void* raw, CpuContext& context) {
  using P = Packed<S, kRows, kVectors>;
  using T = typename S::Element;
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  const Product<T> first = with_unit_output(product_of<T>(args, 0));
  const typename P::Plan plan = P::plan(first.m, first.n, first.k, kBlocking);
  const Team team = team_for(work(args), context);
  const std::size_t bytes = plan.a_bytes + plan.b_bytes;
  // With many products each thread takes whole ones: no waiting between the blocks.
  const Index threads = team.threads();
  const bool whole_products = threads > 1 && args.batch >= 2 * threads;
  std::byte* const memory =
      context.scratch(whole_products ? bytes * static_cast<std::size_t>(threads) : bytes);
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  if (whole_products) {
    team.run(args.batch, [&](Index batch, int worker) {
      P::run(with_unit_output(product_of<T>(args, batch)), plan, Team{},
             memory + static_cast<std::size_t>(worker) * bytes);
    });
    return KernelOutcome::done;
  }
  for (Index batch = 0; batch < args.batch; ++batch) {
    P::run(with_unit_output(product_of<T>(args, batch)), plan, team, memory);
  }
  return KernelOutcome::done;
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_INL_H_
