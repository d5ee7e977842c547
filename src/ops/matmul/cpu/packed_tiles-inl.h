// The packed product on AMX tiles, of bf16 and of bytes; and of f32 as the sum of the products of
// its bf16 parts: with two parts each, three products (bf16x3), with three parts, six (bf16x6). The
// parts that are left out are smaller than what f32 rounds away, or what the policy allows.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACKED_TILES_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACKED_TILES_INL_H_

#include "ops/matmul/cpu/packed.h"
#include "ops/matmul/cpu/tile_unit.h"

namespace rooftune {
namespace {

// Two by two tiles of C, or one by four for products of few rows.
enum class TileForm { square, flat };

// Each load of a tile keeps the unit from multiplying for some 4 of 16 cycles, and more when the
// tile comes from the second-level cache: long blocks of k, whose sums stay in the tiles, lose
// least.
//
// Unit: TileUnit or an emulation. Panels of A hold whole tiles: for each 16 groups of terms the
// tiles of the panel, part by part. Those of B hold a row of words for each group of terms.
template <class Unit, class Grouping, TileForm kForm>
struct TileMicro {
  using G = Grouping;
  using E = typename G::E;
  using T = Sum<E>;
  using A = Word;
  using B = Word;
  static constexpr int kParts = G::kParts;
  static constexpr Index kRowTiles = kForm == TileForm::square ? 2 : 1;
  static constexpr Index kColTiles = 4 / kRowTiles;
  static constexpr Index kRows = kRowTiles * kTileSide, kCols = kColTiles * kTileSide;
  static constexpr Index kTileWords = kTileSide * kTileSide;
  static constexpr Index kPanelsTogether = 1;
  static constexpr bool kExactEdges = false;
  using Scope = typename Unit::Scope;

  // Blocks of 16 groups of terms.
  static constexpr Index blocks(Index terms) {
    return ceil_div(terms, Index{G::kGroup * kTileSide});
  }
  static constexpr Index kABlock = kParts * kRowTiles * kTileWords;
  static constexpr Index kBBlock = kParts * kTileSide * kCols;
  static constexpr Index a_elements(Index terms) { return blocks(terms) * kABlock; }
  static constexpr Index b_elements(Index terms) { return blocks(terms) * kBBlock; }

  template <class Out>
  static void pack_a(const Product<E, Out>& p, Index first, Index count, Index terms, A* to) {
    pack_a_part<0>(p, first, count, terms, to);
    if constexpr (kParts > 1) pack_a_part<1>(p, first, count, terms, to);
    if constexpr (kParts > 2) pack_a_part<2>(p, first, count, terms, to);
  }
  template <class Out>
  static void pack_b(const Product<E, Out>& p, Index first, Index count, Index terms, B* to) {
    pack_b_part<0>(p, first, count, terms, to);
    if constexpr (kParts > 1) pack_b_part<1>(p, first, count, terms, to);
    if constexpr (kParts > 2) pack_b_part<2>(p, first, count, terms, to);
  }

  template <class Out>
  static void multiply(const Product<E, Out>& p, Index terms, const A* a, const B* b, T* c,
                       Index c_row, T alpha, T beta) {
    if constexpr (sizeof(E) != 1) {
      multiply_as<TileDot::bf16>(terms, a, b, c, c_row, alpha, beta);
    } else if (p.a_unsigned) {
      p.b_unsigned ? multiply_as<TileDot::uu>(terms, a, b, c, c_row, alpha, beta)
                   : multiply_as<TileDot::us>(terms, a, b, c, c_row, alpha, beta);
    } else {
      p.b_unsigned ? multiply_as<TileDot::su>(terms, a, b, c, c_row, alpha, beta)
                   : multiply_as<TileDot::ss>(terms, a, b, c, c_row, alpha, beta);
    }
  }

 private:
  static constexpr Index kRowBytes = kTileSide * sizeof(Word);
  static constexpr Index kBRowBytes = kCols * Index{sizeof(Word)};

  // to[r * 16 + g] = words[g][r].
  static void turn_tile(const Word (&words)[kTileSide][kTileSide], Word* to) {
    using Sq = Square<float>;
    for (int g = 0; g < kTileSide; g += 4) {
      for (int r = 0; r < kTileSide; r += 4) {
        Sq::Vector v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) __builtin_memcpy(&v[i], &words[g + i][r], 16);
        Sq::turn(v);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) __builtin_memcpy(to + (r + i) * kTileSide + g, &v[i], 16);
      }
    }
  }

  template <int kPart, class Out>
  static void pack_a_part(const Product<E, Out>& p, Index first, Index count, Index terms, A* to) {
    constexpr Index kTerms = G::kGroup * kTileSide;
    alignas(64) Word words[kTileSide][kTileSide];
    for (Index p0 = 0; p0 < terms; p0 += kTerms, to += kABlock) {
      const Index here = lesser(kTerms, terms - p0);
      for (Index t = 0; t < kRowTiles; ++t) {
        Word* tile = to + (kPart * kRowTiles + t) * kTileWords;
        const Index rows = greater(0, lesser(kTileSide, count - t * kTileSide));
        const E* from = p.a + (first + t * kTileSide) * p.a_row + p0 * p.a_col;
        if (p.a_row == 1) {
          // Groups of 16 rows, turned.
          for (Index g = 0; g < kTileSide; ++g) {
            const Index left = greater(0, lesser(G::kGroup, here - g * G::kGroup));
            column_of_words<G, kPart, kTileSide>(from + g * G::kGroup * p.a_col, p.a_col, rows,
                                                 left, p.a_unsigned, words[g]);
          }
          turn_tile(words, tile);
          continue;
        }
        for (Index r = 0; r < kTileSide; ++r) {
          Word* row = tile + r * kTileSide;
          Index used = 0;
          if (r < rows) {
            row_of_words<G, kPart>(from + r * p.a_row, p.a_col, here, p.a_unsigned, row);
            used = ceil_div(here, Index{G::kGroup});
          }
          for (Index g = used; g < kTileSide; ++g) row[g] = 0;
        }
      }
    }
  }

  template <int kPart, class Out>
  static void pack_b_part(const Product<E, Out>& p, Index first, Index count, Index terms, B* to) {
    constexpr Index kTerms = G::kGroup * kTileSide;
    for (Index p0 = 0; p0 < terms; p0 += kTerms, to += kBBlock) {
      pack_words<G, kPart, kCols>(p.b + first * p.b_col + p0 * p.b_row, p.b_col, p.b_row, count,
                                  lesser(kTerms, terms - p0), kTileSide, p.b_unsigned,
                                  to + kPart * kTileSide * kCols, kCols);
    }
  }

  template <int kPart>
  [[gnu::always_inline]] static void load_a(const A* a) {
    const A* from = a + kPart * kRowTiles * kTileWords;
    Unit::template load<4>(from, kRowBytes);
    if constexpr (kForm == TileForm::square) Unit::template load<5>(from + kTileWords, kRowBytes);
  }

  // All tiles of C += part of A (loaded) times part kPart of B.
  template <TileDot kDot, int kPart, bool kLoadB>
  [[gnu::always_inline]] static void products(const B* b) {
    const B* from = b + kPart * kTileSide * kCols;
    if constexpr (kLoadB || kForm == TileForm::flat) {
      Unit::template load<6>(from, kBRowBytes);
      Unit::template load<7>(from + kTileSide, kBRowBytes);
    }
    if constexpr (kForm == TileForm::square) {
      Unit::template dot<kDot, 0, 4, 6>();
      Unit::template dot<kDot, 1, 4, 7>();
      Unit::template dot<kDot, 2, 5, 6>();
      Unit::template dot<kDot, 3, 5, 7>();
    } else {
      Unit::template dot<kDot, 0, 4, 6>();
      Unit::template dot<kDot, 1, 4, 7>();
      Unit::template load<6>(from + 2 * kTileSide, kBRowBytes);
      Unit::template load<7>(from + 3 * kTileSide, kBRowBytes);
      Unit::template dot<kDot, 2, 4, 6>();
      Unit::template dot<kDot, 3, 4, 7>();
    }
  }

  // One tile of C, at its place among the tiles of this product.
  template <int kTile>
  static T* place(T* c, Index c_row) {
    return c + kTile / kColTiles * kTileSide * c_row + kTile % kColTiles * kTileSide;
  }

  // The first operands of a block are loaded while the products of the one before it are made.
  template <TileDot kDot>
  [[gnu::always_inline]] static void sum_pipelined(Index count, const A* a, const B* b) {
    Unit::template load<6>(b, kBRowBytes);
    Unit::template load<4>(a, kRowBytes);
    for (; count > 0; --count) {
      Unit::template dot<kDot, 0, 4, 6>();
      Unit::template load<7>(b + kTileSide, kBRowBytes);
      Unit::template dot<kDot, 1, 4, 7>();
      Unit::template load<5>(a + kTileWords, kRowBytes);
      a += kABlock;
      b += kBBlock;
      if (count > 1) Unit::template load<4>(a, kRowBytes);
      Unit::template dot<kDot, 2, 5, 6>();
      if (count > 1) Unit::template load<6>(b, kBRowBytes);
      Unit::template dot<kDot, 3, 5, 7>();
    }
  }

  // Small products first; each step loads one operand anew.
  template <TileDot kDot>
  [[gnu::always_inline]] static void sum_by_parts(Index count, const A* a, const B* b) {
    for (; count > 0; --count, a += kABlock, b += kBBlock) {
      load_a<0>(a);
      if constexpr (kParts == 1) {
        products<kDot, 0, true>(b);
      } else if constexpr (kParts == 2) {
        products<kDot, 1, true>(b);
        products<kDot, 0, true>(b);
        load_a<1>(a);
        products<kDot, 0, false>(b);
      } else {
        products<kDot, 2, true>(b);
        products<kDot, 1, true>(b);
        load_a<1>(a);
        products<kDot, 1, false>(b);
        products<kDot, 0, true>(b);
        load_a<2>(a);
        products<kDot, 0, false>(b);
        load_a<0>(a);
        products<kDot, 0, false>(b);
      }
    }
  }

  template <TileDot kDot>
  static void multiply_as(Index terms, const A* a, const B* b, T* c, Index c_row, T alpha, T beta) {
    // Straight from C and back, where C is not scaled.
    const bool direct = alpha == T(1) && (beta == T(0) || beta == T(1));
    const Index c_bytes = c_row * Index{sizeof(T)};
    if (direct && beta == T(1)) {
      Unit::template load<0>(place<0>(c, c_row), c_bytes);
      Unit::template load<1>(place<1>(c, c_row), c_bytes);
      Unit::template load<2>(place<2>(c, c_row), c_bytes);
      Unit::template load<3>(place<3>(c, c_row), c_bytes);
    } else {
      Unit::template zero<0>();
      Unit::template zero<1>();
      Unit::template zero<2>();
      Unit::template zero<3>();
    }
    if constexpr (kParts == 1 && kForm == TileForm::square) {
      sum_pipelined<kDot>(blocks(terms), a, b);
    } else {
      sum_by_parts<kDot>(blocks(terms), a, b);
    }
    alignas(64) T buffer[kRows * kCols];
    T* const to = direct ? c : buffer;
    const Index to_row = direct ? c_row : kCols;
    const Index to_bytes = to_row * Index{sizeof(T)};
    Unit::template store<0>(place<0>(to, to_row), to_bytes);
    Unit::template store<1>(place<1>(to, to_row), to_bytes);
    Unit::template store<2>(place<2>(to, to_row), to_bytes);
    Unit::template store<3>(place<3>(to, to_row), to_bytes);
    if (!direct) update_block<Simd<T>>(buffer, kCols, kRows, kCols, alpha, beta, c, c_row, 1);
  }
};

template <class Unit, class G, TileForm kForm, Blocking kBlocking>
KernelOutcome packed_tiles(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename G::E>(args, [&]<class Out>() {
    return run_packed<TileMicro<Unit, G, kForm>, Out>(args, kBlocking, context);
  });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACKED_TILES_INL_H_
