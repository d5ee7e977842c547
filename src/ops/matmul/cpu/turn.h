// Copies a matrix whose terms lie side by side so that its rows do.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_TURN_H_
#define ROOFTUNE_OPS_MATMUL_CPU_TURN_H_

#include "ops/simd.h"

namespace rooftune {
namespace {

// Squares of 16 bytes a side: the widest that need no more than two shuffles an output on every
// level.
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

// The first `rows` elements of v, 1 ... kSide.
template <class T>
inline void store_rows(T* to, const typename Square<T>::Vector& v, Index rows) {
  if (rows == Square<T>::kSide) {
    __builtin_memcpy(to, &v, sizeof(v));
  } else {
    for (Index r = 0; r < rows; ++r) store_one(to + r, T(v[r]));
  }
}

// to[p * pitch + r] = from[r * row + p] for r < rows, p < terms; touches nothing else.
template <class S>
void turn_narrow(const typename S::Element* from, Index row, Index rows, Index terms,
                 typename S::Element* to, Index pitch) {
  using T = typename S::Element;
  using Sq = Square<T>;
  constexpr Index kSide = Sq::kSide;
  for (Index r = 0; r < rows; r += kSide) {
    const Index here = lesser(kSide, rows - r);
    const T* source = from + r * row;
    T* target = to + r;
    Index p = 0;
    for (; p + kSide <= terms; p += kSide) {
      typename Sq::Vector v[kSide];
#pragma GCC unroll 4
      for (Index i = 0; i < kSide; ++i) {
        // A row that is not there is given as the last one.
        __builtin_memcpy(&v[i], source + lesser(i, here - 1) * row + p, 16);
      }
      Sq::turn(v);
#pragma GCC unroll 4
      for (Index i = 0; i < kSide; ++i) store_rows<T>(target + (p + i) * pitch, v[i], here);
    }
    for (; p < terms; ++p) {
      for (Index i = 0; i < here; ++i) target[p * pitch + i] = load_one(source + i * row + p);
    }
  }
}

#if ROOFTUNE_KERNEL_ISA == 2

// Four squares in the four quarters of a register.
template <class T>
struct Squares;

template <>
struct Squares<float> {
  typedef std::int32_t Lanes __attribute__((vector_size(64)));
  using V = __m512;
  template <int kQuarter>
  static V insert(V v, const float* p, Index terms) {
    return _mm512_mask_broadcast_f32x4(
        v, static_cast<__mmask16>(0xf << 4 * kQuarter),
        _mm_maskz_loadu_ps(static_cast<__mmask8>((1 << terms) - 1), p));
  }
  template <int kQuarter>
  static V insert(V v, const float* p) {
    return _mm512_mask_broadcast_f32x4(v, static_cast<__mmask16>(0xf << 4 * kQuarter),
                                       _mm_loadu_ps(p));
  }
  static void turn(V (&v)[4]) {
    constexpr Lanes kLow = {0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29};
    constexpr Lanes kHigh = {2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31};
    constexpr Lanes kFirst = {0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29};
    constexpr Lanes kSecond = {2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31};
    const V ab_low = __builtin_shuffle(v[0], v[1], kLow);
    const V ab_high = __builtin_shuffle(v[0], v[1], kHigh);
    const V cd_low = __builtin_shuffle(v[2], v[3], kLow);
    const V cd_high = __builtin_shuffle(v[2], v[3], kHigh);
    v[0] = __builtin_shuffle(ab_low, cd_low, kFirst);
    v[1] = __builtin_shuffle(ab_low, cd_low, kSecond);
    v[2] = __builtin_shuffle(ab_high, cd_high, kFirst);
    v[3] = __builtin_shuffle(ab_high, cd_high, kSecond);
  }
};

template <>
struct Squares<double> {
  typedef std::int64_t Lanes __attribute__((vector_size(64)));
  using V = __m512d;
  template <int kQuarter>
  static V insert(V v, const double* p, Index terms) {
    return _mm512_mask_broadcast_f64x2(
        v, static_cast<__mmask8>(0x3 << 2 * kQuarter),
        _mm_maskz_loadu_pd(static_cast<__mmask8>((1 << terms) - 1), p));
  }
  template <int kQuarter>
  static V insert(V v, const double* p) {
    return _mm512_mask_broadcast_f64x2(v, static_cast<__mmask8>(0x3 << 2 * kQuarter),
                                       _mm_loadu_pd(p));
  }
  static void turn(V (&v)[2]) {
    const V first = v[0];
    v[0] = __builtin_shuffle(first, v[1], Lanes{0, 8, 2, 10, 4, 12, 6, 14});
    v[1] = __builtin_shuffle(first, v[1], Lanes{1, 9, 3, 11, 5, 13, 7, 15});
  }
};

// Rows for `kQuarters` quarters of a register; the last quarter may have fewer than its share.
template <class S, int kQuarters>
void turn_quarters(const typename S::Element* from, Index row, Index rows, Index terms,
                   typename S::Element* to, Index pitch) {
  using T = typename S::Element;
  using Sq = Squares<T>;
  constexpr Index kSide = Square<T>::kSide;
  const auto mask = S::mask(rows);
  const Index last = rows - (kQuarters - 1) * kSide - 1;
  const T* end = from + (kQuarters - 1) * kSide * row;
  // A row that is not there is given as the last one.
  Index end_row[kSide];
  for (Index i = 0; i < kSide; ++i) end_row[i] = lesser(i, last) * row;
  const auto block = [&](Index p, auto... count) __attribute__((always_inline)) {
    typename Sq::V v[kSide];
#pragma GCC unroll 4
    for (Index i = 0; i < kSide; ++i) {
      v[i] = S::zero();
      const T* at = from + i * row + p;
      if constexpr (kQuarters > 1) v[i] = Sq::template insert<0>(v[i], at, count...);
      if constexpr (kQuarters > 2) v[i] = Sq::template insert<1>(v[i], at + kSide * row, count...);
      if constexpr (kQuarters > 3) {
        v[i] = Sq::template insert<2>(v[i], at + 2 * kSide * row, count...);
      }
      v[i] = Sq::template insert<kQuarters - 1>(v[i], end + end_row[i] + p, count...);
    }
    Sq::turn(v);
    if constexpr (sizeof...(count) == 0) {
#pragma GCC unroll 4
      for (Index i = 0; i < kSide; ++i) S::store(to + (p + i) * pitch, mask, v[i]);
    } else {
      for (Index i = 0; i < kSide && i < (count + ...); ++i) {
        S::store(to + (p + i) * pitch, mask, v[i]);
      }
    }
  };
  Index p = 0;
  for (; p + kSide <= terms; p += kSide) block(p);
  if (p < terms) block(p, terms - p);
}

template <class S>
void turn(const typename S::Element* from, Index row, Index rows, Index terms,
          typename S::Element* to, Index pitch) {
  constexpr Index kSide = Square<typename S::Element>::kSide;
  for (; rows > 3 * kSide; rows -= 4 * kSide, from += 4 * kSide * row, to += 4 * kSide) {
    turn_quarters<S, 4>(from, row, lesser(rows, 4 * kSide), terms, to, pitch);
  }
  if (rows > 2 * kSide) {
    turn_quarters<S, 3>(from, row, rows, terms, to, pitch);
  } else if (rows > kSide) {
    turn_quarters<S, 2>(from, row, rows, terms, to, pitch);
  } else if (rows > 0) {
    turn_quarters<S, 1>(from, row, rows, terms, to, pitch);
  }
}

#else

template <class S>
void turn(const typename S::Element* from, Index row, Index rows, Index terms,
          typename S::Element* to, Index pitch) {
  turn_narrow<S>(from, row, rows, terms, to, pitch);
}

#endif

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_TURN_H_
