#include "device/cuda/fill.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/cuda/context.h"

namespace rooftune {

CUresult cuda_fill(const CudaDriver& driver, CUstream stream, void* device,
                   std::span<const std::byte> pattern, std::uint64_t bytes) {
  const std::uint64_t size = pattern.size();
  const bool whole = bytes % size == 0 && reinterpret_cast<std::uintptr_t>(device) % size == 0;
  std::uint32_t word = 0;
  if (size <= 4) std::memcpy(&word, pattern.data(), size);
  CUresult done = CUDA_SUCCESS;
  const bool one_byte = std::all_of(pattern.begin(), pattern.end(),
                                    [&](std::byte each) { return each == pattern.front(); });
  const bool words =
      size % 4 == 0 && bytes % size == 0 && reinterpret_cast<std::uintptr_t>(device) % 4 == 0;
  if (one_byte) {
    done = driver.set_bytes(pointer(device), static_cast<unsigned char>(pattern.front()), bytes,
                            stream);
  } else if (size == 2 && whole) {
    done = driver.set_halves(pointer(device), static_cast<unsigned short>(word), bytes / 2, stream);
  } else if (size == 4 && words) {
    done = driver.set_words(pointer(device), word, bytes / 4, stream);
  } else if (words) {
    // One column of words after the other, a pattern apart.
    for (std::uint64_t at = 0; at < size && done == CUDA_SUCCESS; at += 4) {
      std::memcpy(&word, pattern.data() + at, 4);
      done = driver.set_columns(pointer(device) + at, size, word, 1, bytes / size, stream);
    }
  } else {
    // A first piece from the host, and then what is there already as the source of the next, twice
    // as long, piece; its length stays a multiple of the pattern's until the last one.
    constexpr std::uint64_t kFirst = 64;  // patterns
    std::array<std::byte, 16 * kFirst> piece;
    for (std::uint64_t i = 0; i < kFirst; ++i) {
      std::memcpy(piece.data() + i * size, pattern.data(), size);
    }
    std::uint64_t filled = std::min(bytes, kFirst * size);
    done = driver.copy_to_device(pointer(device), piece.data(), filled, stream);
    while (done == CUDA_SUCCESS && filled < bytes) {
      const std::uint64_t next = std::min(filled, bytes - filled);
      done = driver.copy_on_device(pointer(device) + filled, pointer(device), next, stream);
      filled += next;
    }
  }
  return done;
}

}  // namespace rooftune
