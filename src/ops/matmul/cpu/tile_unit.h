// The AMX tile unit: eight registers of 16 rows by 64 bytes.
//
// Tiles 0 ... 3 hold sums, 4 and 5 operands A (rows by groups of terms), 6 and 7 operands B (groups
// of terms by columns). An emulation takes the place of the unit in a test, so that what is done
// with the tiles can be tested on every processor.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_TILE_UNIT_H_
#define ROOFTUNE_OPS_MATMUL_CPU_TILE_UNIT_H_

#include "ops/matmul/cpu/words.h"

namespace rooftune {
namespace {

inline constexpr int kTileSide = 16;  // rows of a tile, and words in each

enum class TileDot { bf16, ss, us, su, uu };  // of bytes: signed or unsigned, A first

#ifdef __AMX_TILE__

struct TileUnit {
  // Shapes the tiles of this thread, and gives them back.
  class Scope {
   public:
    Scope() {
      struct alignas(64) Config {
        std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
        std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
      };
      const Config config;
      // GCC 12 believes that the instruction reads 8 bytes, and drops what fills the others.
      asm volatile("" : : "r"(&config) : "memory");
      _tile_loadconfig(&config);
    }
    ~Scope() { _tile_release(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

  // The number of a tile is a part of the instruction.
#define ROOFTUNE_FOR_TILE(OPERATION) \
  if constexpr (kTile == 0) {        \
    OPERATION(0);                    \
  } else if constexpr (kTile == 1) { \
    OPERATION(1);                    \
  } else if constexpr (kTile == 2) { \
    OPERATION(2);                    \
  } else if constexpr (kTile == 3) { \
    OPERATION(3);                    \
  } else if constexpr (kTile == 4) { \
    OPERATION(4);                    \
  } else if constexpr (kTile == 5) { \
    OPERATION(5);                    \
  } else if constexpr (kTile == 6) { \
    OPERATION(6);                    \
  } else {                           \
    OPERATION(7);                    \
  }

  template <int kTile>
  [[gnu::always_inline]] static void zero() {
#define ROOFTUNE_ZERO(TILE) _tile_zero(TILE)
    ROOFTUNE_FOR_TILE(ROOFTUNE_ZERO)
#undef ROOFTUNE_ZERO
  }
  template <int kTile>
  [[gnu::always_inline]] static void load(const void* from, Index row_bytes) {
#define ROOFTUNE_LOAD(TILE) _tile_loadd(TILE, from, row_bytes)
    ROOFTUNE_FOR_TILE(ROOFTUNE_LOAD)
#undef ROOFTUNE_LOAD
  }
  template <int kTile>
  [[gnu::always_inline]] static void store(void* to, Index row_bytes) {
#define ROOFTUNE_STORE(TILE) _tile_stored(TILE, to, row_bytes)
    ROOFTUNE_FOR_TILE(ROOFTUNE_STORE)
#undef ROOFTUNE_STORE
  }
#undef ROOFTUNE_FOR_TILE

  // Tile kSum += tile kA times tile kB.
  template <TileDot kDot, int kSum, int kA, int kB>
  [[gnu::always_inline]] static void dot() {
#define ROOFTUNE_DOT(INSTRUCTION)                                      \
  if constexpr (kSum == 0 && kA == 4 && kB == 6) INSTRUCTION(0, 4, 6); \
  if constexpr (kSum == 1 && kA == 4 && kB == 7) INSTRUCTION(1, 4, 7); \
  if constexpr (kSum == 2 && kA == 5 && kB == 6) INSTRUCTION(2, 5, 6); \
  if constexpr (kSum == 3 && kA == 5 && kB == 7) INSTRUCTION(3, 5, 7); \
  if constexpr (kSum == 1 && kA == 4 && kB == 6) INSTRUCTION(1, 4, 6); \
  if constexpr (kSum == 2 && kA == 4 && kB == 6) INSTRUCTION(2, 4, 6); \
  if constexpr (kSum == 3 && kA == 4 && kB == 6) INSTRUCTION(3, 4, 6); \
  if constexpr (kSum == 2 && kA == 4 && kB == 7) INSTRUCTION(2, 4, 7); \
  if constexpr (kSum == 3 && kA == 4 && kB == 7) INSTRUCTION(3, 4, 7)
    if constexpr (kDot == TileDot::bf16) {
      ROOFTUNE_DOT(_tile_dpbf16ps);
    } else if constexpr (kDot == TileDot::ss) {
      ROOFTUNE_DOT(_tile_dpbssd);
    } else if constexpr (kDot == TileDot::us) {
      ROOFTUNE_DOT(_tile_dpbusd);
    } else if constexpr (kDot == TileDot::su) {
      ROOFTUNE_DOT(_tile_dpbsud);
    } else {
      ROOFTUNE_DOT(_tile_dpbuud);
    }
#undef ROOFTUNE_DOT
  }
};

#endif

}  // namespace
}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_TILE_UNIT_H_
