// The five loops of Goto and van de Geijn: both operands are packed into panels that fit the
// caches, whatever their layout was.
//
// Blocks of k and n are walked in order. For each, panels of A and of B are packed by all threads
// together; then the block of C is cut in both directions into tasks, which the threads take as
// they become free.
//
// What the loops are over is a Micro, which has
//   E, T                     element type of A and B; that of the sums
//   A, B                     element types of the panels
//   kRows, kCols             the tile of C that one call of multiply() makes
//   kTerms                   panels hold multiples of so many terms, the rest zeros
//   a_elements(terms), b_elements(terms)   of a panel, for the terms of one block
//   pack_a, pack_b(product, first, count, terms, to)   `count` rows or columns from `first` on
//   kPanelsTogether          panels that one call of pack_a or pack_b makes at most
//   multiply(product, terms, a, b, c, c_row, alpha, beta)   c: a whole tile, columns side by side
//   kExactEdges              whether there is multiply_edge(product, terms, rows, cols, a, ...) as
//                            multiply(), for a tile of which only so much is there
//   Scope                    an object that each task makes before it multiplies
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_H_

#include "ops/matmul/cpu/pack.h"
#include "ops/matmul/cpu/register_tile.h"

namespace rooftune {
namespace {

// In elements, for operands of 4 bytes; 8 halve mc and nc.
struct Blocking {
  int mc;  // rows of A in one task: mc * kc stays in the second-level cache
  int kc;  // terms of a panel: kc * columns of a tile is for the first-level cache
  int nc;  // columns of B that are packed at a time
};

// Rows of A that are packed at a time: bounds the memory for tall products.
inline constexpr Index kMaxPackedRows = 6144;

// An Out that is narrower than the sums cannot take partial ones: with more than one block of k
// these are kept apart, in whole tiles, until the last block.
template <class M, class Out>
struct Packed {
  using E = typename M::E;
  using T = typename M::T;
  using A = typename M::A;
  using B = typename M::B;
  static constexpr Index kRows = M::kRows, kCols = M::kCols;
  static constexpr bool kNarrow = !__is_same(Out, T);

  struct Plan {
    Index n_blocks, m_blocks;         // of the outer loops
    Index terms, a_panels, b_panels;  // the most in one block
    Index mc;
    bool apart;  // partial sums are kept apart
    std::size_t a_bytes, b_bytes, sum_bytes;

    std::size_t bytes() const { return a_bytes + b_bytes + sum_bytes; }
  };

  static Plan plan(Index m, Index n, Index k, const Blocking& blocking) {
    const Index scale = sizeof(T) == 8 ? 2 : 1;
    Plan plan;
    plan.terms = k_blocks(k, blocking.kc).size;
    plan.apart = kNarrow && plan.terms < k;
    const Index row_panels = ceil_div(m, kRows);
    plan.m_blocks = ceil_div(row_panels * kRows, plan.apart ? kMaxPackedRows / 4 : kMaxPackedRows);
    plan.a_panels = ceil_div(row_panels, plan.m_blocks);
    const Index col_panels = ceil_div(n, kCols);
    plan.n_blocks = ceil_div(col_panels * kCols, blocking.nc / scale);
    plan.b_panels = ceil_div(col_panels, plan.n_blocks);
    plan.mc = greater(kRows, blocking.mc / scale / kRows * kRows);
    const auto bytes = [](Index elements, std::size_t size) {
      return (static_cast<std::size_t>(elements) * size + 4095) / 4096 * 4096;
    };
    plan.a_bytes = bytes(plan.a_panels * M::a_elements(plan.terms), sizeof(A));
    plan.b_bytes = bytes(plan.b_panels * M::b_elements(plan.terms), sizeof(B));
    plan.sum_bytes =
        plan.apart ? bytes(plan.a_panels * kRows * plan.b_panels * kCols, sizeof(T)) : 0;
    return plan;
  }

  // One block of C and the panels that it is made of.
  struct Block {
    Product<E, Out> product;
    const A* a;
    const B* b;
    Index a_step, b_step;  // elements of a panel
    T* sums;               // whole tiles of partial sums; null when there are none
    Index sums_row;
    bool first, last;  // of the blocks of k
    T beta;
  };

  // A tile of sums; of those beyond `rows` and `cols` some may be made, where c has a whole tile.
  static void tile(const Product<E, Out>& p, Index rows, Index cols, const A* a, const B* b, T* c,
                   Index c_row, T alpha, T beta) {
    if constexpr (M::kExactEdges) {
      if (rows < kRows || cols < kCols) {
        M::multiply_edge(p, p.k, rows, cols, a, b, c, c_row, alpha, beta);
        return;
      }
    }
    M::multiply(p, p.k, a, b, c, c_row, alpha, beta);
  }

  // The tiles [i, i_end) x [j, j_end) of a block, counted in panels.
  static void multiply(const Block& block, Index i, Index i_end, Index j, Index j_end) {
    const Product<E, Out>& p = block.product;
    [[maybe_unused]] const typename M::Scope scope;
    alignas(64) T buffer[kRows * kCols];
    for (Index jp = j; jp < j_end; ++jp) {
      const Index cols = lesser(kCols, p.n - jp * kCols);
      const B* b = block.b + jp * block.b_step;
      for (Index ip = i; ip < i_end; ++ip) {
        const Index rows = lesser(kRows, p.m - ip * kRows);
        const A* a = block.a + ip * block.a_step;
        Out* c = p.c + ip * kRows * p.c_row + jp * kCols * p.c_col;
        if constexpr (!kNarrow) {
          const bool fits = M::kExactEdges || (rows == kRows && cols == kCols);
          if (fits && p.c_col == 1) {
            tile(p, rows, cols, a, b, c, p.c_row, p.alpha, block.beta);
            continue;
          }
        }
        const T* sums = buffer;
        Index pitch = kCols;
        if (kNarrow && block.sums != nullptr) {
          T* partial = block.sums + ip * kRows * block.sums_row + jp * kCols;
          tile(p, rows, cols, a, b, partial, block.sums_row, T(1), T(block.first ? 0 : 1));
          if (!block.last) continue;
          sums = partial;
          pitch = block.sums_row;
        } else {
          tile(p, rows, cols, a, b, buffer, kCols, T(1), T(0));
        }
        update_block<Simd<T>>(sums, pitch, rows, cols, p.alpha, kNarrow ? p.beta : block.beta, c,
                              p.c_row, p.c_col);
      }
    }
  }

  // `memory` holds plan.bytes().
  static void run(const Product<E, Out>& p, const Plan& plan, const Team& team, std::byte* memory) {
    A* const packed_a = reinterpret_cast<A*>(memory);
    B* const packed_b = reinterpret_cast<B*>(memory + plan.a_bytes);
    T* const sums =
        plan.apart ? reinterpret_cast<T*>(memory + plan.a_bytes + plan.b_bytes) : nullptr;
    const Index row_panels = ceil_div(p.m, kRows);
    const Index col_panels = ceil_div(p.n, kCols);
    // Panels that one packing task takes: long pieces of rows, but some tasks for every thread.
    const auto group_of = [&](Index panels) {
      return greater(1, lesser(8, panels / (2 * Index{team.threads()})));
    };
    const auto make = [&](Index nb, Index mb, Index p0, bool pack_b) {
      const Index j0 = part_begin(col_panels, plan.n_blocks, nb);
      const Index b_panels = part_begin(col_panels, plan.n_blocks, nb + 1) - j0;
      const Index n = lesser(b_panels * kCols, p.n - j0 * kCols);
      const Index i0 = part_begin(row_panels, plan.m_blocks, mb);
      const Index a_panels = part_begin(row_panels, plan.m_blocks, mb + 1) - i0;
      const Index m = lesser(a_panels * kRows, p.m - i0 * kRows);
      const Index terms = lesser(plan.terms, p.k - p0);
      const Product<E, Out> product = part_of(p, i0 * kRows, m, j0 * kCols, n, p0, terms);
      const Block block = {
          product, packed_a,         packed_b, M::a_elements(terms), M::b_elements(terms),
          sums,    b_panels * kCols, p0 == 0,  p0 + terms == p.k,    block_beta(p, p0)};
      const Index a_group = group_of(a_panels);
      const Index b_group = group_of(b_panels);
      const Index a_groups = ceil_div(a_panels, a_group);
      const Index b_groups = pack_b ? ceil_div(b_panels, b_group) : 0;
      team.run(a_groups + b_groups, [&](Index task, int) {
        if (task < b_groups) {
          const Index end = lesser(b_panels, (task + 1) * b_group);
          for (Index j = task * b_group; j < end; j += M::kPanelsTogether) {
            const Index panels = lesser(M::kPanelsTogether, end - j);
            M::pack_b(product, j * kCols, lesser(panels * kCols, n - j * kCols), terms,
                      packed_b + j * block.b_step);
          }
          return;
        }
        task -= b_groups;
        const Index end = lesser(a_panels, (task + 1) * a_group);
        for (Index i = task * a_group; i < end; i += M::kPanelsTogether) {
          const Index panels = lesser(M::kPanelsTogether, end - i);
          M::pack_a(product, i * kRows, lesser(panels * kRows, m - i * kRows), terms,
                    packed_a + i * block.a_step);
        }
      });
      const Index row_parts = ceil_div(a_panels, plan.mc / kRows);
      const Index wanted = team.threads() == 1 ? 1 : 4 * Index{team.threads()};
      const Index col_parts = lesser(b_panels, ceil_div(wanted, row_parts));
      team.run(row_parts * col_parts, [&](Index task, int) {
        const Index row_part = task / col_parts;
        const Index col_part = task % col_parts;
        multiply(block, part_begin(a_panels, row_parts, row_part),
                 part_begin(a_panels, row_parts, row_part + 1),
                 part_begin(b_panels, col_parts, col_part),
                 part_begin(b_panels, col_parts, col_part + 1));
      });
    };
    for (Index nb = 0; nb < plan.n_blocks; ++nb) {
      if (plan.apart) {
        for (Index mb = 0; mb < plan.m_blocks; ++mb) {
          for (Index p0 = 0; p0 < p.k; p0 += plan.terms) make(nb, mb, p0, true);
        }
      } else {
        for (Index p0 = 0; p0 < p.k; p0 += plan.terms) {
          for (Index mb = 0; mb < plan.m_blocks; ++mb) make(nb, mb, p0, mb == 0);
        }
      }
    }
  }
};

template <class M, class Out>
KernelOutcome run_packed(const GemmArgs& args, const Blocking& blocking, CpuContext& context) {
  using P = Packed<M, Out>;
  using E = typename M::E;
  const Product<E, Out> first = with_unit_output(product_of<E, Out>(args, 0));
  const typename P::Plan plan = P::plan(first.m, first.n, first.k, blocking);
  const Team team = team_for(work(args), context);
  const std::size_t bytes = plan.bytes();
  // With many products each thread takes whole ones: no waiting between the blocks.
  const Index threads = team.threads();
  const bool whole_products = threads > 1 && args.batch >= 2 * threads;
  std::byte* const memory =
      context.scratch(whole_products ? bytes * static_cast<std::size_t>(threads) : bytes);
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  if (whole_products) {
    team.run(args.batch, [&](Index batch, int worker) {
      P::run(with_unit_output(product_of<E, Out>(args, batch)), plan, Team{},
             memory + static_cast<std::size_t>(worker) * bytes);
    });
    return KernelOutcome::done;
  }
  for (Index batch = 0; batch < args.batch; ++batch) {
    P::run(with_unit_output(product_of<E, Out>(args, batch)), plan, team, memory);
  }
  return KernelOutcome::done;
}

// The Micro of plain vector units: one multiply-add for each term, in the type of the sums;
// narrower operands are widened as they are packed.
template <class S, class Element, int kTileRows, int kVectors>
struct VectorMicro {
  using E = Element;
  using T = typename S::Element;
  using A = T;
  using B = T;
  static constexpr Index kRows = kTileRows, kCols = kVectors * S::kWidth, kTerms = 1;
  struct Scope {};

  static constexpr Index a_elements(Index terms) { return kRows * terms; }
  static constexpr Index b_elements(Index terms) { return kCols * terms; }

  static constexpr Index kPanelsTogether = 8;
  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index count, Index terms, A* to) {
    pack_panels<S, kRows>(p.a + first * p.a_row, p.a_row, p.a_col, count, terms, to);
  }
  template <class Out>
  static void pack_b(const Product<E, Out>& p, Index first, Index count, Index terms, B* to) {
    pack_panels<S, kCols>(p.b + first * p.b_col, p.b_col, p.b_row, count, terms, to);
  }
  template <class Out>
  static void multiply(const Product<E, Out>&, Index terms, const A* a, const B* b, T* c,
                       Index c_row, T alpha, T beta) {
    tile_packed<S, kTileRows, kVectors>(
        {terms, a, 1, kRows, b, kCols, c, c_row, alpha, beta, S::kWidth, 0});
  }
  // No sums are made for nothing.
  static constexpr bool kExactEdges = true;
  template <class Out>
  static void multiply_edge(const Product<E, Out>&, Index terms, Index rows, Index cols, const A* a,
                            const B* b, T* c, Index c_row, T alpha, T beta) {
    const Index vectors = ceil_div(cols, S::kWidth);
    const Index tail = cols - (vectors - 1) * S::kWidth;
    TileTable<S, kTileRows, kVectors>::find(rows, vectors, tail != S::kWidth, false)(
        {terms, a, 1, kRows, b, kCols, c, c_row, alpha, beta, tail, 0});
  }
};

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_H_
