// Copies parts of a matrix into panels: groups of a few rows (or columns), term after term, as the
// register tiles read them.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PACK_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PACK_H_

#include "ops/elements.h"
#include "ops/matmul/cpu/turn.h"

namespace rooftune {
namespace {

// turn() of numbers that are widened on the way: stretches of a few rows are widened where terms
// lie side by side, then turned.
template <class S, class E>
void turn_widened(const E* from, Index row, Index rows, Index terms, typename S::Element* to,
                  Index pitch) {
  using T = typename S::Element;
  using From = Elements<S, E>;
  constexpr Index kWidth = S::kWidth;
  constexpr Index kRows = 4 * Square<T>::kSide;
  constexpr Index kStretch = 128;
  alignas(64) T wide[kRows][kStretch];
  for (Index r = 0; r < rows; r += kRows) {
    const Index here = lesser(kRows, rows - r);
    for (Index p0 = 0; p0 < terms; p0 += kStretch) {
      const Index count = lesser(kStretch, terms - p0);
      for (Index i = 0; i < here; ++i) {
        const E* source = from + (r + i) * row + p0;
        Index p = 0;
        for (; p + kWidth <= count; p += kWidth) S::store(wide[i] + p, From::load(source + p));
        if (p < count) {
          const auto mask = S::mask(count - p);
          S::store(wide[i] + p, mask, From::load(source + p, mask));
        }
      }
      turn<S>(&wide[0][0], kStretch, here, count, to + p0 * pitch + r, pitch);
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
  if (step == 1) {
    turn_widened<S>(from, row, rows, terms, to, kPanel);
    return;
  }
  for (Index r = 0; r < rows; ++r) {
    const E* source = from + r * row;
    for (Index p = 0; p < terms; ++p) to[p * kPanel + r] = to_sum(load_one(source + p * step));
  }
}

// One panel: to[p * kPanel + r] = from[r * row + p * step] for r < rows, zero for the rest.
template <class S, Index kPanel>
void pack_panel(const typename S::Element* from, Index row, Index step, Index rows, Index terms,
                typename S::Element* to) {
  using T = typename S::Element;
  if (row == 1) {
    if constexpr (kPanel % S::kWidth == 0) {
      constexpr int kVectors = static_cast<int>(kPanel / S::kWidth);
      if (rows == kPanel) {
        for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) {
            S::store(to + v * S::kWidth, S::load(from + v * S::kWidth));
          }
        }
        return;
      }
      const Index whole = rows / S::kWidth;
      const auto mask = S::mask(rows % S::kWidth);
      for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          S::store(to + v * S::kWidth, v < whole    ? S::load(from + v * S::kWidth)
                                       : v == whole ? S::load(from + v * S::kWidth, mask)
                                                    : S::zero());
        }
      }
      return;
    } else {
      if (rows == kPanel) {
        for (Index p = 0; p < terms; ++p, from += step, to += kPanel) {
          __builtin_memcpy(to, from, kPanel * sizeof(T));
        }
        return;
      }
    }
  }
  if (rows < kPanel) {
    for (Index p = 0; p < terms; ++p) {
      for (Index r = rows; r < kPanel; ++r) to[p * kPanel + r] = T(0);
    }
  }
  if (step == 1) {
    turn<S>(from, row, rows, terms, to, kPanel);
    return;
  }
  for (Index r = 0; r < rows; ++r) {
    const T* source = from + r * row;
    for (Index p = 0; p < terms; ++p) to[p * kPanel + r] = load_one(source + p * step);
  }
}

// The panels of `extent` rows, one after the other. Where rows lie side by side a few terms of all
// panels are read before the next terms: long pieces instead of one of a panel's width at a time.
template <class S, Index kPanel, class E>
void pack_panels(const E* from, Index row, Index step, Index extent, Index terms,
                 typename S::Element* to) {
  const Index chunk = row == 1 ? 8 : terms;
  for (Index p = 0; p < terms; p += chunk) {
    for (Index j = 0; j < extent; j += kPanel) {
      const E* source = from + j * row + p * step;
      typename S::Element* target = to + j * terms + p * kPanel;
      const Index rows = lesser(kPanel, extent - j), count = lesser(chunk, terms - p);
      if constexpr (__is_same(E, typename S::Element)) {
        pack_panel<S, kPanel>(source, row, step, rows, count, target);
      } else {
        pack_panel_widened<S, kPanel>(source, row, step, rows, count, target);
      }
    }
  }
}

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PACK_H_
