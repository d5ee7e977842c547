// What the tests of reported faults share: a session of their own, operands of any layout in small
// whole numbers, and a reference that is exact for them. Not part of the library.
#ifndef ROOFTUNE_TESTS_ISSUES_ISSUE_TESTING_H_
#define ROOFTUNE_TESTS_ISSUES_ISSUE_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rooftune/rooftune.h"
#include "store/store_testing.h"

namespace rooftune::testing {

using ::testing::PrintToString;

inline double value_at(const void* base, std::int64_t offset, DType dtype) {
  const auto* place = static_cast<const std::byte*>(base) + offset * size_of(dtype);
  if (dtype == DType::f64) {
    double value;
    std::memcpy(&value, place, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, place, sizeof value);
  return double(value);
}

inline void set_value(void* base, std::int64_t offset, DType dtype, double value) {
  auto* place = static_cast<std::byte*>(base) + offset * size_of(dtype);
  const float narrow = static_cast<float>(value);
  dtype == DType::f64 ? std::memcpy(place, &value, sizeof value)
                      : std::memcpy(place, &narrow, sizeof narrow);
}

// Whether a candidate refuses a plain product of f32 or f64 for good, whatever its sizes are.
inline bool is_for_other_products(const std::string& refusal) {
  for (const char* reason : {"has no kernel for this type", "is not as exact as the precision",
                             "rhs is not packed", "rhs is not lhs transposed"}) {
    if (refusal.find(reason) != std::string::npos) return true;
  }
  return false;
}

// An operand in memory of its own, and a view of it; the functions give other views of the same
// memory. Filled with whole numbers from -4 to 4, which any order of summing keeps exact.
struct Operand {
  std::shared_ptr<std::vector<std::byte>> memory;
  View view;

  // Dense and row-major, `misalignment` bytes behind a 64-byte boundary.
  static Operand make(DType dtype, const std::vector<std::int64_t>& extents, unsigned seed = 1,
                      std::size_t misalignment = 0) {
    Operand operand;
    operand.view.dtype = dtype;
    operand.view.layout = Layout::contiguous(extents).value();
    const auto count = static_cast<std::size_t>(operand.view.layout.elements());
    operand.memory = std::make_shared<std::vector<std::byte>>(
        count * static_cast<std::size_t>(size_of(dtype)) + 128);
    auto begin = reinterpret_cast<std::uintptr_t>(operand.memory->data());
    begin = (begin + 63) / 64 * 64 + misalignment;
    operand.view.data = reinterpret_cast<void*>(begin);
    std::uint64_t state = seed * 977u + 13;
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      operand.set_flat(static_cast<std::int64_t>(i), double((state >> 40) % 9) - 4);
    }
    return operand;
  }

  // Elements of the memory behind the view's first one, in the order they lie there.
  void set_flat(std::int64_t index, double value) const {
    set_value(view.data, index, view.dtype, value);
  }
  double flat(std::int64_t index) const { return value_at(view.data, index, view.dtype); }
  const Operand& fill(double value) const {
    for (std::int64_t i = 0; i < view.layout.elements(); ++i) set_flat(i, value);
    return *this;
  }

  Operand with(View other) const { return {memory, std::move(other)}; }
  Operand transposed() const { return with(view.transposed()); }
  Operand permuted(std::vector<int> axes) const { return with(view.permuted(axes)); }
  Operand sliced(int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const {
    return with(view.sliced(axis, begin, end, step));
  }
  Operand reversed(int axis) const {
    return sliced(axis, view.layout.extents[static_cast<std::size_t>(axis)] - 1, -1, -1);
  }
  // An axis of extent 1 that counts as `extent` equal ones.
  Operand repeated(int axis, std::int64_t extent) const {
    Operand other = *this;
    other.view.layout.extents[static_cast<std::size_t>(axis)] = extent;
    other.view.layout.strides[static_cast<std::size_t>(axis)] = 0;
    return other;
  }
  // Batch axes of extent 1 in front.
  Operand with_rank(int rank) const {
    Operand other = *this;
    Layout& layout = other.view.layout;
    while (layout.rank < rank) {
      for (int i = layout.rank; i > 0; --i) {
        layout.extents[std::size_t(i)] = layout.extents[std::size_t(i - 1)];
        layout.strides[std::size_t(i)] = layout.strides[std::size_t(i - 1)];
      }
      layout.extents[0] = 1;
      layout.strides[0] = 0;
      ++layout.rank;
    }
    return other;
  }
};

// A product's operands as batches of matrices, for the reference.
struct Matrices {
  Layout lhs, rhs, out;

  Matrices(Layout l, Layout r, Layout o) : lhs(l), rhs(r), out(o) {
    if (l.rank == 1) lhs = {2, {1, l.extents[0]}, {0, l.strides[0]}};
    if (r.rank == 1) rhs = {2, {r.extents[0], 1}, {r.strides[0], 0}};
    if (r.rank == 1) insert(out, out.rank);
    if (l.rank == 1) insert(out, out.rank - 1);
  }
  static void insert(Layout& layout, int axis) {
    for (int i = layout.rank; i > axis; --i) {
      layout.extents[std::size_t(i)] = layout.extents[std::size_t(i - 1)];
      layout.strides[std::size_t(i)] = layout.strides[std::size_t(i - 1)];
    }
    layout.extents[std::size_t(axis)] = 1;
    layout.strides[std::size_t(axis)] = 0;
    ++layout.rank;
  }
  static std::size_t last(const Layout& layout, int back) {
    return std::size_t(layout.rank - back);
  }
  std::int64_t m() const { return out.extents[last(out, 2)]; }
  std::int64_t n() const { return out.extents[last(out, 1)]; }
  std::int64_t k() const { return lhs.extents[last(lhs, 1)]; }

  // Calls visit(offset in lhs, in rhs, in out) for each matrix of the batch.
  template <class Visit>
  void each(Visit visit) const {
    const int batch = out.rank - 2;
    std::int64_t count = 1;
    for (int i = 0; i < batch; ++i) count *= out.extents[std::size_t(i)];
    for (std::int64_t index = 0; index < count; ++index) {
      std::int64_t rest = index, l = 0, r = 0, o = 0;
      for (int i = batch - 1; i >= 0; --i) {
        const std::int64_t here = rest % out.extents[std::size_t(i)];
        rest /= out.extents[std::size_t(i)];
        o += here * out.strides[std::size_t(i)];
        const auto offset = [&](const Layout& in) {
          const int axis = i - (out.rank - in.rank);
          if (axis < 0 || in.extents[std::size_t(axis)] == 1) return std::int64_t{0};
          return here * in.strides[std::size_t(axis)];
        };
        l += offset(lhs);
        r += offset(rhs);
      }
      visit(l, r, o);
    }
  }
};

// alpha * lhs x rhs + beta * out in f64, matrix by matrix, row by row.
inline std::vector<double> reference(const View& lhs, const View& rhs, const View& out,
                                     double alpha = 1, double beta = 0) {
  const Matrices all(lhs.layout, rhs.layout, out.layout);
  std::vector<double> expected;
  const auto ls = Matrices::last(all.lhs, 2), rs = Matrices::last(all.rhs, 2),
             os = Matrices::last(all.out, 2);
  std::vector<double> row(static_cast<std::size_t>(all.n()));
  all.each([&](std::int64_t l, std::int64_t r, std::int64_t o) {
    for (std::int64_t i = 0; i < all.m(); ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      for (std::int64_t p = 0; p < all.k(); ++p) {
        const double a = value_at(
            lhs.data, l + i * all.lhs.strides[ls] + p * all.lhs.strides[ls + 1], lhs.dtype);
        for (std::int64_t j = 0; j < all.n(); ++j) {
          row[std::size_t(j)] +=
              a * value_at(rhs.data, r + p * all.rhs.strides[rs] + j * all.rhs.strides[rs + 1],
                           rhs.dtype);
        }
      }
      for (std::int64_t j = 0; j < all.n(); ++j) {
        const std::int64_t at = o + i * all.out.strides[os] + j * all.out.strides[os + 1];
        double& value = row[std::size_t(j)];
        value *= alpha;
        if (beta != 0) value += beta * value_at(out.data, at, out.dtype);
        expected.push_back(value);
      }
    }
  });
  return expected;
}

// Empty when out holds exactly `expected` (NaN where that is NaN); else the first element that
// does not.
inline std::string difference(const View& lhs, const View& rhs, const View& out,
                              const std::vector<double>& expected) {
  const Matrices all(lhs.layout, rhs.layout, out.layout);
  const auto os = Matrices::last(all.out, 2);
  std::size_t index = 0;
  std::string wrong;
  all.each([&](std::int64_t, std::int64_t, std::int64_t o) {
    for (std::int64_t i = 0; i < all.m(); ++i) {
      for (std::int64_t j = 0; j < all.n(); ++j, ++index) {
        const double have = value_at(
            out.data, o + i * all.out.strides[os] + j * all.out.strides[os + 1], out.dtype);
        const double want = expected[index];
        if (wrong.empty() && !(have == want || (std::isnan(have) && std::isnan(want)))) {
          wrong = "row " + std::to_string(i) + " column " + std::to_string(j) + " holds " +
                  std::to_string(have) + " instead of " + std::to_string(want);
        }
      }
    }
  });
  return wrong;
}

// The memory of an operand with the elements of its view blanked: what a call must not touch.
inline std::vector<std::byte> beside(const Operand& operand) {
  std::vector<std::byte> rest = *operand.memory;
  const auto first = static_cast<const std::byte*>(operand.view.data) - operand.memory->data();
  const Layout& layout = operand.view.layout;
  for (std::int64_t index = 0; index < layout.elements(); ++index) {
    std::int64_t left = index, offset = 0;
    for (int axis = layout.rank - 1; axis >= 0; --axis) {
      offset += left % layout.extents[std::size_t(axis)] * layout.strides[std::size_t(axis)];
      left /= layout.extents[std::size_t(axis)];
    }
    const int size = size_of(operand.view.dtype);
    std::memset(rest.data() + first + offset * size, 0, std::size_t(size));
  }
  return rest;
}

// Runs a product and says what is wrong with it: an error, a wrong element, an input that was
// changed, memory beside the output that was written. Empty when all is well.
inline std::string run_product(Session& session, const Operand& lhs, const Operand& rhs,
                               const Operand& out, MatmulOptions options = {},
                               CallReport* report = nullptr) {
  const auto expected = reference(lhs.view, rhs.view, out.view, options.alpha, options.beta);
  const std::vector<std::byte> lhs_before = *lhs.memory, rhs_before = *rhs.memory,
                               gaps_before = beside(out);
  CallReport own;
  options.report = report != nullptr ? report : &own;
  const Status done = session.matmul(lhs.view, rhs.view, out.view, options);
  const std::string text = lhs.view.to_string() + " x " + rhs.view.to_string() + " to " +
                           out.view.to_string() + " by " + std::string(options.report->candidate) +
                           ": ";
  if (!done) return text + done.error().text;
  if (std::string wrong = difference(lhs.view, rhs.view, out.view, expected); !wrong.empty()) {
    return text + wrong;
  }
  if (*lhs.memory != lhs_before || *rhs.memory != rhs_before) return text + "an input was changed";
  if (beside(out) != gaps_before) return text + "memory beside the output was written";
  return "";
}

// A dense product of m x k by k x n on fresh operands.
inline std::string run_product(Session& session, std::int64_t m, std::int64_t n, std::int64_t k,
                               DType dtype = DType::f32, MatmulOptions options = {},
                               CallReport* report = nullptr) {
  return run_product(session, Operand::make(dtype, {m, k}, 1), Operand::make(dtype, {k, n}, 2),
                     Operand::make(dtype, {m, n}, 3), options, report);
}

inline std::optional<Decision> decision_of(Session& session, std::int64_t m, std::int64_t n,
                                           std::int64_t k, DType dtype = DType::f32) {
  const auto view_of = [&](std::int64_t rows, std::int64_t cols) {
    return View{nullptr, dtype, Layout::contiguous(std::vector{rows, cols}).value()};
  };
  return session.matmul_decision(view_of(m, k), view_of(k, n), view_of(m, n)).value();
}

// A session on the CPU whose environment lies in a folder of the test's own. Two threads, so that
// the code for several runs on every machine; a budget that keeps thorough searches short (it ends
// few of them: the products are small).
class IssueTest : public ::testing::Test {
 protected:
  static Settings default_settings() {
    Settings settings;
    settings.environment = "local";
    settings.threads = 2;
    settings.autotune.budget_s = 0.5;
    return settings;
  }
  std::unique_ptr<Session> open(const Settings& settings = default_settings()) {
    SessionOptions options;
    options.settings = settings;
    options.folders = {folder_.path(), folder_.path()};
    options.warn = warnings_.sink();
    auto session = Session::open(options);
    EXPECT_TRUE(session) << session.error().text;
    return session ? *std::move(session) : nullptr;
  }
  std::filesystem::path database() const { return folder_.path() / ".rooftune" / "default.db"; }

  ScratchFolder folder_;
  Warnings warnings_;
};

// Ends the process when a test hangs: a dead-lock must fail, not wait for ever.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit)
      : thread_([this, limit](const std::stop_token& stop) {
          const auto end = std::chrono::steady_clock::now() + limit;
          while (!stop.stop_requested()) {
            if (std::chrono::steady_clock::now() > end) {
              std::fprintf(stderr, "still running after %lld s\n", (long long)limit.count());
              std::abort();
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        }) {}

 private:
  std::jthread thread_;
};

// Runs `work(index)` in so many threads that begin together.
template <class Work>
void run_together(int threads, Work work) {
  std::atomic<int> waiting{threads};
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      work(i);
    });
  }
}

}  // namespace rooftune::testing

#endif  // ROOFTUNE_TESTS_ISSUES_ISSUE_TESTING_H_
