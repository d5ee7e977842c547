// Products with a right operand that was packed before (panels.h). A is packed here, as far as all
// of its terms fit; then blocks of rows and groups of panels are tasks that need no more waiting.
//
// What the loops are over is a Micro, which has
//   E, T                     element type of A; that of the sums
//   A, B                     element types of a tile of A; of the panels
//   kRows, kCols             the largest tile of C that one call of multiply() makes
//   kWhole                   multiply() writes kRows rows, whatever number it is given
//   a_elements(terms)        of a tile of A
//   a_offset(rows, term)     from the first element of a tile to that of a term
//   b_offset(term)           the same in a panel
//   pack_a(product, first, rows, term, terms, to)   `terms` terms of a tile
//   multiply(product, rows, terms, a, b, start, c, c_row, alpha, beta)   c: a whole tile; `start`
//                            null, or the sums of the panel's columns
//   Scope                    an object that each task makes before it multiplies
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_H_

#include "ops/matmul/cpu/packed_rhs.h"
#include "ops/matmul/cpu/product.h"

namespace rooftune {
namespace {

struct PanelBlocking {
  int mc;  // rows of A in one task: mc * kc stays in the second-level cache
  int kc;  // terms that are summed in registers: kc columns of a panel stay in the first level
};

// Up to so many rows, a task walks along its panels: each is read once, as one stream.
inline constexpr Index kFewRows = 64;
// Panels of one task: with many rows they share what it has of A.
inline constexpr Index kMostPanels = 8;
// Of A that are packed at a time: bounds the memory for tall products.
inline constexpr Index kMostPackedElements = Index{1} << 22;
// Of A that the calling thread packs alone: some ten microseconds.
inline constexpr Index kFewElements = 65536;
// Terms that one packing task takes: enough to outweigh handing the task out.
inline constexpr Index kPackTerms = 1024;

template <class M, class Out, PanelBlocking kBlocking>
struct Prepacked {
  using E = typename M::E;
  using T = typename M::T;
  using A = typename M::A;
  using B = typename M::B;
  static constexpr Index kRows = M::kRows, kCols = M::kCols;
  static constexpr bool kNarrow = !__is_same(Out, T);

  struct Plan {
    Index tiles, m_blocks, block_tiles;
    Index part_tiles;                // in one task
    bool apart;                      // a task keeps its sums to itself until they are complete
    std::size_t a_bytes, sum_bytes;  // the latter for each thread

    std::size_t bytes(Index threads) const {
      return a_bytes + sum_bytes * static_cast<std::size_t>(threads);
    }
  };

  static Plan plan(const Product<E, Out>& p) {
    Plan plan;
    plan.tiles = ceil_div(p.m, kRows);
    plan.part_tiles = lesser(plan.tiles, greater(1, kBlocking.mc / kRows));
    const Index tile = M::a_elements(p.k);
    plan.block_tiles = lesser(plan.tiles, greater(plan.part_tiles, kMostPackedElements / tile));
    plan.m_blocks = ceil_div(plan.tiles, plan.block_tiles);
    plan.block_tiles = ceil_div(plan.tiles, plan.m_blocks);
    plan.apart = kNarrow || p.c_col != 1;
    const auto bytes = [](Index elements, std::size_t size) {
      return (static_cast<std::size_t>(elements) * size + 4095) / 4096 * 4096;
    };
    plan.a_bytes = bytes(plan.block_tiles * tile, sizeof(A));
    const Index panels = ceil_div(p.n, kCols);
    plan.sum_bytes =
        plan.apart ? bytes(plan.part_tiles * kRows * lesser(panels, kMostPanels) * kCols, sizeof(T))
                   : 0;
    return plan;
  }

  // Rows are shared out evenly: 16 rows with tiles of 14 are two tiles of 8.
  static Index tile_begin(const Product<E, Out>& p, const Plan& plan, Index tile) {
    return M::kWhole ? lesser(p.m, tile * kRows) : part_begin(p.m, plan.tiles, tile);
  }

  struct Task {
    Index tile, tile_end, panel, panel_end;
    const A* a;  // of tile `tile`
    T* sums;     // when they are kept apart
  };

  static const B* panel_of(const PackedRhs& rhs, Index panel) {
    return reinterpret_cast<const B*>(rhs.memory + panel * rhs.panel_bytes);
  }

  static void multiply(const Product<E, Out>& p, const Plan& plan, const PackedRhs& rhs,
                       const Task& task) {
    [[maybe_unused]] const typename M::Scope scope;
    const Index i0 = tile_begin(p, plan, task.tile);
    const Index i_end = tile_begin(p, plan, task.tile_end);
    const Index a_step = M::a_elements(p.k);
    const Index pitch = (task.panel_end - task.panel) * kCols;
    alignas(64) T buffer[kRows * kCols];
    const auto panel_part = [&](Index panel, Index p0) {
      const Index terms = lesser(Index{kBlocking.kc}, p.k - p0);
      const bool first = p0 == 0;
      const T beta = block_beta(p, p0);
      const Index j = panel * kCols;
      const Index cols = lesser(kCols, p.n - j);
      const B* b = panel_of(rhs, panel) + M::b_offset(p0);
      const B* start = first ? panel_of(rhs, panel) + rhs.rows * kCols : nullptr;
      for (Index tile = task.tile; tile < task.tile_end; ++tile) {
        const Index i = tile_begin(p, plan, tile);
        const Index rows = tile_begin(p, plan, tile + 1) - i;
        const A* a = task.a + (tile - task.tile) * a_step + M::a_offset(rows, p0);
        if (plan.apart) {
          T* sums = task.sums + (i - i0) * pitch + (panel - task.panel) * kCols;
          M::multiply(p, rows, terms, a, b, start, sums, pitch, T(1), T(first ? 0 : 1));
          continue;
        }
        if constexpr (!kNarrow) {
          Out* c = p.c + i * p.c_row + j;
          if (cols == kCols && (!M::kWhole || rows == kRows)) {
            M::multiply(p, rows, terms, a, b, start, c, p.c_row, p.alpha, beta);
          } else {
            M::multiply(p, rows, terms, a, b, start, buffer, kCols, T(1), T(0));
            update_block<Simd<T>>(buffer, kCols, rows, cols, p.alpha, beta, c, p.c_row, 1);
          }
        }
      }
    };
    if (i_end - i0 <= kFewRows) {
      for (Index panel = task.panel; panel < task.panel_end; ++panel) {
        for (Index p0 = 0; p0 < p.k; p0 += kBlocking.kc) panel_part(panel, p0);
      }
    } else {
      for (Index p0 = 0; p0 < p.k; p0 += kBlocking.kc) {
        for (Index panel = task.panel; panel < task.panel_end; ++panel) panel_part(panel, p0);
      }
    }
    if (!plan.apart) return;
    const Index j = task.panel * kCols;
    update_block<Simd<T>>(task.sums, pitch, i_end - i0, lesser(pitch, p.n - j), p.alpha, p.beta,
                          p.c + i0 * p.c_row + j * p.c_col, p.c_row, p.c_col);
  }

  // `memory` holds plan.bytes() for the threads of the team.
  static void run(const Product<E, Out>& p, const Plan& plan, const PackedRhs& rhs,
                  const Team& team, std::byte* memory) {
    A* const packed_a = reinterpret_cast<A*>(memory);
    const Index a_step = M::a_elements(p.k);
    const Index panels = ceil_div(p.n, kCols);
    const Index stretches = ceil_div(p.k, kPackTerms);
    for (Index block = 0; block < plan.m_blocks; ++block) {
      const Index t0 = part_begin(plan.tiles, plan.m_blocks, block);
      const Index tiles = part_begin(plan.tiles, plan.m_blocks, block + 1) - t0;
      // A few rows are copied sooner than other threads are woken.
      const Team packers = plan.tiles * kRows * p.k <= kFewElements ? Team{} : team;
      packers.run(tiles * stretches, [&](Index task, int) {
        const Index tile = task / stretches, term = task % stretches * kPackTerms;
        const Index i = tile_begin(p, plan, t0 + tile);
        const Index rows = tile_begin(p, plan, t0 + tile + 1) - i;
        M::pack_a(p, i, rows, term, lesser(kPackTerms, p.k - term),
                  packed_a + tile * a_step + M::a_offset(rows, term));
      });
      const Index row_parts = ceil_div(tiles, plan.part_tiles);
      const Index wanted = team.threads() == 1 ? 1 : 16 * Index{team.threads()};
      const Index col_parts =
          lesser(panels, greater(ceil_div(panels, kMostPanels), ceil_div(wanted, row_parts)));
      team.run(row_parts * col_parts, [&](Index index, int worker) {
        const Index row_part = index % row_parts, col_part = index / row_parts;
        const Index tile = part_begin(tiles, row_parts, row_part);
        multiply(p, plan, rhs,
                 {t0 + tile, t0 + part_begin(tiles, row_parts, row_part + 1),
                  part_begin(panels, col_parts, col_part),
                  part_begin(panels, col_parts, col_part + 1), packed_a + tile * a_step,
                  reinterpret_cast<T*>(memory + plan.a_bytes +
                                       plan.sum_bytes * static_cast<std::size_t>(worker))});
      });
    }
  }
};

template <class M, class Out, PanelBlocking kBlocking>
KernelOutcome run_prepacked(const GemmArgs& args, CpuContext& context) {
  using P = Prepacked<M, Out, kBlocking>;
  using E = typename M::E;
  // With one column, the strides of C along them mean nothing.
  const auto product = [&](Index batch) { return product_of<E, Out>(args, batch); };
  const typename P::Plan plan = P::plan(product(0));
  const Team team = team_for(work(args), context);
  const Index threads = team.threads();
  // With many products each thread takes whole ones: no waiting in between.
  const bool whole_products = threads > 1 && args.batch >= 2 * threads;
  const std::size_t each = plan.bytes(1);
  std::byte* const memory = context.scratch(
      whole_products ? each * static_cast<std::size_t>(threads) : plan.bytes(threads));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  if (whole_products) {
    team.run(args.batch, [&](Index batch, int worker) {
      P::run(product(batch), plan, *args.packed, Team{},
             memory + static_cast<std::size_t>(worker) * each);
    });
    return KernelOutcome::done;
  }
  for (Index batch = 0; batch < args.batch; ++batch) {
    P::run(product(batch), plan, *args.packed, team, memory);
  }
  return KernelOutcome::done;
}

// What is fetched ahead of a panel, in bytes: the hardware's own prefetchers stop at every page.
inline constexpr Index kPanelAhead = 4096;

template <class F, int kRows>
struct ByRows {
  F fn[kRows];
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_H_
