#include "rooftune/packed_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "ops/matmul/key.h"
#include "ops/matmul/packed_matrix.h"
#include "ops/matmul/problem.h"
#include "rooftune/float16.h"
#include "rooftune/rooftune.h"

namespace rooftune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PackedMatrixTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> open(const std::string& device = "cpu", const std::string& isa = "") {
    Settings settings;
    if (!isa.empty()) settings.isa = isa;
    auto session = Session::open({.device = device,
                                  .environment = "local",
                                  .settings = settings,
                                  .folders = {temp_.path(), temp_.path()}});
    EXPECT_TRUE(session) << session.error().text;
    return session ? *std::move(session) : nullptr;
  }

  TempFolder temp_;
};

// Small whole numbers: every right result is exact.
template <class T>
std::vector<T> whole_numbers(std::int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) {
    const int number = static_cast<int>(random() % 7) - (std::is_same_v<T, std::uint8_t> ? 0 : 3);
    if constexpr (sizeof(T) == 2) {
      value = T(static_cast<float>(number));
    } else {
      value = static_cast<T>(number);
    }
  }
  return values;
}

template <class T>
double number(T value) {
  if constexpr (sizeof(T) == 2) {
    return double(float(value));
  } else {
    return double(value);
  }
}

// out = lhs x rhs for row-major operands.
template <class A, class B, class Out>
void expect_product(const std::vector<A>& a, const std::vector<B>& b, const std::vector<Out>& c,
                    std::int64_t m, std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum += number(a[std::size_t(i * k + p)]) * number(b[std::size_t(p * n + j)]);
      }
      ASSERT_EQ(number(c[std::size_t(i * n + j)]), sum) << i << " " << j;
    }
  }
}

template <class A, class B, class Out>
void multiply_and_check(Session& session, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto a = whole_numbers<A>(m * k, 1);
  auto b = whole_numbers<B>(k * n, 2);
  const auto original = b;
  const auto packed = session.pack_rhs(view(std::as_const(b).data(), {k, n}));
  ASSERT_TRUE(packed) << packed.error().text;
  EXPECT_EQ(packed->k(), k);
  EXPECT_EQ(packed->n(), n);
  EXPECT_EQ(packed->dtype(), dtype_of<B>);
  EXPECT_THAT(packed->format(), HasSubstr(std::string(to_string(dtype_of<B>))));
  EXPECT_GE(packed->bytes(), static_cast<std::uint64_t>(k * n) * sizeof(B));
  // The source may go.
  std::fill(b.begin(), b.end(), B{});
  std::vector<Out> c(static_cast<std::size_t>(m * n));
  CallReport report;
  for (int call = 0; call < 2; ++call) {
    std::fill(c.begin(), c.end(), Out{});
    const Status done = session.matmul(view(a.data(), {m, k}), *packed, view(c.data(), {m, n}),
                                       {.report = &report});
    ASSERT_TRUE(done) << done.error().text;
    expect_product(a, original, c, m, n, k);
  }
  EXPECT_EQ(report.origin, Origin::memory);
}

TEST_F(PackedMatrixTest, MultipliesEveryType) {
  auto session = open();
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 37, 41}, {33, 65, 129}}) {
    multiply_and_check<float, float, float>(*session, m, n, k);
    multiply_and_check<double, double, double>(*session, m, n, k);
    multiply_and_check<BFloat16, BFloat16, float>(*session, m, n, k);
    multiply_and_check<Float16, Float16, float>(*session, m, n, k);
    multiply_and_check<std::int8_t, std::int8_t, std::int32_t>(*session, m, n, k);
    multiply_and_check<std::uint8_t, std::int8_t, std::int32_t>(*session, m, n, k);
    multiply_and_check<std::int8_t, std::uint8_t, std::int32_t>(*session, m, n, k);
    multiply_and_check<std::uint8_t, std::uint8_t, std::int32_t>(*session, m, n, k);
  }
}

TEST_F(PackedMatrixTest, EveryLevelAndTheFakeDeviceHaveAFormat) {
  multiply_and_check<float, float, float>(*open("fake"), 16, 16, 20);
  for (const char* isa : {"portable", "avx2", "avx512"}) {
    Settings settings;
    settings.isa = isa;
    auto session = Session::open({.device = "cpu",
                                  .environment = "local",
                                  .settings = settings,
                                  .folders = {temp_.path(), temp_.path()}});
    if (!session) continue;  // not of this architecture
    multiply_and_check<BFloat16, BFloat16, float>(**session, 5, 40, 33);
    multiply_and_check<std::int8_t, std::int8_t, std::int32_t>(**session, 5, 40, 33);
  }
}

TEST_F(PackedMatrixTest, AKernelThatReadsPanelsWins) {
  auto session = open();
  const std::int64_t m = 16, n = 512, k = 512;
  const auto a = whole_numbers<float>(m * k, 1), b = whole_numbers<float>(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const auto packed = session->pack_rhs(view(b.data(), {k, n}));
  ASSERT_TRUE(packed);
  CallReport report;
  ASSERT_TRUE(session->matmul(view(a.data(), {m, k}), *packed, view(c.data(), {m, n}),
                              {.report = &report}));
  EXPECT_THAT(std::string(report.candidate), HasSubstr("prepacked"));
  // Without panels, none of them.
  ASSERT_TRUE(session->matmul(view(a.data(), {m, k}), view(b.data(), {k, n}),
                              view(c.data(), {m, n}), {.report = &report}));
  EXPECT_THAT(std::string(report.candidate), Not(HasSubstr("prepacked")));
  EXPECT_EQ(session->decisions("matmul").size(), 2u);
}

TEST_F(PackedMatrixTest, StridesBatchesAlphaAndBeta) {
  auto session = open();
  const std::int64_t batch = 3, m = 4, n = 19, k = 23;
  const auto a = whole_numbers<float>(batch * m * k, 1), b = whole_numbers<float>(k * n, 2);
  // The transposed matrix, seen transposed.
  std::vector<float> turned(b.size());
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t j = 0; j < n; ++j) turned[std::size_t(j * k + p)] = b[std::size_t(p * n + j)];
  }
  const auto packed = session->pack_rhs(view(std::as_const(turned).data(), {n, k}).transposed());
  ASSERT_TRUE(packed) << packed.error().text;
  std::vector<float> c(static_cast<std::size_t>(batch * m * n), 1);
  ASSERT_TRUE(session->matmul(view(a.data(), {batch, m, k}), *packed, view(c.data(), {batch, m, n}),
                              {.alpha = 2, .beta = 3}));
  for (float& value : c) value = (value - 3) / 2;
  expect_product(a, b, c, batch * m, n, k);
  // A vector on the left.
  std::vector<float> row(static_cast<std::size_t>(n));
  ASSERT_TRUE(session->matmul(view(a.data(), {k}), *packed, view(row.data(), {n})));
  expect_product(a, b, row, 1, n, k);
}

TEST_F(PackedMatrixTest, CopiesShareAndOutliveTheirSession) {
  PackedMatrix kept;
  EXPECT_EQ(kept.bytes(), 0u);
  const auto a = whole_numbers<float>(6 * 7, 1), b = whole_numbers<float>(7 * 8, 2);
  {
    auto session = open();
    auto packed = session->pack_rhs(view(b.data(), {7, 8}));
    ASSERT_TRUE(packed);
    kept = *packed;
    EXPECT_EQ(kept.panels(), packed->panels());
  }
  auto session = open();
  std::vector<float> c(48);
  ASSERT_TRUE(session->matmul(view(a.data(), {6, 7}), kept, view(c.data(), {6, 8})));
  expect_product(a, b, c, 6, 8, 7);
}

TEST_F(PackedMatrixTest, ManyThreadsUseOneMatrix) {
  auto session = open();
  const std::int64_t n = 40, k = 50;
  const auto b = whole_numbers<float>(k * n, 2);
  const auto packed = session->pack_rhs(view(b.data(), {k, n}));
  ASSERT_TRUE(packed);
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&, t, matrix = *packed] {
        const std::int64_t m = 1 + t * 5;
        const auto a = whole_numbers<float>(m * k, unsigned(t));
        std::vector<float> c(static_cast<std::size_t>(m * n));
        for (int call = 0; call < 5; ++call) {
          if (!session->matmul(view(a.data(), {m, k}), matrix, view(c.data(), {m, n}))) ++failed;
          expect_product(a, b, c, m, n, k);
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
}

// Weights that cannot tell right from wrong are replaced while candidates are verified.
TEST_F(PackedMatrixTest, UselessWeightsAreStillVerified) {
  auto session = open();
  const std::vector<float> b(100 * 90, 0);
  const auto a = whole_numbers<float>(20 * 100, 1);
  std::vector<float> c(20 * 90, -1);
  const auto packed = session->pack_rhs(view(b.data(), {100, 90}));
  ASSERT_TRUE(packed);
  ASSERT_TRUE(session->matmul(view(a.data(), {20, 100}), *packed, view(c.data(), {20, 90})));
  EXPECT_EQ(c, std::vector<float>(c.size(), 0));
  const auto decisions = session->decisions("matmul");
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_THAT(decisions[0].winner, HasSubstr("prepacked"));
}

TEST_F(PackedMatrixTest, MisuseIsNamed) {
  auto session = open();
  const std::vector<float> b(7 * 8, 1), a(6 * 9, 1);
  const std::vector<double> wide(6 * 7, 1);
  std::vector<float> c(48);
  const auto packed = session->pack_rhs(view(b.data(), {7, 8}));
  ASSERT_TRUE(packed);
  const View out = view(c.data(), {6, 8});

  const Status wrong_k = session->matmul(view(a.data(), {6, 9}), *packed, out);
  ASSERT_FALSE(wrong_k);
  EXPECT_EQ(wrong_k.error().kind, ErrorKind::shape_mismatch);
  EXPECT_THAT(wrong_k.error().text, HasSubstr("[7, 8]"));
  const Status wrong_type = session->matmul(view(wide.data(), {6, 7}), *packed, out);
  ASSERT_FALSE(wrong_type);
  EXPECT_EQ(wrong_type.error().kind, ErrorKind::unsupported);
  const Status empty = session->matmul(view(a.data(), {6, 7}), PackedMatrix(), out);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::invalid_argument);
  const Status unread =
      session->matmul(view(a.data(), {6, 7}), *packed, out,
                      {.strategy = Strategy::named, .candidate = "packed_portable_4x2v"});
  EXPECT_FALSE(unread);

  const auto cube = session->pack_rhs(view(b.data(), {2, 4, 7}));
  ASSERT_FALSE(cube);
  EXPECT_EQ(cube.error().kind, ErrorKind::shape_mismatch);
  const std::vector<std::int32_t> integers(4, 1);
  const auto type = session->pack_rhs(view(integers.data(), {2, 2}));
  ASSERT_FALSE(type);
  EXPECT_EQ(type.error().kind, ErrorKind::unsupported);
  const auto nothing = session->pack_rhs({nullptr, DType::f32, view(b.data(), {7, 8}).layout});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::invalid_argument);
  const auto absurd = session->pack_rhs(
      {b.data(), DType::u8, Layout{2, {std::int64_t{1} << 40, std::int64_t{1} << 40}, {0, 0}}});
  EXPECT_FALSE(absurd);
}

TEST_F(PackedMatrixTest, AnotherFormatIsRefused) {
  auto portable = open("cpu", "portable");
  auto session = open();
  const std::vector<float> b(7 * 8, 1), a(6 * 7, 1);
  std::vector<float> c(48);
  const auto packed = portable->pack_rhs(view(b.data(), {7, 8}));
  ASSERT_TRUE(packed);
  const auto own = session->pack_rhs(view(b.data(), {7, 8}));
  ASSERT_TRUE(own);
  if (packed->format() == own->format()) GTEST_SKIP() << "this machine has one format for f32";
  const Status done = session->matmul(view(a.data(), {6, 7}), *packed, view(c.data(), {6, 8}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(done.error().text, HasSubstr(packed->format()));
}

TEST_F(PackedMatrixTest, EmptyProducts) {
  auto session = open();
  const std::vector<float> some(8, 2);
  std::vector<float> c(6, 5);
  const auto without_terms = session->pack_rhs(view(some.data(), {0, 3}));
  ASSERT_TRUE(without_terms) << without_terms.error().text;
  ASSERT_TRUE(session->matmul(view(some.data(), {2, 0}), *without_terms, view(c.data(), {2, 3}),
                              {.beta = 2}));
  EXPECT_EQ(c, std::vector<float>(6, 10));
  const auto without_columns = session->pack_rhs(view(some.data(), {4, 0}));
  ASSERT_TRUE(without_columns);
  EXPECT_TRUE(session->matmul(view(some.data(), {2, 4}), *without_columns, view(c.data(), {2, 0})));
}

TEST(PackedMatrixKey, HasItsOwnStorage) {
  const PackedRhs packed = packed_rhs({PanelUnit::element, 32, 1}, DType::f32, 100, 200);
  const Layout lhs = *Layout::contiguous(std::vector<std::int64_t>{5, 16, 100});
  const Layout out = *Layout::contiguous(std::vector<std::int64_t>{5, 16, 200});
  MatmulProblem problem;
  ASSERT_TRUE(make_matmul_problem({nullptr, DType::f32, lhs}, packed, {nullptr, DType::f32, out},
                                  {}, problem));
  // The batch is rows of one product.
  EXPECT_EQ(problem.gemm.m, 80);
  EXPECT_EQ(problem.gemm.batch, 1);
  const MatmulKey key = make_matmul_key(problem, Level::balanced, 2);
  EXPECT_EQ(key.storage_rhs, MatrixStorage::panels);
  EXPECT_EQ(key.layout_rhs, MatrixLayout{});
  EXPECT_EQ(key.rhs_stride, 10);
  EXPECT_THAT(short_text(key), HasSubstr("storage_rhs=Panels"));
  const auto back = key_from_json<MatmulKey>(key_json(key));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, key);
}

}  // namespace
}  // namespace rooftune
