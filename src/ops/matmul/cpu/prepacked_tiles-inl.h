// Products with a packed right operand on AMX tiles: its panels are the blocks that the tiles load.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_TILES_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_TILES_INL_H_

#include "ops/matmul/cpu/packed_tiles-inl.h"
#include "ops/matmul/cpu/prepacked.h"

namespace rooftune {
namespace {

// Two by two tiles, whose panels have the 32 columns of the format.
template <class Unit, class Grouping>
struct PanelTileMicro {
  using Tiles = TileMicro<Unit, Grouping, TileForm::square>;
  using E = typename Tiles::E;
  using T = typename Tiles::T;
  using A = Word;
  using B = Word;
  static constexpr Index kRows = Tiles::kRows, kCols = Tiles::kCols;
  static constexpr Index kBlockTerms = Grouping::kGroup * kTileSide;
  static constexpr bool kWhole = true;
  using Scope = typename Tiles::Scope;
  static_assert(Grouping::kParts == 1 && kPackTerms % kBlockTerms == 0);

  static constexpr Index a_elements(Index terms) { return Tiles::a_elements(terms); }
  static constexpr Index a_offset(Index, Index term) { return term / kBlockTerms * Tiles::kABlock; }
  static constexpr Index b_offset(Index term) { return term / kBlockTerms * Tiles::kBBlock; }

  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index rows, Index term, Index terms,
                     A* to) {
    Tiles::pack_a(part_of(p, 0, p.m, 0, p.n, term, terms), first, rows, terms, to);
  }
  template <class Out>
  static void multiply(const Product<E, Out>& p, Index, Index terms, const A* a, const B* b,
                       const B*, T* c, Index c_row, T alpha, T beta) {
    Tiles::multiply(p, terms, a, b, c, c_row, alpha, beta);
  }
};

template <class Unit, class G, PanelBlocking kBlocking>
KernelOutcome prepacked_tiles(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename G::E>(args, [&]<class Out>() {
    return run_prepacked<PanelTileMicro<Unit, G>, Out, kBlocking>(args, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PREPACKED_TILES_INL_H_
