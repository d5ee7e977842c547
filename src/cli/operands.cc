#include "cli/operands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/units.h"
#include "fmt/format.h"
#include "rooftune/float16.h"

namespace rooftune::cli {
namespace {

constexpr std::int64_t kPiece = 1 << 17;  // elements made at a time: they stay in a cache

// SplitMix64 (Steele, Lea, Flood 2014): every seed gives a full period.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // The sum of four 16-bit uniform numbers, scaled to variance 1.
  double normal() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    std::int64_t sum = -2 * 65535;
    for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>((z >> (16 * i)) & 0xffff);
    constexpr double kScale = 1 / 37837.2;  // 65536 / sqrt(12) * sqrt(4)
    return static_cast<double>(sum == 0 ? 1 : sum) * kScale;
  }

 private:
  std::uint64_t state_;
};

// A normal number as an element; integers take most of their range.
template <class T>
T element(double normal) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double kMiddle = std::is_signed_v<T> ? 0 : 128;
    return static_cast<T>(std::clamp(kMiddle + 40 * normal, kMiddle - 128, kMiddle + 127));
  } else if constexpr (sizeof(T) == 2) {
    return T(static_cast<float>(normal));
  } else {
    return static_cast<T>(normal);
  }
}

template <class T>
Status fill_random(Client& client, const Buffer& memory, std::int64_t elements, Random& random) {
  std::vector<T> piece(static_cast<std::size_t>(std::min(elements, kPiece)));
  for (std::int64_t done = 0; done < elements;) {
    const std::int64_t count = std::min(elements - done, kPiece);
    for (std::int64_t i = 0; i < count; ++i) {
      piece[static_cast<std::size_t>(i)] = element<T>(random.normal());
    }
    const auto bytes = static_cast<std::uint64_t>(count) * sizeof(T);
    Status written =
        client.write(Stream{}, static_cast<T*>(memory.address()) + done, piece.data(), bytes);
    if (!written) return written;
    done += count;
  }
  return {};
}

Status fill_random(Client& client, const Buffer& memory, const ConstView& view, Random& random) {
  switch (view.dtype) {
    case DType::f32:
      return fill_random<float>(client, memory, view.layout.elements(), random);
    case DType::f64:
      return fill_random<double>(client, memory, view.layout.elements(), random);
    case DType::bf16:
      return fill_random<BFloat16>(client, memory, view.layout.elements(), random);
    case DType::f16:
      return fill_random<Float16>(client, memory, view.layout.elements(), random);
    case DType::i8:
      return fill_random<std::int8_t>(client, memory, view.layout.elements(), random);
    case DType::u8:
      return fill_random<std::uint8_t>(client, memory, view.layout.elements(), random);
    default:
      return fail(ErrorKind::unsupported,
                  fmt::format("no random numbers of type {}", to_string(view.dtype)));
  }
}

std::uint64_t bytes_of(const ConstView& view) {
  return static_cast<std::uint64_t>(view.layout.elements()) *
         static_cast<std::uint64_t>(size_of(view.dtype));
}

// What the operating system could still give out. Linux grants more than it has and then kills the
// process that uses it, so an allocation that succeeds proves nothing.
std::optional<double> free_host_bytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/meminfo", "r"),
                                                             std::fclose);
  if (file == nullptr) return std::nullopt;
  constexpr std::string_view kName = "MemAvailable:";
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), file.get()) != nullptr) {
    std::string_view line(buffer.data());
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(std::min(line.find_first_not_of(' ', kName.size()), line.size()));
    std::uint64_t kilobytes = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), kilobytes);
    if (error == std::errc()) return 1024.0 * static_cast<double>(kilobytes);
  }
  return std::nullopt;
}

Status check_fits(Client& client, double needed) {
  double free = std::numeric_limits<double>::infinity();
  if (const std::uint64_t all = client.capabilities().memory_bytes; all > 0) {
    free = static_cast<double>(all - std::min(all, client.allocated_bytes()));
  }
  if (client.name() == "cpu" || client.name() == "fake") {
    if (const auto host = free_host_bytes()) free = std::min(free, *host);
  }
  if (needed <= free) return {};
  return fail(ErrorKind::out_of_memory,
              fmt::format("its operands take {}, but {} has only {} free",
                          format_quantity(needed, "B"), client.name(), format_quantity(free, "B")));
}

}  // namespace

Status fill_nan(Client& client, const View& out) {
  constexpr std::array<std::byte, 1> kPattern = {std::byte{0xff}};
  return client.fill(Stream{}, out.data, kPattern, bytes_of(out));
}

double operand_bytes(const Product& product) {
  const auto size = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const auto in = static_cast<double>(size_of(product.in));
  const auto out = static_cast<double>(size_of(product.out));
  return static_cast<double>(product.batch) *
         (in * (size(product.m, product.k) + size(product.k, product.n)) +
          out * size(product.m, product.n));
}

Result<Operands> make_operands(Client& client, const Product& product, std::uint64_t seed) {
  auto views = views_of(product);
  if (!views) return std::unexpected(views.error());
  if (Status fits = check_fits(client, operand_bytes(product)); !fits) {
    return std::unexpected(fits.error());
  }
  Operands operands{{}, {}, {}, *views};
  const auto give_memory = [&](Buffer& memory, auto& view) -> Status {
    auto allocated = client.allocate(bytes_of(view));
    if (!allocated) return std::unexpected(allocated.error());
    memory = *std::move(allocated);
    view.data = memory.address();
    return {};
  };
  Random random(seed);
  const auto prepare = [&]() -> Status {
    if (Status s = give_memory(operands.lhs_memory, operands.views.lhs); !s) return s;
    if (Status s = give_memory(operands.rhs_memory, operands.views.rhs); !s) return s;
    if (Status s = give_memory(operands.out_memory, operands.views.out); !s) return s;
    if (Status s = fill_random(client, operands.lhs_memory, operands.views.lhs, random); !s) {
      return s;
    }
    if (Status s = fill_random(client, operands.rhs_memory, operands.views.rhs, random); !s) {
      return s;
    }
    if (Status s = fill_nan(client, operands.views.out); !s) return s;
    return client.synchronize(Stream{});
  };
  if (Status prepared = prepare(); !prepared) return std::unexpected(prepared.error());
  return operands;
}

}  // namespace rooftune::cli
