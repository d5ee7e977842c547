#include "ops/matmul/cpu/panels.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rooftune {
namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

// Copies one panel: every element goes from its place in the matrix to the one in its group.
// Elements are moved as bits of their size; those of byte pairs are widened.
template <class Bits, class Wide, bool kSigned>
void pack_panel(const PackedRhs& rhs, const PlainRhs& from, std::int64_t panel, std::byte* to) {
  const std::int64_t group = terms_of(rhs.format.unit);
  const std::int64_t columns = rhs.format.columns;
  const std::int64_t used = std::min(columns, rhs.n - panel * columns);
  const auto* source = static_cast<const std::byte*>(from.at) +
                       panel * columns * from.col * std::int64_t{sizeof(Bits)};
  std::memset(to, 0, static_cast<std::size_t>(rhs.panel_bytes));
  const auto move = [&](std::int64_t p, std::int64_t j) {
    Bits bits;
    std::memcpy(&bits, source + (p * from.row + j * from.col) * std::int64_t{sizeof(Bits)},
                sizeof bits);
    Wide wide;
    if constexpr (kSigned) {
      // A negative byte fills the upper half with ones.
      // NOLINTNEXTLINE(bugprone-signed-char-misuse)
      wide = static_cast<Wide>(static_cast<std::int8_t>(bits));
    } else {
      wide = bits;
    }
    const std::int64_t at = (p / group * columns + j) * group + p % group;
    std::memcpy(to + at * std::int64_t{sizeof(Wide)}, &wide, sizeof wide);
  };
  if (from.col == 1) {
    for (std::int64_t p = 0; p < rhs.k; ++p) {
      if (group == 1 && used == columns) {
        std::memcpy(to + p * columns * std::int64_t{sizeof(Bits)},
                    source + p * from.row * std::int64_t{sizeof(Bits)},
                    static_cast<std::size_t>(columns) * sizeof(Bits));
        continue;
      }
      for (std::int64_t j = 0; j < used; ++j) move(p, j);
    }
    return;
  }
  // Stretches of all columns, so that what is written stays in the first-level cache.
  constexpr std::int64_t kStretch = 64;
  for (std::int64_t p0 = 0; p0 < rhs.k; p0 += kStretch) {
    const std::int64_t end = std::min(rhs.k, p0 + kStretch);
    for (std::int64_t j = 0; j < used; ++j) {
      for (std::int64_t p = p0; p < end; ++p) move(p, j);
    }
  }
}

// Behind the groups of bytes: the sums of the columns, modulo 2^32.
void add_column_sums(const PackedRhs& rhs, std::byte* panel) {
  const std::int64_t columns = rhs.format.columns;
  for (std::int64_t j = 0; j < columns; ++j) {
    std::uint32_t sum = 0;
    for (std::int64_t g = 0; g < rhs.rows; ++g) {
      for (std::int64_t t = 0; t < 4; ++t) {
        const auto byte = static_cast<std::uint8_t>(panel[(g * columns + j) * 4 + t]);
        sum += rhs.dtype == DType::u8 ? byte
                                      : static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
      }
    }
    std::memcpy(panel + (rhs.rows * columns + j) * 4, &sum, sizeof sum);
  }
}

template <class Bits, class Wide>
void unpack(const PackedRhs& rhs, std::int64_t first, std::int64_t count, void* to) {
  const std::int64_t group = terms_of(rhs.format.unit);
  const std::int64_t columns = rhs.format.columns;
  auto* target = static_cast<std::byte*>(to);
  for (std::int64_t j = first; j < first + count; ++j) {
    const std::byte* panel = rhs.memory + j / columns * rhs.panel_bytes;
    for (std::int64_t p = 0; p < rhs.k; ++p) {
      const std::int64_t at = (p / group * columns + j % columns) * group + p % group;
      Wide wide;
      std::memcpy(&wide, panel + at * std::int64_t{sizeof(Wide)}, sizeof wide);
      const auto bits = static_cast<Bits>(wide);
      std::memcpy(target + (p * count + j - first) * std::int64_t{sizeof(Bits)}, &bits,
                  sizeof bits);
    }
  }
}

}  // namespace

std::int64_t terms_of(PanelUnit unit) {
  switch (unit) {
    case PanelUnit::element:
      return 1;
    case PanelUnit::pair:
    case PanelUnit::byte_pair:
      return 2;
    case PanelUnit::byte_quad:
      return 4;
  }
  return 1;
}

std::int64_t bytes_of(PanelUnit unit, DType dtype) {
  return unit == PanelUnit::element ? size_of(dtype) : 4;
}

std::optional<PanelFormat> panel_format(Isa isa, TypeFamily family) {
  const bool bytes = family == TypeFamily::int8;
  const auto plain = [&](int vector_bytes, int vectors) -> PanelFormat {
    const int columns = vectors * vector_bytes / (family == TypeFamily::f64 ? 8 : 4);
    return {bytes ? PanelUnit::byte_pair : PanelUnit::element, static_cast<std::uint8_t>(columns),
            1};
  };
  // A tile holds 16 groups.
  constexpr PanelFormat kPairs = {PanelUnit::pair, 32, 16}, kQuads = {PanelUnit::byte_quad, 32, 16};
  switch (isa) {
    case Isa::portable:
      return plain(16, 2);
    case Isa::neon:
      return plain(16, bytes ? 2 : 3);
    case Isa::avx2:
      return plain(32, 2);
    case Isa::avx512:
      return plain(64, 2);
    case Isa::avx512_vnni:
      return bytes ? std::optional(kQuads) : std::nullopt;
    case Isa::avx512_bf16:
      return family == TypeFamily::bf16 ? std::optional(kPairs) : std::nullopt;
    case Isa::avx512_fp16:
      return std::nullopt;
    case Isa::amx:
      if (family == TypeFamily::bf16) return kPairs;
      return bytes ? std::optional(kQuads) : std::nullopt;
  }
  return std::nullopt;
}

PanelFormat best_panel_format(std::span<const Isa> levels, TypeFamily family) {
  PanelFormat best = *panel_format(Isa::portable, family);
  // In order: a later level has the wider vectors, or instructions that are worth more.
  for (const Isa isa : levels) {
    if (const auto format = panel_format(isa, family)) best = *format;
  }
  return best;
}

std::string to_string(const PanelFormat& format, DType dtype) {
  std::string text(rooftune::to_string(dtype));
  switch (format.unit) {
    case PanelUnit::element:
      break;
    case PanelUnit::pair:
      text += " in pairs,";
      break;
    case PanelUnit::byte_pair:
      text += " in widened pairs,";
      break;
    case PanelUnit::byte_quad:
      text += " in fours,";
      break;
  }
  return text + " in panels of " + std::to_string(format.columns) + " columns";
}

std::optional<std::int64_t> panels_bytes(const PanelFormat& format, DType dtype, std::int64_t k,
                                         std::int64_t n) {
  constexpr double kMost = 0x1p62;
  const double padded_k = static_cast<double>(k) + 64.0, padded_n = static_cast<double>(n) + 64.0;
  if (padded_k * padded_n * 8 > kMost) return std::nullopt;
  return packed_rhs(format, dtype, k, n).panel_bytes * ceil_div(n, format.columns);
}

PackedRhs packed_rhs(const PanelFormat& format, DType dtype, std::int64_t k, std::int64_t n) {
  PackedRhs rhs;
  rhs.format = format;
  rhs.dtype = dtype;
  rhs.k = k;
  rhs.n = n;
  rhs.rows = ceil_div(ceil_div(k, terms_of(format.unit)), format.groups) * format.groups;
  const std::int64_t sums = format.unit == PanelUnit::byte_quad ? 1 : 0;
  rhs.panel_bytes = (rhs.rows + sums) * format.columns * bytes_of(format.unit, dtype);
  return rhs;
}

void pack_panels(const PackedRhs& rhs, const PlainRhs& from, std::int64_t first, std::int64_t last,
                 std::byte* memory) {
  for (std::int64_t panel = first; panel < last; ++panel) {
    std::byte* to = memory + panel * rhs.panel_bytes;
    if (rhs.format.unit == PanelUnit::byte_pair) {
      rhs.dtype == DType::u8 ? pack_panel<std::uint8_t, std::uint16_t, false>(rhs, from, panel, to)
                             : pack_panel<std::uint8_t, std::int16_t, true>(rhs, from, panel, to);
      continue;
    }
    switch (size_of(rhs.dtype)) {
      case 1:
        pack_panel<std::uint8_t, std::uint8_t, false>(rhs, from, panel, to);
        break;
      case 2:
        pack_panel<std::uint16_t, std::uint16_t, false>(rhs, from, panel, to);
        break;
      case 4:
        pack_panel<std::uint32_t, std::uint32_t, false>(rhs, from, panel, to);
        break;
      default:
        pack_panel<std::uint64_t, std::uint64_t, false>(rhs, from, panel, to);
        break;
    }
    if (rhs.format.unit == PanelUnit::byte_quad) add_column_sums(rhs, to);
  }
}

void unpack_columns(const PackedRhs& rhs, std::int64_t first, std::int64_t count, void* to) {
  if (rhs.format.unit == PanelUnit::byte_pair) {
    return unpack<std::uint8_t, std::uint16_t>(rhs, first, count, to);
  }
  switch (size_of(rhs.dtype)) {
    case 1:
      return unpack<std::uint8_t, std::uint8_t>(rhs, first, count, to);
    case 2:
      return unpack<std::uint16_t, std::uint16_t>(rhs, first, count, to);
    case 4:
      return unpack<std::uint32_t, std::uint32_t>(rhs, first, count, to);
    default:
      return unpack<std::uint64_t, std::uint64_t>(rhs, first, count, to);
  }
}

}  // namespace rooftune
