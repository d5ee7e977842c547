#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "device/cpu/probes.h"

namespace rooftune {
namespace {

// Products of tiles in one repeat; each of the four sums takes a quarter of them.
constexpr int kProducts = 4 * 128;
constexpr double kBf16Operations = 2.0 * 16 * 16 * 32;  // of one product
constexpr double kInt8Operations = 2.0 * 16 * 16 * 64;

// The memory that ldtilecfg reads. All eight tiles are whole: 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct alignas(64) Tile {
  std::uint32_t words[16][16];
};

// The compiler does not know which memory the tile instructions read and write: everything written
// so far must be there, and nothing that is read later may be known already.
void settle(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// bf16 between 1 and 2, differing from word to word. Bytes of them are numbers like any others.
void fill(Tile& tile, std::uint32_t factor) {
  std::uint32_t next = factor;
  for (auto& row : tile.words) {
    for (std::uint32_t& word : row) {
      next = next * 1664525 + 1013904223;
      word = 0x3f803f80 | (next >> 8 & 0x007f007f);
    }
  }
}

// Four sums from two tiles of each operand, as in a kernel: enough to hide the latency of one. Sums
// of bf16 grow until they no longer change, near 2^30, and are normal numbers always.
template <bool kInt8>
void products(const ProbeArgs& probe, std::int64_t index) {
  const TileConfig config;
  settle(&config);
  _tile_loadconfig(&config);
  Tile operands[4];
  for (std::uint32_t i = 0; i < 4; ++i) {
    fill(operands[i], 4 * static_cast<std::uint32_t>(index) + i);
  }
  settle(operands);
  _tile_loadd(4, &operands[0], 64);
  _tile_loadd(5, &operands[1], 64);
  _tile_loadd(6, &operands[2], 64);
  _tile_loadd(7, &operands[3], 64);
  // The sums begin with values of their own, as f32 near 1.
  _tile_loadd(0, &operands[0], 64);
  _tile_loadd(1, &operands[1], 64);
  _tile_loadd(2, &operands[2], 64);
  _tile_loadd(3, &operands[3], 64);
  for (std::uint64_t r = 0; r < probe.repeats; ++r) {
    for (int product = 0; product < kProducts; product += 4) {
      if constexpr (kInt8) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
      } else {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
  }
  Tile sums[4];
  _tile_stored(0, &sums[0], 64);
  _tile_stored(1, &sums[1], 64);
  _tile_stored(2, &sums[2], 64);
  _tile_stored(3, &sums[3], 64);
  // Tiles in use make every switch of threads slower.
  _tile_release();
  settle(sums);
  auto* const sink =
      reinterpret_cast<std::uint32_t*>(static_cast<std::byte*>(probe.sink)) + 16 * index;
  for (int column = 0; column < 16; ++column) {
    sink[column] = sums[0].words[0][column] ^ sums[1].words[5][column] ^ sums[2].words[10][column] ^
                   sums[3].words[15][column];
  }
}

template <bool kInt8>
KernelOutcome matrix(const void* args, CpuContext& context) {
  const auto& probe = *static_cast<const ProbeArgs*>(args);
  context.parallel_for(context.threads(),
                       [&](std::int64_t index, int) { products<kInt8>(probe, index); });
  return KernelOutcome::done;
}

}  // namespace

CpuProbe cpu_probe_amx(DType dtype) {
  if (dtype == DType::bf16) return {matrix<false>, kProducts * kBf16Operations};
  if (dtype == DType::i8) return {matrix<true>, kProducts * kInt8Operations};
  return {};
}

}  // namespace rooftune
