// For the tests of the CPU kernels: contexts, guarded memory, layouts, a reference.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_KERNEL_TESTING_H_
#define ROOFTUNE_OPS_MATMUL_CPU_KERNEL_TESTING_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "device/cpu/context.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/gemm_args.h"
#include "ops/matmul/problem.h"
#include "rooftune/float16.h"

namespace rooftune::testing {

// Memory between two pages that fault when touched.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    size_ = (bytes + page_ - 1) / page_ * page_;
    void* mapped = mmap(nullptr, size_ + 2 * page_, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(mapped) + page_;
    if (mprotect(base_, size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  ~GuardedMemory() { munmap(base_ - page_, size_ + 2 * page_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // `bytes` of memory that begin right behind the first guard, or end right before the second.
  std::byte* place(std::size_t bytes, bool at_end) const {
    return at_end ? base_ + size_ - bytes : base_;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t page_ = 0, size_ = 0;
  std::byte* base_ = nullptr;
};

// Runs tasks on the calling thread in an order that no kernel may count on, each as some worker.
class ShuffledContext : public CpuContext {
 public:
  explicit ShuffledContext(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void parallel_for(std::int64_t count,
                    FunctionRef<void(std::int64_t index, int worker)> task) override {
    ++regions;
    // A stride that shares no factor with count reaches every index once.
    std::int64_t stride = count / 2 + 1;
    while (std::gcd(stride, count) != 1) ++stride;
    for (std::int64_t i = 0; i < count; ++i) {
      task((count - 1 + i * stride) % count, static_cast<int>(i * 7 % threads_));
    }
  }
  std::byte* scratch(std::size_t bytes) override {
    if (bytes > most_scratch) return nullptr;
    scratch_ = std::make_unique<GuardedMemory>(bytes);
    std::byte* memory = scratch_->place(scratch_->size(), true);
    std::memset(memory, 0xff, bytes);  // NaN: what is not written first shows
    return memory;
  }

  int regions = 0;
  std::size_t most_scratch = std::numeric_limits<std::size_t>::max();

 private:
  int threads_;
  std::unique_ptr<GuardedMemory> scratch_;
};

// Real threads, started for each region: slow, and what a race detector needs.
class ThreadedContext : public ShuffledContext {
 public:
  using ShuffledContext::ShuffledContext;
  void parallel_for(std::int64_t count,
                    FunctionRef<void(std::int64_t index, int worker)> task) override {
    ++regions;
    std::atomic<std::int64_t> next{0};
    const auto work = [&](int worker) {
      for (std::int64_t i = next++; i < count; i = next++) task(i, worker);
    };
    std::vector<std::jthread> others;
    for (int worker = 1; worker < threads(); ++worker) others.emplace_back(work, worker);
    work(0);
  }
};

enum class Form {
  rows,     // row-major, dense
  columns,  // stored transposed
  padded,   // rows with a gap behind each
  padded_columns,
  sliced,         // every second element of every third row
  rows_reversed,  // negative row stride
  both_reversed,  // negative strides
  one_row,        // row stride 0 (inputs only)
  one_column,     // column stride 0 (inputs only)
  one_element,    // both 0 (inputs only)
};
inline constexpr Form kInputForms[] = {Form::rows,    Form::columns,       Form::rows,
                                       Form::columns, Form::padded,        Form::padded_columns,
                                       Form::sliced,  Form::rows_reversed, Form::both_reversed,
                                       Form::one_row, Form::one_column,    Form::one_element};
inline constexpr Form kOutputForms[] = {Form::rows,          Form::rows,           Form::columns,
                                        Form::padded,        Form::padded_columns, Form::sliced,
                                        Form::rows_reversed, Form::both_reversed};

// A batch of matrices of one form; `reach` elements lie between the lowest and the highest.
struct Strided {
  std::int64_t row = 0, col = 0;
  std::array<std::int64_t, 2> batch{};
  std::int64_t lowest = 0, reach = 0;
};

inline Strided strided(Form form, std::int64_t rows, std::int64_t cols,
                       std::array<std::int64_t, 2> extents, std::array<bool, 2> broadcast) {
  Strided s;
  switch (form) {
    case Form::rows:
      s.row = cols, s.col = 1;
      break;
    case Form::columns:
      s.row = 1, s.col = rows;
      break;
    case Form::padded:
      s.row = cols + 5, s.col = 1;
      break;
    case Form::padded_columns:
      s.row = 1, s.col = rows + 3;
      break;
    case Form::sliced:
      s.row = 3 * (2 * cols + 1), s.col = 2;
      break;
    case Form::rows_reversed:
      s.row = -(cols + 2), s.col = 1;
      break;
    case Form::both_reversed:
      s.row = -cols, s.col = -1;
      break;
    case Form::one_row:
      s.row = 0, s.col = 1;
      break;
    case Form::one_column:
      s.row = 1, s.col = 0;
      break;
    case Form::one_element:
      break;
  }
  std::int64_t lowest = 0, highest = 0;
  const auto extend = [&](std::int64_t extent, std::int64_t stride) {
    (stride < 0 ? lowest : highest) += (extent - 1) * stride;
  };
  extend(rows, s.row);
  extend(cols, s.col);
  for (int axis = 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    s.batch[at] = broadcast[at] ? 0 : highest - lowest + 1 + axis;
    extend(extents[at], s.batch[at]);
  }
  s.lowest = lowest;
  s.reach = highest - lowest + 1;
  return s;
}

// The element types of a product.
template <class Lhs, class Rhs, class Output>
struct Types {
  using A = Lhs;
  using B = Rhs;
  using Out = Output;
  // Of the sums.
  using Sum = std::conditional_t<std::is_same_v<Out, double>, double,
                                 std::conditional_t<sizeof(A) == 1, std::int32_t, float>>;
};

// One product with its operands laid out; C in `c_before` is what it held.
template <class T>
struct Case {
  GemmArgs args;
  const typename T::A* a = nullptr;
  const typename T::B* b = nullptr;
  typename T::Out* c = nullptr;
  std::vector<std::byte> c_before;
  std::byte* c_begin = nullptr;
  std::string text;
};

template <class T>
T read(const T* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
double value_of(T element) {
  if constexpr (sizeof(T) == 2) {
    return double(float(element));
  } else {
    return double(element);
  }
}
template <class T>
T element_of(double value) {
  if constexpr (sizeof(T) == 2) {
    return T(float(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class T>
void write(T* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

// Calls visit(offset of a, of b, of c) for each product of the batch.
template <class Visit>
void each_product(const GemmArgs& args, Visit&& visit) {
  const std::int64_t outer = args.batch_rank > 0 ? args.batch_extent[0] : 1;
  const std::int64_t inner = args.batch_rank > 1 ? args.batch_extent[1] : 1;
  for (std::int64_t x = 0; x < outer; ++x) {
    for (std::int64_t y = 0; y < inner; ++y) {
      visit(x * args.a_batch[0] + y * args.a_batch[1], x * args.b_batch[0] + y * args.b_batch[1],
            x * args.c_batch[0] + y * args.c_batch[1]);
    }
  }
}

struct Request {
  std::int64_t m = 1, n = 1, k = 1;
  Form a = Form::rows, b = Form::rows, c = Form::rows;
  double alpha = 1, beta = 0;
  std::array<std::int64_t, 2> batch{1, 1};
  std::array<bool, 2> a_broadcast{}, b_broadcast{};
  std::size_t misaligned_bytes = 0;
  bool at_end = true;    // operands end at a guard page; false: begin at one
  bool integers = true;  // small ones, for which every order of summation is exact
};

// Operand memory that is kept over cases: mapping pages costs more than most products.
template <class T>
class Operands {
  using A = typename T::A;
  using B = typename T::B;
  using Out = typename T::Out;

 public:
  Operands() : a_(kBytes), b_(kBytes), c_(kBytes) {}

  Case<T> make(const Request& r, std::mt19937& random) {
    Case<T> made;
    GemmArgs& g = made.args;
    g.a_type = dtype_of<A>;
    g.b_type = dtype_of<B>;
    g.c_type = dtype_of<Out>;
    g.family = type_family(g.a_type, g.b_type, g.c_type).value();
    g.m = r.m, g.n = r.n, g.k = r.k;
    g.alpha = r.alpha, g.beta = r.beta;
    const Strided a = strided(r.a, r.m, r.k, r.batch, r.a_broadcast);
    const Strided b = strided(r.b, r.k, r.n, r.batch, r.b_broadcast);
    const Strided c = strided(r.c, r.m, r.n, r.batch, {false, false});
    made.a =
        reinterpret_cast<const A*>(fill<A>(a_, a, r, r.m, r.k, r.a_broadcast, random)) - a.lowest;
    made.b =
        reinterpret_cast<const B*>(fill<B>(b_, b, r, r.k, r.n, r.b_broadcast, random)) - b.lowest;
    made.c_begin = fill<Out>(c_, c, r, r.m, r.n, {false, false}, random);
    made.c = reinterpret_cast<Out*>(made.c_begin) - c.lowest;
    made.c_before.assign(made.c_begin,
                         made.c_begin + static_cast<std::size_t>(c.reach) * sizeof(Out));
    if (r.beta == 0) {
      // Whatever C held must not matter, so it holds NaN.
      std::memset(made.c_begin, 0xff, made.c_before.size());
      made.c_before.assign(made.c_before.size(), std::byte{0xff});
    }
    g.a = made.a, g.b = made.b, g.c = made.c;
    g.a_row = a.row, g.a_col = a.col, g.b_row = b.row, g.b_col = b.col;
    g.c_row = c.row, g.c_col = c.col;
    g.batch = r.batch[0] * r.batch[1];
    g.batch_rank = g.batch == 1 ? 0 : 2;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      g.batch_extent[axis] = r.batch[axis];
      g.a_batch[axis] = a.batch[axis];
      g.b_batch[axis] = b.batch[axis];
      g.c_batch[axis] = c.batch[axis];
    }
    made.text =
        std::to_string(r.m) + "x" + std::to_string(r.n) + "x" + std::to_string(r.k) + " batch " +
        std::to_string(r.batch[0]) + "x" + std::to_string(r.batch[1]) + " forms " +
        std::to_string(static_cast<int>(r.a)) + " " + std::to_string(static_cast<int>(r.b)) + " " +
        std::to_string(static_cast<int>(r.c)) + " alpha " + std::to_string(r.alpha) + " beta " +
        std::to_string(r.beta) + " misaligned " + std::to_string(r.misaligned_bytes);
    return made;
  }

 private:
  static constexpr std::size_t kBytes = 128 << 20;

  // NaN everywhere, then values where the matrices have elements. Bytes take all of their range.
  template <class Element>
  std::byte* fill(const GuardedMemory& memory, const Strided& s, const Request& r,
                  std::int64_t rows, std::int64_t cols, std::array<bool, 2> broadcast,
                  std::mt19937& random) {
    const std::size_t bytes = static_cast<std::size_t>(s.reach) * sizeof(Element);
    if (bytes + r.misaligned_bytes > memory.size()) throw std::length_error("operand too large");
    std::byte* at = memory.place(bytes + r.misaligned_bytes, r.at_end);
    if (!r.at_end) at += r.misaligned_bytes;
    std::memset(at, 0xff, bytes);
    Element* first = reinterpret_cast<Element*>(at) - s.lowest;
    for (std::int64_t x = 0; x < (broadcast[0] ? 1 : r.batch[0]); ++x) {
      for (std::int64_t y = 0; y < (broadcast[1] ? 1 : r.batch[1]); ++y) {
        for (std::int64_t i = 0; i < (s.row == 0 ? 1 : rows); ++i) {
          for (std::int64_t j = 0; j < (s.col == 0 ? 1 : cols); ++j) {
            write(first + x * s.batch[0] + y * s.batch[1] + i * s.row + j * s.col,
                  make_element<Element>(r, random));
          }
        }
      }
    }
    return at;
  }

  template <class Element>
  static Element make_element(const Request& r, std::mt19937& random) {
    if constexpr (sizeof(Element) == 1) {
      return static_cast<Element>(random());
    } else {
      std::uniform_int_distribution<int> integer(-4, 4);
      std::uniform_real_distribution<double> real(-1, 1);
      return element_of<Element>(r.integers ? integer(random) : real(random));
    }
  }

  GuardedMemory a_, b_, c_;
};

// What every element should be, and how far from it rounding may lead; batch, row, column order.
struct Expected {
  std::vector<long double> value, magnitude;
};

template <class T>
Expected reference(const Case<T>& c) {
  // One digit class more than T: f64 sums of f32 products are exact enough, and fast.
  using Wide = std::conditional_t<std::is_same_v<typename T::Sum, double>, long double, double>;
  using Sum = typename T::Sum;
  using Out = typename T::Out;
  Expected expected;
  const GemmArgs& g = c.args;
  std::vector<Wide> sum(static_cast<std::size_t>(g.n)), size(static_cast<std::size_t>(g.n));
  each_product(g, [&](std::int64_t ao, std::int64_t bo, std::int64_t co) {
    for (std::int64_t i = 0; i < g.m; ++i) {
      std::fill(sum.begin(), sum.end(), Wide(0));
      std::fill(size.begin(), size.end(), Wide(0));
      for (std::int64_t p = 0; p < g.k; ++p) {
        const Wide a = value_of(read(c.a + ao + i * g.a_row + p * g.a_col));
        for (std::int64_t j = 0; j < g.n; ++j) {
          const Wide term = a * Wide(value_of(read(c.b + bo + p * g.b_row + j * g.b_col)));
          sum[static_cast<std::size_t>(j)] += term;
          size[static_cast<std::size_t>(j)] += std::fabs(term);
        }
      }
      for (std::int64_t j = 0; j < g.n; ++j) {
        long double value = static_cast<Sum>(g.alpha) * sum[static_cast<std::size_t>(j)];
        long double magnitude =
            std::fabs(static_cast<long double>(g.alpha) * size[static_cast<std::size_t>(j)]);
        if (g.beta != 0) {
          const std::byte* at =
              c.c_before.data() +
              (reinterpret_cast<const std::byte*>(c.c + co + i * g.c_row + j * g.c_col) -
               c.c_begin);
          const long double before =
              static_cast<Sum>(g.beta) *
              static_cast<long double>(value_of(read(reinterpret_cast<const Out*>(at))));
          value += before;
          magnitude += std::fabs(before);
        }
        expected.value.push_back(value);
        expected.magnitude.push_back(magnitude);
      }
    }
  });
  return expected;
}

// The error that rounding may cause, for sums in any order up to a few hundred terms and for sums
// in blocks beyond that.
template <class T>
long double tolerance(std::int64_t k, long double magnitude) {
  const long double terms = std::min<long double>(static_cast<long double>(k), 200) +
                            4 * std::sqrt(static_cast<long double>(k)) / 10;
  if constexpr (std::is_same_v<typename T::Sum, std::int32_t>) {
    return 0;
  } else {
    using Limits = std::numeric_limits<typename T::Sum>;
    return (terms + 4) * Limits::epsilon() * magnitude + Limits::denorm_min();
  }
}

// Empty when C is as expected and nothing beside its elements was written; else what is wrong.
template <class T>
std::string difference(const Case<T>& c, const Expected& expected, bool exact) {
  using Out = typename T::Out;
  const GemmArgs& g = c.args;
  std::vector<std::byte> after(c.c_begin, c.c_begin + c.c_before.size());
  std::size_t at = 0;
  std::string wrong;
  each_product(g, [&](std::int64_t, std::int64_t, std::int64_t co) {
    for (std::int64_t i = 0; i < g.m; ++i) {
      for (std::int64_t j = 0; j < g.n; ++j, ++at) {
        const Out* p = c.c + co + i * g.c_row + j * g.c_col;
        // A narrow output takes the nearest number, which may be either neighbour of a sum that is
        // itself rounded.
        long double want = expected.value[at];
        long double allowed = exact ? 0 : tolerance<T>(g.k, expected.magnitude[at]);
        if constexpr (sizeof(Out) == 2) {
          const double exactly = static_cast<double>(want);
          want = value_of(element_of<Out>(exactly));
          if (std::isfinite(exactly)) {
            const double other = value_of(element_of<Out>(exactly + static_cast<double>(allowed))),
                         low = value_of(element_of<Out>(exactly - static_cast<double>(allowed)));
            allowed = std::max<long double>(std::fabs(other - want), std::fabs(low - want));
          }
        }
        const long double have = value_of(read(p));
        const auto offset =
            static_cast<std::size_t>(reinterpret_cast<const std::byte*>(p) - c.c_begin);
        std::memcpy(after.data() + offset, c.c_before.data() + offset, sizeof(Out));
        const bool same = std::isnan(want)   ? std::isnan(have)
                          : std::isinf(want) ? want == have
                                             : std::fabs(want - have) <= allowed;
        if (!same && wrong.empty()) {
          wrong = "row " + std::to_string(i) + " column " + std::to_string(j) + ": " +
                  std::to_string(have) + " instead of " + std::to_string(want);
        }
      }
    }
  });
  if (wrong.empty() && after != c.c_before) wrong = "wrote beside the elements of C";
  return wrong;
}

}  // namespace rooftune::testing

#endif  // ROOFTUNE_OPS_MATMUL_CPU_KERNEL_TESTING_H_
