// Copies parts of a matrix into panels: groups of a few rows (or columns), term after term, as the
// packed register tile reads them.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACK_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACK_H_

#include "ops/elements.h"

namespace rooftune {
namespace {

// Rows with unit stride along the terms are turned in squares of 16 bytes a side: the widest
// square that needs no more than two shuffles an output on every level.
template <class T>
struct Square;

template <>
struct Square<float> {
  static constexpr Index kSide = 4;
  typedef float Vector __attribute__((vector_size(16)));
  typedef std::int32_t Lanes __attribute__((vector_size(16)));
  static void turn(Vector (&v)[4]) {
    const Vector ab_low = __builtin_shuffle(v[0], v[1], Lanes{0, 4, 1, 5});
    const Vector ab_high = __builtin_shuffle(v[0], v[1], Lanes{2, 6, 3, 7});
    const Vector cd_low = __builtin_shuffle(v[2], v[3], Lanes{0, 4, 1, 5});
    const Vector cd_high = __builtin_shuffle(v[2], v[3], Lanes{2, 6, 3, 7});
    v[0] = __builtin_shuffle(ab_low, cd_low, Lanes{0, 1, 4, 5});
    v[1] = __builtin_shuffle(ab_low, cd_low, Lanes{2, 3, 6, 7});
    v[2] = __builtin_shuffle(ab_high, cd_high, Lanes{0, 1, 4, 5});
    v[3] = __builtin_shuffle(ab_high, cd_high, Lanes{2, 3, 6, 7});
  }
};

template <>
struct Square<double> {
  static constexpr Index kSide = 2;
  typedef double Vector __attribute__((vector_size(16)));
  typedef std::int64_t Lanes __attribute__((vector_size(16)));
  static void turn(Vector (&v)[2]) {
    const Vector first = v[0];
    v[0] = __builtin_shuffle(first, v[1], Lanes{0, 2});
    v[1] = __builtin_shuffle(first, v[1], Lanes{1, 3});
  }
};

// The same for rows whose terms lie side by side; `rows` is a multiple of the square's side.
template <Index kPanel, class T>
void turn_rows(const T* from, Index row, Index rows, Index terms, T* to) {
  using Sq = Square<T>;
  constexpr Index kSide = Sq::kSide;
  for (Index r = 0; r < rows; r += kSide) {
    const T* source = from + r * row;
    T* target = to + r;
    Index p = 0;
    for (; p + kSide <= terms; p += kSide) {
      typename Sq::Vector v[kSide];
#pragma GCC unroll 4
      for (Index i = 0; i < kSide; ++i) __builtin_memcpy(&v[i], source + i * row + p, 16);
      Sq::turn(v);
#pragma GCC unroll 4
      for (Index i = 0; i < kSide; ++i) __builtin_memcpy(target + (p + i) * kPanel, &v[i], 16);
    }
    for (; p < terms; ++p) {
      for (Index i = 0; i < kSide; ++i) target[p * kPanel + i] = load_one(source + i * row + p);
    }
  }
}

// One panel of numbers that are widened on the way: as pack_panel below.
template <class S, Index kPanel, class E>
void pack_panel_widened(const E* from, Index row, Index step, Index rows, Index terms,
                        typename S::Element* to) {
  using T = typename S::Element;
  using From = Elements<S, E>;
  constexpr Index kWidth = S::kWidth;
  if (rows < kPanel) {
    for (Index p = 0; p < terms; ++p) {
      for (Index r = rows; r < kPanel; ++r) to[p * kPanel + r] = T(0);
    }
  }
  if (row == 1) {
    for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
      Index r = 0;
      for (; r + kWidth <= rows; r += kWidth) S::store(to + r, From::load(from + r));
      if (r < rows) {
        const auto mask = S::mask(rows - r);
        S::store(to + r, mask, From::load(from + r, mask));
      }
    }
    return;
  }
  // A stretch of each row is widened where it lies side by side, then turned.
  constexpr Index kStretch = 256;
  T wide[4][kStretch];
  Index r = 0;
  if (step == 1) {
    for (; r + 4 <= rows; r += 4) {
      for (Index p0 = 0; p0 < terms; p0 += kStretch) {
        const Index count = lesser(kStretch, terms - p0);
        for (Index i = 0; i < 4; ++i) {
          const E* source = from + (r + i) * row + p0;
          Index p = 0;
          for (; p + kWidth <= count; p += kWidth) S::store(wide[i] + p, From::load(source + p));
          if (p < count) {
            const auto mask = S::mask(count - p);
            S::store(wide[i] + p, mask, From::load(source + p, mask));
          }
        }
        turn_rows<kPanel>(&wide[0][0], kStretch, 4, count, to + p0 * kPanel + r);
      }
    }
  }
  for (; r < rows; ++r) {
    const E* source = from + r * row;
    for (Index p = 0; p < terms; ++p) to[p * kPanel + r] = to_sum(load_one(source + p * step));
  }
}

// One panel: to[p * kPanel + r] = from[r * row + p * step] for r < rows, zero for the rest.
template <class S, Index kPanel>
void pack_panel(const typename S::Element* from, Index row, Index step, Index rows, Index terms,
                typename S::Element* to) {
  using T = typename S::Element;
  if (rows < kPanel) {
    for (Index p = 0; p < terms; ++p) {
      for (Index r = rows; r < kPanel; ++r) to[p * kPanel + r] = T(0);
    }
  }
  if (row == 1) {
    if constexpr (kPanel % S::kWidth == 0) {
      if (rows == kPanel) {
        for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
#pragma GCC unroll 4
          for (Index r = 0; r < kPanel; r += S::kWidth) S::store(to + r, S::load(from + r));
        }
        return;
      }
    } else {
      if (rows == kPanel) {
        for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
          __builtin_memcpy(to, from, kPanel * sizeof(T));
        }
        return;
      }
    }
    for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
      for (Index r = 0; r < rows; ++r) to[r] = load_one(from + r);
    }
    return;
  }
  Index r = 0;
  if (step == 1) {
    r = rows / Square<T>::kSide * Square<T>::kSide;
    turn_rows<kPanel>(from, row, r, terms, to);
  }
  for (; r < rows; ++r) {
    const T* source = from + r * row;
    for (Index p = 0; p < terms; ++p) to[p * kPanel + r] = load_one(source + p * step);
  }
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACK_H_
