#include "base/hash.h"

#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "base/clock.h"
#include "gtest/gtest.h"

namespace rooftune {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (std::uint8_t byte : sha256(bytes)) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(Sha256, VectorsOfTheStandard) {
  EXPECT_EQ(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, LengthsAroundTheBlockDiffer) {
  std::set<std::string> seen;
  for (std::size_t n = 0; n <= 200; ++n) EXPECT_TRUE(seen.insert(hex(std::string(n, '\0'))).second);
}

TEST(Digest, IsStableAndKeepsPartsApart) {
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea");
  EXPECT_EQ(digest({"ab", "c"}), digest("2:ab1:c"));
  EXPECT_NE(digest({"ab", "c"}), digest({"a", "bc"}));
  EXPECT_NE(digest({"abc"}), digest({"abc", ""}));
  EXPECT_EQ(digest(std::initializer_list<std::string_view>{}), digest(""));
}

TEST(HashBytes, DependsOnEveryByteAndTheLength) {
  std::vector<std::uint8_t> data(200, 0);
  std::set<std::uint64_t> seen;
  for (std::size_t n = 0; n <= data.size(); ++n) {
    EXPECT_TRUE(seen.insert(hash_bytes(data.data(), n)).second) << n;
    for (std::size_t i = 0; i < n; ++i) {
      data[i] = 1;
      EXPECT_TRUE(seen.insert(hash_bytes(data.data(), n)).second) << n << ' ' << i;
      data[i] = 0;
    }
  }
  EXPECT_NE(hash_bytes("abc", 1), hash_bytes("abc", 2));
}

TEST(HashBytes, DoesNotDependOnAlignment) {
  std::vector<char> memory(256);
  for (std::size_t n : {0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 48, 96, 160}) {
    const std::string text(n, 'x');
    const std::uint64_t expected = hash_bytes(text);
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::copy(text.begin(), text.end(), memory.begin() + std::ptrdiff_t(shift));
      EXPECT_EQ(hash_bytes(memory.data() + shift, n), expected);
    }
  }
}

TEST(HashBytes, FlippingOneBitFlipsHalfOfTheResult) {
  std::mt19937_64 random(1);
  double flipped = 0;
  int trials = 0;
  for (std::size_t n : {1, 8, 20, 40, 96, 160}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint8_t> data(n);
      for (auto& byte : data) byte = std::uint8_t(random());
      const std::uint64_t before = hash_bytes(data.data(), n);
      for (std::size_t bit = 0; bit < 8 * n; ++bit) {
        data[bit / 8] ^= std::uint8_t(1u << (bit % 8));
        const int change = std::popcount(before ^ hash_bytes(data.data(), n));
        EXPECT_GE(change, 8);
        flipped += change;
        ++trials;
        data[bit / 8] ^= std::uint8_t(1u << (bit % 8));
      }
    }
  }
  EXPECT_NEAR(flipped / trials, 32, 0.2);
}

// Keys differ in small integers: the low bits, which pick the slot of a table, must spread.
TEST(HashBytes, SmallIntegerKeysFillSlotsEvenly) {
  struct Key {
    std::int64_t m, n, k, batch;
    std::int64_t rest[4] = {};
  };
  constexpr int kSlots = 1024, kSide = 16;
  std::vector<int> slots(kSlots, 0);
  for (std::int64_t m = 0; m < kSide; ++m) {
    for (std::int64_t n = 0; n < kSide; ++n) {
      for (std::int64_t k = 0; k < 4 * kSide; ++k) {
        const Key key{std::int64_t(1) << m, std::int64_t(1) << n, k, 1, {}};
        ++slots[hash_bytes(&key, sizeof key) % kSlots];
      }
    }
  }
  const double mean = double(kSide) * kSide * 4 * kSide / kSlots;
  for (int count : slots) EXPECT_LT(std::abs(count - mean), 8 * std::sqrt(mean));
}

TEST(Clock, GoesForward) {
  double last = steady_now_s();
  EXPECT_GT(last, 0);
  for (int i = 0; i < 1000; ++i) {
    const double now = steady_now_s();
    EXPECT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace rooftune
