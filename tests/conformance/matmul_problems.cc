#include "matmul_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "rooftune/float16.h"
#include "rooftune/float8.h"

namespace rooftune {
namespace {

// A multiple of every alignment that matters, and more than the widest access of a kernel.
constexpr std::size_t kMargin = 256;
constexpr std::byte kAround{0xff};

bool is_integer(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i32;
}

template <class T>
double load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::is_class_v<T>) {
    return double(float(value));
  } else {
    return double(value);
  }
}

template <class T>
void store(std::byte* at, double value) {
  T element;
  if constexpr (std::is_class_v<T>) {
    element = T(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    element = static_cast<T>(static_cast<std::int64_t>(value));  // modulo 2^bits
  } else {
    element = static_cast<T>(value);
  }
  std::memcpy(at, &element, sizeof element);
}

// Calls visit with a value of the type.
template <class Visit>
decltype(auto) with_type(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::f64:
      return visit(double());
    case DType::f16:
      return visit(Float16());
    case DType::bf16:
      return visit(BFloat16());
    case DType::i32:
      return visit(std::int32_t());
    case DType::i8:
      return visit(std::int8_t());
    case DType::u8:
      return visit(std::uint8_t());
    case DType::f8e4m3:
      return visit(Float8E4M3());
    case DType::f8e5m2:
      return visit(Float8E5M2());
    case DType::f32:
      break;
  }
  return visit(float());
}

double rounded_to(DType dtype, double value) {
  std::byte place[8];
  return with_type(dtype, [&]<class T>(T) {
    store<T>(place, value);
    return load<T>(place);
  });
}

struct Strides {
  std::int64_t row = 0, col = 0;
};

Strides strides_of(Storage storage, std::int64_t rows, std::int64_t cols) {
  const auto wide = [](std::int64_t length) { return (length + 31) / 16 * 16; };
  switch (storage) {
    case Storage::rows:
      return {cols, 1};
    case Storage::columns:
      return {1, rows};
    case Storage::padded:
      return {cols + 5, 1};
    case Storage::padded_columns:
      return {1, rows + 3};
    case Storage::wide:
      return {wide(cols), 1};
    case Storage::wide_columns:
      return {1, wide(rows)};
    case Storage::sliced:
      return {3 * (2 * cols + 1), 2};
    case Storage::rows_reversed:
      return {-(cols + 2), 1};
    case Storage::both_reversed:
      return {-cols, -1};
    case Storage::one_row:
      return {0, 1};
    case Storage::one_column:
      return {1, 0};
    case Storage::one_element:
      break;
  }
  return {0, 0};
}

// Memory for a batch of matrices; the values are left to the caller.
HostOperand make_operand(const ProductProblem& problem, DType dtype, Storage storage,
                         std::int64_t rows, std::int64_t cols, std::array<bool, 2> broadcast) {
  HostOperand operand;
  operand.dtype = dtype;
  Layout& layout = operand.layout;
  layout.rank = 4;
  const auto [row, col] = strides_of(storage, rows, cols);
  layout.extents = {broadcast[0] ? 1 : problem.batch[0], broadcast[1] ? 1 : problem.batch[1], rows,
                    cols};
  layout.strides = {0, 0, row, col};
  for (const std::size_t axis : {1u, 0u}) {
    // Every matrix begins a few elements behind the one before.
    const auto [lowest, highest] = layout.reach();
    const bool aligned = storage == Storage::wide || storage == Storage::wide_columns;
    const std::int64_t length = highest - lowest + 1 + static_cast<std::int64_t>(axis);
    layout.strides[axis] = aligned ? (length + 31) / 16 * 16 : length;
  }
  const auto [lowest, highest] = layout.reach();
  const auto size = static_cast<std::size_t>(size_of(dtype));
  const auto shift = static_cast<std::size_t>(problem.shift_bytes);
  operand.memory.assign(static_cast<std::size_t>(highest - lowest + 1) * size + 2 * kMargin + shift,
                        kAround);
  operand.first = kMargin + shift + static_cast<std::size_t>(-lowest) * size;
  return operand;
}

template <class Visit>  // visit(offset) for every element
void each_element(const Layout& layout, Visit&& visit) {
  for (std::int64_t x = 0; x < layout.extents[0]; ++x) {
    for (std::int64_t y = 0; y < layout.extents[1]; ++y) {
      for (std::int64_t i = 0; i < layout.extents[2]; ++i) {
        for (std::int64_t j = 0; j < layout.extents[3]; ++j) {
          visit(x * layout.strides[0] + y * layout.strides[1] + i * layout.strides[2] +
                j * layout.strides[3]);
        }
      }
    }
  }
}

double random_value(DType dtype, Values values, std::mt19937_64& random) {
  if (dtype == DType::i8 || dtype == DType::u8) return double(random() % 256);
  if (values == Values::reals) return std::uniform_real_distribution<double>(-1, 1)(random);
  return double(static_cast<std::int64_t>(random() % 9) - 4);
}

// Of a sum of k products with this sum of absolute values. For sums in any order up to a few
// hundred terms, and in blocks beyond that.
double tolerance(const ProductTypes& types, std::int64_t k, double magnitude) {
  if (types.out == DType::i32) return 0;
  const double terms = std::min(double(k), 200.0) + 0.4 * std::sqrt(double(k)) + 4;
  const double epsilon = types.out == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                 : double{std::numeric_limits<float>::epsilon()};
  double relative = terms * epsilon;
  if (types.precision == Precision::split) relative *= 4;
  // Both factors of a product are rounded, or cut off.
  if (types.precision == Precision::high) relative += 0x1p-9;
  if (types.precision == Precision::medium) relative += 0x1p-7;
  // Matrix units add up products of these types with some 13 bits behind the point.
  if (size_of(types.lhs) == 1) relative += 0x1p-10;
  return relative * magnitude + std::numeric_limits<float>::denorm_min();
}

}  // namespace

std::string to_string(const ProductTypes& types) {
  return fmt::format("{} {} {} {}", to_string(types.lhs), to_string(types.rhs),
                     to_string(types.out), to_string(types.precision));
}

std::vector<ProductTypes> all_product_types() {
  using enum DType;
  std::vector<ProductTypes> all = {{f64, f64, f64}, {bf16, bf16, f32}, {bf16, bf16, bf16},
                                   {f16, f16, f32}, {f16, f16, f16},   {i8, i8, i32},
                                   {u8, i8, i32},   {i8, u8, i32},     {u8, u8, i32}};
  for (const Precision precision :
       {Precision::highest, Precision::split, Precision::high, Precision::medium}) {
    all.push_back({f32, f32, f32, precision});
  }
  for (const DType lhs : {f8e4m3, f8e5m2}) {
    for (const DType rhs : {f8e4m3, f8e5m2}) {
      for (const DType out : {f32, bf16, f16}) all.push_back({lhs, rhs, out});
    }
  }
  return all;
}

std::string ProductProblem::text() const {
  return fmt::format(
      "{} {}x{}x{} stored {} {} {} alpha {} beta {} batch {}x{} broadcast {}{} {}{} shift {} "
      "values {}{}",
      to_string(types), m, n, k, static_cast<int>(a), static_cast<int>(b), static_cast<int>(c),
      alpha, beta, batch[0], batch[1], int{a_broadcast[0]}, int{a_broadcast[1]},
      int{b_broadcast[0]}, int{b_broadcast[1]}, shift_bytes, static_cast<int>(values),
      gram ? " gram" : "");
}

double HostOperand::get(std::int64_t offset) const {
  const std::byte* at = memory.data() + static_cast<std::int64_t>(first) + offset * size_of(dtype);
  return with_type(dtype, [&]<class T>(T) { return load<T>(at); });
}

void HostOperand::set(std::int64_t offset, double value) {
  std::byte* at = memory.data() + static_cast<std::int64_t>(first) + offset * size_of(dtype);
  with_type(dtype, [&]<class T>(T) { store<T>(at, value); });
}

ProductCase::ProductCase(const ProductProblem& problem, std::mt19937_64& random)
    : problem_(problem) {
  const ProductProblem& p = problem_;
  a_ = make_operand(p, p.types.lhs, p.a, p.m, p.k, p.a_broadcast);
  b_ = make_operand(p, p.types.rhs, p.b, p.k, p.n, p.b_broadcast);
  c_ = make_operand(p, p.types.out, p.c, p.m, p.n, {});
  for (HostOperand* operand : {&a_, &b_}) {
    each_element(operand->layout, [&](std::int64_t offset) {
      operand->set(offset, random_value(operand->dtype, p.values, random));
    });
  }
  if (p.gram) {
    b_ = a_;
    std::swap(b_.layout.extents[2], b_.layout.extents[3]);
    std::swap(b_.layout.strides[2], b_.layout.strides[3]);
  }
  // With beta = 0 whatever C held must not matter, so it holds what is around it: NaN.
  if (p.beta != 0) {
    each_element(c_.layout, [&](std::int64_t offset) {
      c_.set(offset, random_value(p.types.out, p.values, random));
    });
  }
  if (p.values == Values::special && !is_integer(p.types.lhs)) {
    const auto spoil = [&](std::int64_t row, double value) {
      if (row < p.m) a_.set(row * a_.layout.strides[2] + p.k / 2 * a_.layout.strides[3], value);
    };
    spoil(1, std::numeric_limits<double>::quiet_NaN());
    if (p.types.lhs != DType::f8e4m3) {
      // An infinity of e5m2 is made of bits: conversions saturate.
      spoil(p.m - 1, std::numeric_limits<double>::infinity());
      if (p.types.lhs == DType::f8e5m2 && p.m > 1) {
        const std::int64_t offset =
            (p.m - 1) * a_.layout.strides[2] + p.k / 2 * a_.layout.strides[3];
        a_.memory[a_.first + static_cast<std::size_t>(offset)] = std::byte{0x7c};
      }
    }
  }
  expect();
}

template <class Visit>
void ProductCase::each_matrix(Visit&& visit) const {
  const auto step = [](const HostOperand& operand, std::size_t axis) {
    return operand.layout.extents[axis] == 1 ? 0 : operand.layout.strides[axis];
  };
  for (std::int64_t x = 0; x < problem_.batch[0]; ++x) {
    for (std::int64_t y = 0; y < problem_.batch[1]; ++y) {
      visit(x * step(a_, 0) + y * step(a_, 1), x * step(b_, 0) + y * step(b_, 1),
            x * step(c_, 0) + y * step(c_, 1));
    }
  }
}

void ProductCase::expect() {
  const ProductProblem& p = problem_;
  // f64 products need a wider sum to be told from rounding.
  using Wide = long double;
  std::vector<double> a(static_cast<std::size_t>(p.k)), b(static_cast<std::size_t>(p.k * p.n));
  std::vector<Wide> sum(static_cast<std::size_t>(p.n));
  std::vector<double> size(static_cast<std::size_t>(p.n));
  each_matrix([&](std::int64_t a0, std::int64_t b0, std::int64_t c0) {
    for (std::int64_t q = 0; q < p.k; ++q) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        b[static_cast<std::size_t>(q * p.n + j)] =
            b_.get(b0 + q * b_.layout.strides[2] + j * b_.layout.strides[3]);
      }
    }
    for (std::int64_t i = 0; i < p.m; ++i) {
      std::fill(sum.begin(), sum.end(), Wide(0));
      std::fill(size.begin(), size.end(), 0.0);
      for (std::int64_t q = 0; q < p.k; ++q) {
        const double left = a_.get(a0 + i * a_.layout.strides[2] + q * a_.layout.strides[3]);
        for (std::size_t j = 0; j < static_cast<std::size_t>(p.n); ++j) {
          const Wide term = Wide(left) * b[static_cast<std::size_t>(q * p.n) + j];
          sum[j] += term;
          size[j] += std::abs(static_cast<double>(term));
        }
      }
      for (std::int64_t j = 0; j < p.n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        double value = static_cast<double>(Wide(p.alpha) * sum[at]);
        double magnitude = std::abs(p.alpha) * size[at];
        if (p.beta != 0) {
          const double before =
              p.beta * c_.get(c0 + i * c_.layout.strides[2] + j * c_.layout.strides[3]);
          value = static_cast<double>(Wide(p.alpha) * sum[at] + Wide(before));
          magnitude += std::abs(before);
        }
        // Sums of small integers are exact in every way to make them, and so are those of bytes.
        const bool exact = p.values != Values::reals;
        expected_.push_back({value, exact ? 0 : tolerance(p.types, p.k, magnitude)});
      }
    }
  });
}

std::string ProductCase::difference(std::vector<std::byte> after) const {
  const DType out = problem_.types.out;
  HostOperand have = c_;
  have.memory.swap(after);
  std::string wrong;
  std::size_t at = 0;
  each_matrix([&](std::int64_t, std::int64_t, std::int64_t c0) {
    for (std::int64_t i = 0; i < problem_.m; ++i) {
      for (std::int64_t j = 0; j < problem_.n; ++j, ++at) {
        const std::int64_t offset = c0 + i * c_.layout.strides[2] + j * c_.layout.strides[3];
        const auto& [value, allowed] = expected_[at];
        // A narrow output takes the nearest number, which may be either neighbour of a sum that is
        // itself rounded.
        const double want = rounded_to(out, value);
        const double low = rounded_to(out, value - allowed);
        const double high = rounded_to(out, value + allowed);
        const double found = have.get(offset);
        const bool same = std::isnan(want)   ? std::isnan(found)
                          : std::isinf(want) ? found == want
                                             : found >= low && found <= high;
        if (!same && wrong.empty()) {
          wrong = fmt::format("matrix at {}, row {}, column {}: {} instead of {} (+-{})", c0, i, j,
                              found, want, allowed);
        }
        have.set(offset, 0);
      }
    }
  });
  if (!wrong.empty()) return wrong;
  // What is left is the surroundings.
  HostOperand before = c_;
  each_element(c_.layout, [&](std::int64_t offset) { before.set(offset, 0); });
  return have.memory == before.memory ? "" : "wrote beside the elements of C";
}

Result<DeviceOperand> DeviceOperand::make(Client& client, Stream stream,
                                          const HostOperand& operand) {
  DeviceOperand made;
  made.bytes_ = operand.memory.size();
  auto buffer = client.allocate(made.bytes_ + kMargin);
  if (!buffer) return std::unexpected(buffer.error());
  made.buffer_ = *std::move(buffer);
  const auto address = reinterpret_cast<std::uintptr_t>(made.buffer_.address());
  made.begin_ = static_cast<std::byte*>(made.buffer_.address()) + (kMargin - address % kMargin);
  if (Status done = made.write(client, stream, operand.memory); !done) {
    return std::unexpected(done.error());
  }
  made.view_ = {made.begin_ + operand.first, operand.dtype, operand.layout};
  return made;
}

Status DeviceOperand::write(Client& client, Stream stream,
                            const std::vector<std::byte>& memory) const {
  return client.write(stream, begin_, memory.data(), memory.size());
}

Result<std::vector<std::byte>> DeviceOperand::read(Client& client, Stream stream) const {
  std::vector<std::byte> memory(bytes_);
  if (Status done = client.read(stream, memory.data(), begin_, bytes_); !done) {
    return std::unexpected(done.error());
  }
  return memory;
}

}  // namespace rooftune
