#include "ops/matmul/cpu/panels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace rooftune {
namespace {

constexpr Isa kAll[] = {Isa::portable,    Isa::neon,        Isa::avx2, Isa::avx512,
                        Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx};

struct TypeOf {
  TypeFamily family;
  DType dtype;
};
constexpr TypeOf kTypes[] = {{TypeFamily::f32, DType::f32},   {TypeFamily::f64, DType::f64},
                             {TypeFamily::bf16, DType::bf16}, {TypeFamily::f16, DType::f16},
                             {TypeFamily::int8, DType::i8},   {TypeFamily::int8, DType::u8}};

TEST(Panels, GiveBackWhatWasPacked) {
  std::mt19937 random(1);
  for (const Isa isa : kAll) {
    for (const auto& [family, dtype] : kTypes) {
      const auto format = panel_format(isa, family);
      if (!format) continue;
      for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 67}, {130, 31}}) {
        const auto size = static_cast<std::size_t>(size_of(dtype));
        std::vector<std::byte> plain(static_cast<std::size_t>(k * n) * size), back(plain.size());
        for (std::byte& byte : plain) byte = static_cast<std::byte>(random());
        PackedRhs rhs = packed_rhs(*format, dtype, k, n);
        const auto bytes = panels_bytes(*format, dtype, k, n);
        ASSERT_TRUE(bytes);
        std::vector<std::byte> memory(static_cast<std::size_t>(*bytes), std::byte{0xff});
        rhs.memory = memory.data();
        const std::int64_t panels = *bytes / rhs.panel_bytes;
        // By rows, then stored by columns: [n, k] with the other stride.
        pack_panels(rhs, {plain.data(), n, 1}, 0, panels, memory.data());
        unpack_columns(rhs, 0, n, back.data());
        EXPECT_EQ(back, plain) << to_string(*format, dtype);
        const std::vector<std::byte> by_rows = memory;
        std::vector<std::byte> turned(plain.size());
        for (std::int64_t p = 0; p < k; ++p) {
          for (std::int64_t j = 0; j < n; ++j) {
            std::memcpy(turned.data() + static_cast<std::size_t>(j * k + p) * size,
                        plain.data() + static_cast<std::size_t>(p * n + j) * size, size);
          }
        }
        std::fill(memory.begin(), memory.end(), std::byte{0xff});
        pack_panels(rhs, {turned.data(), 1, k}, 0, panels, memory.data());
        EXPECT_EQ(memory, by_rows) << to_string(*format, dtype);
      }
    }
  }
}

TEST(Panels, TheBestFormatIsThatOfTheHighestLevel) {
  const std::vector<Isa> small = {Isa::portable, Isa::avx2};
  EXPECT_EQ(best_panel_format(small, TypeFamily::f32), *panel_format(Isa::avx2, TypeFamily::f32));
  const std::vector<Isa> large = {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16};
  EXPECT_EQ(best_panel_format(large, TypeFamily::bf16),
            *panel_format(Isa::avx512_bf16, TypeFamily::bf16));
  EXPECT_EQ(best_panel_format(large, TypeFamily::int8),
            *panel_format(Isa::avx512, TypeFamily::int8));
}

TEST(Panels, AbsurdSizesHaveNoBytes) {
  const auto format = *panel_format(Isa::portable, TypeFamily::f32);
  EXPECT_FALSE(panels_bytes(format, DType::f32, std::int64_t{1} << 40, std::int64_t{1} << 40));
}

}  // namespace
}  // namespace rooftune
