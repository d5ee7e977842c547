#include "cli/operands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
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

// Elements that are made; longer operands repeat them. A prime: rows of no width begin at the same
// place again before as many rows have gone by. Some milliseconds, and writes of a megabyte or
// more.
constexpr std::int64_t kPeriod = 1'048'573;

// Each set of operands begins here: what CUDA allocates does too, and kernels ask for alignment.
constexpr std::uint64_t kAlignment = 256;

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

// A number of f8 in bits: any sign and fraction, and one of four exponents around that of 1. No
// rounding is needed, and no zero, Inf or NaN comes of it.
std::uint8_t f8_element(double normal, int fraction_bits, int exponent_of_one) {
  // The lowest bits of the generator's sums, which are evenly spread.
  const auto bits = static_cast<std::int64_t>(std::abs(normal) * 32768);
  const auto fraction = bits & ((1 << fraction_bits) - 1);
  const auto exponent = exponent_of_one - 2 + ((bits >> fraction_bits) & 3);
  return static_cast<std::uint8_t>((normal < 0 ? 0x80 : 0) | (exponent << fraction_bits) |
                                   fraction);
}

using Bytes = std::vector<std::byte>;

template <class Make>
Bytes random_bytes(std::int64_t elements, Random& random, Make make) {
  using T = decltype(make(0.0));
  Bytes bytes(static_cast<std::size_t>(elements) * sizeof(T));
  for (std::int64_t i = 0; i < elements; ++i) {
    const T value = make(random.normal());
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof value);
  }
  return bytes;
}

Result<Bytes> random_elements(DType dtype, std::int64_t elements, Random& random) {
  switch (dtype) {
    case DType::f32:
      return random_bytes(elements, random, element<float>);
    case DType::f64:
      return random_bytes(elements, random, element<double>);
    case DType::bf16:
      return random_bytes(elements, random, element<BFloat16>);
    case DType::f16:
      return random_bytes(elements, random, element<Float16>);
    case DType::i8:
      return random_bytes(elements, random, element<std::int8_t>);
    case DType::u8:
      return random_bytes(elements, random, element<std::uint8_t>);
    case DType::f8e4m3:
      return random_bytes(elements, random, [](double x) { return f8_element(x, 3, 7); });
    case DType::f8e5m2:
      return random_bytes(elements, random, [](double x) { return f8_element(x, 2, 15); });
    case DType::i32:
      break;
  }
  return fail(ErrorKind::unsupported,
              fmt::format("no random numbers of type {}", to_string(dtype)));
}

// Writes `bytes` of the period over and over, from `phase` on.
Status write_repeated(Client& client, void* to, std::uint64_t bytes, const Bytes& period,
                      std::uint64_t phase) {
  for (std::uint64_t done = 0, from = phase; done < bytes; from = 0) {
    const std::uint64_t count = std::min<std::uint64_t>(period.size() - from, bytes - done);
    Status written =
        client.write(Stream{}, static_cast<std::byte*>(to) + done, period.data() + from, count);
    if (!written) return written;
    done += count;
  }
  return {};
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

double free_bytes(const Client& client) {
  double free = std::numeric_limits<double>::infinity();
  if (const std::uint64_t all = client.capabilities().memory_bytes; all > 0) {
    free = static_cast<double>(all - std::min(all, client.allocated_bytes()));
  }
  if (client.name() == "cpu" || client.name() == "fake") {
    if (const auto host = free_host_bytes()) free = std::min(free, *host);
  }
  return free;
}

Status check_fits(const Client& client, double needed) {
  const double free = free_bytes(client);
  if (needed <= free) return {};
  return fail(ErrorKind::out_of_memory,
              fmt::format("its operands take {}, but {} has only {} free",
                          format_quantity(needed, "B"), client.name(), format_quantity(free, "B")));
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Status fill_nan(Client& client, Stream stream, const View& out) {
  constexpr std::array<std::byte, 1> kPattern = {std::byte{0xff}};
  return client.fill(stream, out.data, kPattern, bytes_of(out));
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

int sets_beyond_cache(const Client& client, const Product& product) {
  const double bytes = operand_bytes(product);
  if (!(bytes > 0)) return 1;
  const double cache = static_cast<double>(client.capabilities().last_level_cache_bytes);
  const double sets = std::min(std::floor(2 * cache / bytes) + 1, free_bytes(client) / 4 / bytes);
  return static_cast<int>(std::clamp(sets, 1.0, double{kMostSets}));
}

Result<Operands> make_operands(Client& client, const Product& product, std::uint64_t seed,
                               int sets) {
  auto views = views_of(product);
  if (!views) return std::unexpected(views.error());
  if (Status fits = check_fits(client, sets * operand_bytes(product)); !fits) {
    return std::unexpected(fits.error());
  }
  Operands operands;
  operands.sets.assign(static_cast<std::size_t>(sets), *views);
  const auto give_memory = [&](Buffer& memory, auto view) -> Status {
    const std::uint64_t pitch = aligned(bytes_of((*views).*view));
    auto allocated = client.allocate(static_cast<std::uint64_t>(sets) * pitch);
    if (!allocated) return std::unexpected(allocated.error());
    memory = *std::move(allocated);
    std::byte* at = static_cast<std::byte*>(memory.address());
    for (ProductViews& set : operands.sets) {
      (set.*view).data = at;
      at += pitch;
    }
    return {};
  };
  Random random(seed);
  const auto fill_random = [&](auto view) -> Status {
    const ConstView& one = (*views).*view;
    const auto period =
        random_elements(one.dtype, std::min(one.layout.elements(), kPeriod), random);
    if (!period) return std::unexpected(period.error());
    const auto size = static_cast<std::uint64_t>(size_of(one.dtype));
    const std::uint64_t elements = std::max<std::uint64_t>(period->size() / size, 1);
    for (std::size_t i = 0; i < operands.sets.size(); ++i) {
      constexpr std::uint64_t kStep = 4099;  // sets that are not all the same
      void* const to = const_cast<void*>((operands.sets[i].*view).data);
      Status written =
          write_repeated(client, to, bytes_of(one), *period, i * kStep % elements * size);
      if (!written) return written;
    }
    return {};
  };
  const auto prepare = [&]() -> Status {
    if (Status s = give_memory(operands.lhs_memory, &ProductViews::lhs); !s) return s;
    if (Status s = give_memory(operands.rhs_memory, &ProductViews::rhs); !s) return s;
    if (Status s = give_memory(operands.out_memory, &ProductViews::out); !s) return s;
    if (Status s = fill_random(&ProductViews::lhs); !s) return s;
    if (Status s = fill_random(&ProductViews::rhs); !s) return s;
    for (const ProductViews& set : operands.sets) {
      if (Status s = fill_nan(client, Stream{}, set.out); !s) return s;
    }
    return client.synchronize(Stream{});
  };
  if (Status prepared = prepare(); !prepared) return std::unexpected(prepared.error());
  return operands;
}

}  // namespace rooftune::cli
