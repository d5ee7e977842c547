// Trigger: each size is small and their product passes 2^31: overflow, an exception, a wrong tail.
// Right: right to the last element, or a clear refusal.
#include <sys/mman.h>
#include <sys/resource.h>

#include <fstream>

#include "issue_testing.h"

namespace rooftune::testing {
namespace {

// Address space without memory behind it until it is touched.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Sparse() {
    if (there()) munmap(memory_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  bool there() const { return memory_ != MAP_FAILED; }
  void* data() const { return memory_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

double available_gib() {
  std::ifstream lines("/proc/meminfo");
  std::string name;
  double kilobytes = 0;
  while (lines >> name >> kilobytes) {
    if (name == "MemAvailable:") return kilobytes / (1 << 20);
    lines.ignore(1000, '\n');
  }
  return 0;
}

// The most memory that this process has held.
double peak_gib() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? double(usage.ru_maxrss) / (1 << 20) : 0;
}

class PyTorch191083 : public IssueTest {};

constexpr std::int64_t kFarthest = (std::int64_t{1} << 31) + 5;

// Nine or eighteen elements in three rows that lie `step` apart.
View far_rows(const Sparse& space, std::int64_t cols, std::int64_t step, unsigned seed) {
  const Operand values = Operand::make(DType::f32, {3, cols}, seed);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      set_value(space.data(), i * step + j, DType::f32, values.flat(i * cols + j));
    }
  }
  return {space.data(), DType::f32, {2, {3, cols}, {step, 1}}};
}

// Each operand in turn reaches beyond 2^31 elements. In a process of its own, whose peak of memory
// is that of this test: measuring must not fill gigabytes in order to refuse them afterwards.
TEST_F(PyTorch191083, StridesBeyondTwoToThe31) {
  const Sparse space(std::size_t(2 * kFarthest + 64) * 4);
  if (!space.there()) GTEST_SKIP() << "no 16 GiB of address space";
  const bool right = in_child([&] {
    Settings settings = default_settings();
    settings.autotune.cache = false;  // each of these shares a key with another
    for (const std::int64_t step : {(std::int64_t{1} << 30) - 1, (std::int64_t{1} << 31) - 1,
                                    std::int64_t{1} << 31, kFarthest}) {
      for (int which = 0; which < 3; ++which) {
        const Operand near[] = {Operand::make(DType::f32, {3, 3}, 1),
                                Operand::make(DType::f32, {3, 6}, 2),
                                Operand::make(DType::f32, {3, 6}, 3)};
        View views[] = {near[0].view, near[1].view, near[2].view};
        views[which] = far_rows(space, which == 0 ? 3 : 6, step, unsigned(which) + 1);
        const auto& [lhs, rhs, out] = views;
        const auto expected = reference(lhs, rhs, out);
        auto session = open(settings);
        for (int call = 0; call < 2; ++call) {
          const Status done = session->matmul(lhs, rhs, out);
          ASSERT_TRUE(done) << done.error().text;
          EXPECT_EQ(difference(lhs, rhs, out, expected), "") << which << " " << step;
        }
        EXPECT_LT(peak_gib(), 4.5) << which << " " << step;
      }
    }
    EXPECT_GT(peak_gib(), 0);
  });
  EXPECT_TRUE(right);
}

TEST_F(PyTorch191083, AResultOfMoreThanTwoToThe31) {
  constexpr std::int64_t kSide = 46341, kTerms = 8;
  if (available_gib() < 20) {
    GTEST_SKIP() << "needs 20 GiB of free memory: the result alone is 8.6 GB";
  }
  const Sparse space(std::size_t(kSide * kSide) * 4);
  ASSERT_TRUE(space.there());
  madvise(space.data(), std::size_t(kSide * kSide) * 4, MADV_HUGEPAGE);  // faster to touch
  auto session = open();
  const Operand lhs = Operand::make(DType::f32, {kSide, kTerms}, 1),
                rhs = Operand::make(DType::f32, {kTerms, kSide}, 2);
  const View out = view(static_cast<float*>(space.data()), {kSide, kSide});
  const Status done = session->matmul(lhs.view, rhs.view, out);
  ASSERT_TRUE(done) << done.error().text;
  const View last_row = lhs.view.sliced(0, kSide - 1, kSide), to = out.sliced(0, kSide - 1, kSide);
  EXPECT_EQ(difference(last_row, rhs.view, to, reference(last_row, rhs.view, to)), "");
  const View last = rhs.view.sliced(1, kSide - 1, kSide), column = out.sliced(1, kSide - 1, kSide);
  EXPECT_EQ(difference(lhs.view, last, column, reference(lhs.view, last, column)), "");
}

TEST_F(PyTorch191083, SizesThatNoMemoryHoldsAreRefused) {
  auto session = open();
  const std::int64_t huge = std::int64_t{1} << 31;
  const Operand one = Operand::make(DType::f32, {1, 1}).fill(1);
  // 2^31 x 2^31 x 2^31: an output that overlaps itself is the only one that fits.
  const Status done = session->matmul(
      one.repeated(0, huge).repeated(1, huge).view, one.repeated(0, huge).repeated(1, huge).view,
      Operand::make(DType::f32, {1, 1}).repeated(0, huge).repeated(1, huge).view);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().kind == ErrorKind::overlap ||
              done.error().kind == ErrorKind::invalid_argument)
      << done.error().text;
  // Sizes whose product does not fit in 64 bits.
  const std::int64_t most = std::int64_t{1} << 40;
  EXPECT_FALSE(session->matmul(one.repeated(0, most).repeated(1, most).view, one.view, one.view));
}

}  // namespace
}  // namespace rooftune::testing
