// skinny_cols on dot-product instructions: pairs of rows of the large matrix are joined to words as
// they are loaded, so that each is read from memory once and meets all vectors. For AVX-512.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_SKINNY_DOT_INL_H_
#define ROOFTUNE_OPS_MATMUL_CPU_SKINNY_DOT_INL_H_

#include "ops/matmul/cpu/packed_dot-inl.h"
#include "ops/matmul/cpu/skinny_cols-inl.h"

namespace rooftune {
namespace {

// Words of two rows of 16 columns, from the elements of each in the lower halves of 32-bit lanes.
struct JoinedRows {
  using Vector = __m512i;
  static __mmask16 mask(Index count) { return static_cast<__mmask16>((1u << count) - 1); }
  static Vector lanes(const Bf16* p, __mmask16 mask, bool) {
    return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(mask, p));
  }
  static Vector lanes(const std::int8_t* p, __mmask16 mask, bool is_unsigned) {
    const __m128i bytes = _mm_maskz_loadu_epi8(mask, p);
    return is_unsigned ? _mm512_maskz_cvtepu8_epi32(0xffff, bytes)
                       : _mm512_maskz_cvtepi8_epi32(0xffff, bytes);
  }
  static Vector both(Vector low, Vector high) {
    return _mm512_mask_blend_epi16(0xaaaaaaaau, low, _mm512_maskz_slli_epi32(0xffff, high, 16));
  }
  // The second row is not there.
  static Vector first(Vector low) { return _mm512_maskz_mov_epi16(0x55555555u, low); }
};

// Few rows of A as words, those of a pair of terms side by side: `a_row` words for each pair.
template <class Dot>
struct SkinnyDotTile {
  using T = typename Dot::T;
  using E = typename Dot::G::E;
  const Word* a;
  Index a_row;
  const E* b;  // unit stride along the columns
  Index b_row;
  Index terms;
  Index cols;  // 1 ... kVectors * kLanes
  T* sums;
  Index sums_row;
  bool first;  // sums begin here
  bool b_unsigned;
};

// As many sums as fill the registers; from few rows they are made in two vectors, because one
// would wait for its own sums.
template <int kRows>
inline constexpr int kSkinnyDotVectors = kRows <= 13 ? 2 : 1;

template <class Dot, int kRows>
void skinny_dot_tile(const SkinnyDotTile<Dot>& t) {
  using Join = JoinedRows;
  constexpr int kVectors = kSkinnyDotVectors<kRows>;
  constexpr Index kLanes = Dot::kLanes;
  constexpr Index kAhead = 4 * kLanes;  // the strip after the next
  alignas(64) typename Dot::T zeros[kLanes] = {};
  decltype(Join::mask(0)) mask[kVectors];
  typename Dot::Vector sum[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    mask[v] = Join::mask(greater(0, lesser(kLanes, t.cols - v * kLanes)));
  }
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const auto* from = t.first ? zeros : t.sums + i * t.sums_row + v * kLanes;
      sum[i][v] = Dot::load_sums(from);
    }
  }
  const Word* a = t.a;
  const auto* b = t.b;
  const auto step = [&]<bool kLast>() __attribute__((always_inline)) {
    typename Join::Vector vb[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const auto* at = b + v * kLanes;
      prefetch(at + kAhead);
      const auto low = Join::lanes(at, mask[v], t.b_unsigned);
      if constexpr (kLast) {
        vb[v] = Join::first(low);
      } else {
        prefetch(at + t.b_row + kAhead);
        vb[v] = Join::both(low, Join::lanes(at + t.b_row, mask[v], t.b_unsigned));
      }
    }
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) {
      const auto va = Dot::broadcast(a[i]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] = Dot::template add<0>(sum[i][v], va, vb[v]);
    }
    a += t.a_row;
    b += 2 * t.b_row;
  };
  for (Index pair = t.terms / 2; pair > 0; --pair) step.template operator()<false>();
  if (t.terms % 2 != 0) step.template operator()<true>();
#pragma GCC unroll 32
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Dot::store(t.sums + i * t.sums_row + v * kLanes, sum[i][v]);
    }
  }
}

inline constexpr int kSkinnyDotRows = 24;
template <class Dot, int... kRow>
void skinny_dot_tile_of(Index rows, const SkinnyDotTile<Dot>& t,
                        std::integer_sequence<int, kRow...>) {
  static constexpr void (*kTiles[])(const SkinnyDotTile<Dot>&) = {
      &skinny_dot_tile<Dot, kRow + 1>...};
  kTiles[rows - 1](t);
}

// Sums of a product with few rows, without alpha and beta. A is given as words.
template <class Dot, class Out>
void skinny_dot_sums(const Product<typename Dot::G::E, Out>& p, const Word* a,
                     typename Dot::T* sums, Index sums_row) {
  constexpr Index kTerms = 256;  // even; of sums that stay in registers
  constexpr Index kStrip = 2 * Dot::kLanes;
  const Index row_tiles = ceil_div(p.m, kSkinnyDotRows);
  for (Index p0 = 0; p0 < p.k; p0 += kTerms) {
    for (Index j = 0; j < p.n; j += kStrip) {
      for (Index tile = 0; tile < row_tiles; ++tile) {
        const Index i = part_begin(p.m, row_tiles, tile);
        const Index rows = part_begin(p.m, row_tiles, tile + 1) - i;
        const Index width = rows <= 13 ? kStrip : kStrip / 2;
        for (Index c = j; c < lesser(p.n, j + kStrip); c += width) {
          skinny_dot_tile_of<Dot>(
              rows,
              {a + p0 / 2 * p.m + i, p.m, p.b + p0 * p.b_row + c, p.b_row, lesser(kTerms, p.k - p0),
               lesser(width, p.n - c), sums + i * sums_row + c, sums_row, p0 == 0, p.b_unsigned},
              std::make_integer_sequence<int, kSkinnyDotRows>());
        }
      }
    }
  }
}

template <class Dot, class Out>
KernelOutcome run_skinny_dot(const GemmArgs& args, CpuContext& context) {
  using G = typename Dot::G;
  using E = typename G::E;
  using T = typename Dot::T;
  static_assert(sizeof(T) == sizeof(Word) && G::kGroup == 2);
  const auto product = [&](Index batch) { return with_few_rows(product_of<E, Out>(args, batch)); };
  const Product<E, Out> first = product(0);
  const Team team = team_for(work(args), context);
  constexpr Index kStrip = 2 * Dot::kLanes;
  const Index strips = ceil_div(first.n, kStrip);
  const Index pairs = ceil_div(first.k, 2);
  const Index sums_row = strips * kStrip;
  const Index each = first.m * (sums_row + pairs);
  const Index group = batch_group(args.batch, each);
  std::byte* const memory = context.scratch(static_cast<std::size_t>(group * each) * sizeof(Word));
  if (memory == nullptr) return KernelOutcome::out_of_memory;
  T* const sums = reinterpret_cast<T*>(memory);
  Word* const words = reinterpret_cast<Word*>(sums + group * first.m * sums_row);
  const Index copy_parts = ceil_div(pairs, 512);
  const Index parts =
      team.threads() == 1
          ? 1
          : lesser(ceil_div(strips, 4),
                   ceil_div(lesser(4 * Index{team.threads()},
                                   static_cast<Index>(work(args) / kWorthThreads) + 1),
                            args.batch));
  for (Index batch0 = 0; batch0 < args.batch; batch0 += group) {
    const Index batches = lesser(group, args.batch - batch0);
    team.run(batches * copy_parts, [&](Index task, int) {
      const Index batch = task / copy_parts;
      const Product<E, Out> p = product(batch0 + batch);
      Word* to = words + batch * p.m * pairs;
      const Index end = part_begin(pairs, copy_parts, task % copy_parts + 1);
      for (Index q = part_begin(pairs, copy_parts, task % copy_parts); q < end; ++q) {
        for (Index i = 0; i < p.m; ++i) {
          const E* at = p.a + i * p.a_row + 2 * q * p.a_col;
          Word word = G::template bits<0>(load_one(at), p.a_unsigned);
          if (2 * q + 1 < p.k) {
            word |= G::template bits<0>(load_one(at + p.a_col), p.a_unsigned) << 16;
          }
          to[q * p.m + i] = word;
        }
      }
    });
    team.run(batches * parts, [&](Index task, int) {
      const Index batch = task / parts;
      const Product<E, Out> whole = product(batch0 + batch);
      const Index j = part_begin(strips, parts, task % parts) * kStrip;
      const Index end = lesser(whole.n, part_begin(strips, parts, task % parts + 1) * kStrip);
      const Product<E, Out> p = part_of(whole, 0, whole.m, j, end - j, 0, whole.k);
      T* to = sums + batch * p.m * sums_row + j;
      skinny_dot_sums<Dot>(p, words + batch * p.m * pairs, to, sums_row);
      update_block<Simd<T>>(to, sums_row, p.m, p.n, p.alpha, p.beta, p.c, p.c_row, p.c_col);
    });
  }
  return KernelOutcome::done;
}

template <class Dot>
KernelOutcome skinny_dot(const void* raw, CpuContext& context) {
  const GemmArgs& args = *static_cast<const GemmArgs*>(raw);
  return with_output_type<typename Dot::G::E>(
      args, [&]<class Out>() { return run_skinny_dot<Dot, Out>(args, context); });
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_SKINNY_DOT_INL_H_
