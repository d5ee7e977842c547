// Products for tests of any device: operands on the host with all that surrounds them, what their
// product should be, and copies of them on a device.
#ifndef ROOFTUNE_TESTS_CONFORMANCE_MATMUL_PROBLEMS_H_
#define ROOFTUNE_TESTS_CONFORMANCE_MATMUL_PROBLEMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "rooftune/device.h"
#include "rooftune/matmul.h"
#include "rooftune/tensor.h"

namespace rooftune {

struct ProductTypes {
  DType lhs, rhs, out;
  Precision precision = Precision::highest;
};
std::string to_string(const ProductTypes& types);
// Every combination that there is.
std::vector<ProductTypes> all_product_types();

// How the matrices of an operand lie in memory.
enum class Storage : std::uint8_t {
  rows,            // row-major, dense
  columns,         // stored transposed
  padded,          // rows 5 elements longer
  padded_columns,  // columns 3 elements longer
  wide,            // rows longer by 16 to 31: a pitch that is a multiple of 16 elements
  wide_columns,
  sliced,         // every second element of every third row
  rows_reversed,  // negative row stride
  both_reversed,
  one_row,  // row stride 0, inputs only
  one_column,
  one_element,
};

// What is in the inputs.
enum class Values : std::uint8_t {
  integers,  // few and small: every order of additions is exact. Bytes: of their whole range
  reals,     // of [-1, 1]
  special,   // integers, with a row of NaN and one of Inf in lhs (types that have them)
};

struct ProductProblem {
  ProductTypes types;
  std::int64_t m = 1, n = 1, k = 1;
  Storage a = Storage::rows, b = Storage::rows, c = Storage::rows;
  double alpha = 1, beta = 0;
  std::array<std::int64_t, 2> batch = {1, 1};
  std::array<bool, 2> a_broadcast = {}, b_broadcast = {};
  int shift_bytes = 0;  // of all operands from a multiple of 256
  Values values = Values::integers;
  bool gram = false;  // B is A transposed, in the same memory; m = n, and `b` means nothing
  std::string text() const;
};

// An operand with everything around it: bytes of 0xff (a NaN in floating-point types) before,
// between and behind its elements.
struct HostOperand {
  DType dtype;
  Layout layout;
  std::vector<std::byte> memory;
  std::size_t first = 0;  // where the element of index 0 is, in bytes

  double get(std::int64_t offset) const;  // in elements from the first
  void set(std::int64_t offset, double value);
};

// The operands of a problem and what C should be.
class ProductCase {
 public:
  ProductCase(const ProductProblem& problem, std::mt19937_64& random);

  const ProductProblem& problem() const { return problem_; }
  const HostOperand& a() const { return a_; }
  const HostOperand& b() const { return b_; }
  const HostOperand& c() const { return c_; }  // before the product
  // Empty when C's memory `after` the product holds it, and around it what was there before.
  std::string difference(std::vector<std::byte> after) const;

 private:
  struct Expected {
    double value, tolerance;
  };
  template <class Visit>  // visit(offset in A, in B, in C)
  void each_matrix(Visit&& visit) const;
  void expect();

  const ProductProblem problem_;
  HostOperand a_, b_, c_;
  std::vector<Expected> expected_;  // in the order of each_matrix, rows, columns
};

// An operand on a device.
class DeviceOperand {
 public:
  // Writes it there on the stream.
  static Result<DeviceOperand> make(Client& client, Stream stream, const HostOperand& operand);
  View view() const { return view_; }
  // The same memory under another layout.
  DeviceOperand seen_as(const Layout& layout) const {
    DeviceOperand other = *this;
    other.view_.layout = layout;
    return other;
  }
  Status write(Client& client, Stream stream, const std::vector<std::byte>& memory) const;
  Result<std::vector<std::byte>> read(Client& client, Stream stream) const;

 private:
  Buffer buffer_;
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  View view_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CONFORMANCE_MATMUL_PROBLEMS_H_
