// Two hashes: a fast one for tables in memory, and a strong, stable one for names on disk.
#ifndef ROOFTUNE_BASE_HASH_H_
#define ROOFTUNE_BASE_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace rooftune {

namespace detail {

__extension__ typedef unsigned __int128 Wide;

// Both halves of the product, so that every bit of the factors reaches every bit of the result.
inline std::uint64_t multiply_fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = Wide(a) * b;
  return std::uint64_t(product) ^ std::uint64_t(product >> 64);
}

inline std::uint64_t load_u64(const std::byte* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The last 1 to 7 bytes without a loop over single ones.
inline std::uint64_t load_short(const std::byte* from, std::size_t bytes) {
  if (bytes >= 4) {
    std::uint32_t low, high;
    std::memcpy(&low, from, 4);
    std::memcpy(&high, from + bytes - 4, 4);
    return low | std::uint64_t(high) << 32;
  }
  return std::uint64_t(from[0]) | std::uint64_t(from[bytes / 2]) << 8 |
         std::uint64_t(from[bytes - 1]) << 16;
}

// Odd, with an even mix of bits: the fractional parts of the square roots of 2, 3, 5, 7.
inline constexpr std::uint64_t kRoots[4] = {0x6a09e667f3bcc909u, 0xbb67ae8584caa73bu,
                                            0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u};

}  // namespace detail

// For tables in memory only: differs between byte orders and may change with any version. Not for
// adversaries. `bytes` may be 0, `data` need not be aligned.
inline std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed = 0) {
  using namespace detail;
  const auto* at = static_cast<const std::byte*>(data);
  std::uint64_t hash = multiply_fold(seed ^ kRoots[0], bytes ^ kRoots[1]);
  std::size_t left = bytes;
  if (left > 32) {
    // Two chains that do not wait for each other: one multiplication's latency per 32 bytes.
    std::uint64_t other = ~hash;
    do {
      hash = multiply_fold(load_u64(at) ^ hash, load_u64(at + 8) ^ kRoots[2]);
      other = multiply_fold(load_u64(at + 16) ^ other, load_u64(at + 24) ^ kRoots[3]);
      at += 32;
      left -= 32;
    } while (left > 32);
    hash ^= other;
  }
  if (left > 16) {
    hash = multiply_fold(load_u64(at) ^ hash, load_u64(at + 8) ^ kRoots[2]);
    at += 16;
    left -= 16;
  }
  std::uint64_t first = 0, last = 0;
  if (left >= 8) {
    first = load_u64(at);
    last = load_u64(at + left - 8);
  } else if (left > 0) {
    first = load_short(at, left);
  }
  return multiply_fold(multiply_fold(first ^ hash, last ^ kRoots[3]), hash ^ kRoots[0]);
}

inline std::uint64_t hash_bytes(std::string_view text, std::uint64_t seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}

// SHA-256 (FIPS 180-4).
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

// The first 64 bits of a SHA-256 as 16 lower-case hexadecimal digits: the same on every platform
// and in every version, so it may name things on disk. With several parts, each counts with its
// length: {"ab", "c"} and {"a", "bc"} differ; digest({x}) is not digest(x).
std::string digest(std::string_view bytes);
std::string digest(std::span<const std::string_view> parts);
inline std::string digest(std::initializer_list<std::string_view> parts) {
  return digest(std::span<const std::string_view>(parts.begin(), parts.size()));
}

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_HASH_H_
