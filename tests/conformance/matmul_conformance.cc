#include "matmul_conformance.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "rooftune/tuner.h"

namespace rooftune {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MatmulConformance);

void MatmulConformance::SetUp() {
  auto opened = Session::open({.device = GetParam().device,
                               .environment = "local",
                               .settings = Settings{},
                               .folders = {temp_.path(), temp_.path()}});
  if (!opened && (opened.error().kind == ErrorKind::unsupported ||
                  opened.error().kind == ErrorKind::not_found)) {
    GTEST_SKIP() << GetParam().device << " is not here: " << opened.error().text;
  }
  ASSERT_TRUE(opened) << opened.error().text;
  session_ = *std::move(opened);
}

namespace {

// One case on a stream of the calling thread, for one candidate after the other.
class Forced {
 public:
  Forced(Session& session, Stream stream, const ProductCase& product, const DeviceOperand& a,
         const DeviceOperand& b, std::atomic<int>& failures)
      : session_(session), stream_(stream), product_(product), a_(a), b_(b), failures_(failures) {}

  // Whether the candidate took it. Everything else that is not right is a failure of the test.
  bool run(const std::string& candidate) {
    Client& client = session_.client();
    if (Status ready = restore_c(); !ready) return failed(candidate, ready.error().text);
    CallReport report;
    MatmulOptions options;
    options.alpha = product_.problem().alpha;
    options.beta = product_.problem().beta;
    options.precision = product_.problem().types.precision;
    options.strategy = Strategy::named;
    options.candidate = candidate;
    options.stream = stream_;
    options.report = &report;
    const Status done = session_.matmul(a_.view(), b_.view(), c_->view(), options);
    const bool refused = !done && done.error().kind == ErrorKind::illegal;
    if (!done && !refused) return failed(candidate, done.error().text);
    const auto after = c_->read(client, stream_);
    if (!after) return failed(candidate, after.error().text);
    if (refused) {
      if (*after == product_.c().memory) return false;
      return failed(candidate, "refused, and wrote all the same");
    }
    as_before_ = false;
    if (report.origin != Origin::forced || report.candidate != candidate) {
      return failed(candidate, "somebody else ran: " + std::string(report.candidate));
    }
    const std::string wrong = product_.difference(*after);
    return wrong.empty() || failed(candidate, wrong);
  }

 private:
  // Memory on a device is not made and freed for each candidate: that can take longer than
  // products.
  Status restore_c() {
    Client& client = session_.client();
    if (!c_) {
      auto made = DeviceOperand::make(client, stream_, product_.c());
      if (!made) return std::unexpected(made.error());
      c_ = *std::move(made);
    } else if (!as_before_) {
      if (Status done = c_->write(client, stream_, product_.c().memory); !done) return done;
    }
    as_before_ = true;
    return {};
  }

  bool failed(const std::string& candidate, const std::string& why) {
    as_before_ = false;
    ++failures_;
    ADD_FAILURE() << candidate << " on " << product_.problem().text() << ": " << why;
    return true;
  }

  Session& session_;
  const Stream stream_;
  const ProductCase& product_;
  const DeviceOperand &a_, &b_;
  std::atomic<int>& failures_;
  std::optional<DeviceOperand> c_;
  bool as_before_ = false;  // c_ holds what it did in the beginning
};

// The products that every type is tried on. Sizes around tiles and vectors, and prime ones.
std::vector<ProductProblem> awkward_problems(const ProductTypes& types) {
  using enum Storage;
  const auto size = static_cast<int>(size_of(types.lhs));
  std::vector<ProductProblem> all;
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                       const std::function<void(ProductProblem&)>& change = {}) {
    ProductProblem problem{.types = types, .m = m, .n = n, .k = k};
    if (change) change(problem);
    all.push_back(problem);
  };
  const auto stored = [](Storage a, Storage b, Storage c = rows) {
    return [=](ProductProblem& p) { p.a = a, p.b = b, p.c = c; };
  };
  add(1, 1, 1);
  add(64, 96, 128);
  add(128, 256, 64);
  add(65, 33, 129);
  add(127, 129, 63);
  add(4, 4, 4);
  add(5, 7, 1);
  add(1, 1, 1031);
  // Layouts, with pitches that bulk copies take and others.
  for (const Storage a : {rows, columns, wide, wide_columns}) {
    for (const Storage b : {rows, columns, wide, wide_columns}) {
      add(70, 90, 77, stored(a, b));
    }
  }
  add(130, 258, 72, stored(wide, wide_columns, wide));
  add(130, 258, 72, stored(wide_columns, wide, columns));
  add(61, 67, 71, stored(padded, padded_columns, padded));
  add(61, 67, 71, stored(sliced, rows_reversed, sliced));
  add(61, 67, 71, stored(both_reversed, sliced, both_reversed));
  add(32, 40, 48, stored(one_row, one_column, rows_reversed));
  add(32, 40, 48, stored(one_column, one_row, padded_columns));
  add(32, 40, 48, stored(one_element, rows));
  // Vectors and a few of them; long sums.
  for (const std::int64_t narrow : {1, 2, 5, 16}) {
    add(narrow, 600, 257, stored(rows, rows));
    add(narrow, 300, 512, stored(rows, columns));
    add(600, narrow, 257, stored(rows, rows));
    add(300, narrow, 512, stored(columns, rows));
  }
  add(3, 2, 5000);
  add(64, 64, 4096, [](ProductProblem& p) { p.values = Values::reals; });
  add(100, 60, 700, [](ProductProblem& p) { p.values = Values::reals; });
  // Scalars.
  add(65, 70, 33, [](ProductProblem& p) { p.alpha = -1, p.beta = 1; });
  add(128, 128, 64, [](ProductProblem& p) { p.alpha = 2, p.beta = -2; });
  add(64, 50, 40, [](ProductProblem& p) { p.beta = 1, p.c = columns; });
  add(1, 70, 300, [](ProductProblem& p) { p.alpha = 2, p.beta = 1; });
  add(70, 1, 300, [](ProductProblem& p) { p.alpha = 2, p.beta = 1; });
  // Off by one element from every alignment.
  add(66, 70, 80, [=](ProductProblem& p) { p.shift_bytes = 8 * size; });
  add(66, 70, 80, [](ProductProblem& p) { p.shift_bytes = 8; });
  add(1, 500, 300, [](ProductProblem& p) { p.shift_bytes = 8; });
  // Batches.
  add(30, 20, 25, [](ProductProblem& p) { p.batch = {3, 5}; });
  add(64, 64, 64, [=](ProductProblem& p) { p.batch = {2, 3}, p.a = p.b = p.c = wide; });
  add(33, 20, 25, [](ProductProblem& p) { p.batch = {3, 4}, p.a_broadcast = {true, false}; });
  add(33, 20, 25, [](ProductProblem& p) {
    p.batch = {3, 4}, p.a_broadcast = {false, true}, p.b_broadcast = {true, false}, p.beta = 1;
  });
  add(10, 10, 64, [](ProductProblem& p) { p.batch = {1, 12}, p.b = columns; });
  add(1, 20, 25, [](ProductProblem& p) { p.batch = {1, 50}; });
  // A matrix by itself, transposed.
  if (types.lhs == types.rhs) {
    for (const Storage storage : {rows, columns, wide}) {
      add(70, 70, 90, [=](ProductProblem& p) { p.gram = true, p.a = storage; });
    }
  }
  // What is not a number stays in its row.
  if (types.precision == Precision::highest) {
    add(70, 66, 80, [](ProductProblem& p) { p.values = Values::special; });
    add(5, 66, 80, [](ProductProblem& p) { p.values = Values::special, p.b = columns; });
  }
  return all;
}

}  // namespace

bool MatmulConformance::has(const ProductTypes& types) {
  ProductProblem smallest{.types = types};
  std::mt19937_64 random(1);
  const ProductCase product(smallest, random);
  Client& client = session().client();
  const auto a = DeviceOperand::make(client, {}, product.a());
  const auto b = DeviceOperand::make(client, {}, product.b());
  const auto c = DeviceOperand::make(client, {}, product.c());
  EXPECT_TRUE(a && b && c);
  if (!a || !b || !c) return false;
  MatmulOptions options;
  options.precision = types.precision;
  options.strategy = Strategy::untuned;
  const Status done = session().matmul(a->view(), b->view(), c->view(), options);
  EXPECT_TRUE(done || done.error().kind == ErrorKind::unsupported) << done.error().text;
  EXPECT_TRUE(client.synchronize({}));
  return bool(done);
}

void MatmulConformance::force_all(const std::vector<ProductProblem>& problems) {
  std::mt19937_64 random(2026);
  Client& client = session().client();
  std::vector<ProductCase> cases;
  std::vector<DeviceOperand> a, b;
  cases.reserve(problems.size());
  for (const ProductProblem& problem : problems) {
    cases.emplace_back(problem, random);
    auto left = DeviceOperand::make(client, {}, cases.back().a());
    ASSERT_TRUE(left) << left.error().text;
    auto right = problem.gram ? left->seen_as(cases.back().b().layout)
                              : DeviceOperand::make(client, {}, cases.back().b());
    ASSERT_TRUE(right) << right.error().text;
    a.push_back(*std::move(left));
    b.push_back(*std::move(right));
  }
  ASSERT_TRUE(client.synchronize({}));

  // A thread takes a candidate through all cases: its kernels are compiled beside those of others.
  const std::vector<std::string> names = session().matmul_candidates();
  std::vector<std::atomic<int>> taken(cases.size());
  std::atomic<std::size_t> next{0};
  // After a fault some devices refuse everything: a few failures are enough to say so.
  std::atomic<int> failures{0};
  constexpr int kMostFailures = 30;
  const auto work = [&] {
    const auto stream = client.create_stream();
    ASSERT_TRUE(stream) << stream.error().text;
    std::vector<Forced> forced;
    for (std::size_t at = 0; at < cases.size(); ++at) {
      forced.emplace_back(session(), *stream, cases[at], a[at], b[at], failures);
    }
    for (std::size_t i = next++; i < names.size(); i = next++) {
      for (std::size_t at = 0; at < cases.size(); ++at) {
        if (failures >= kMostFailures) break;
        if (forced[at].run(names[i])) ++taken[at];
      }
    }
    client.destroy_stream(*stream);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < GetParam().parallel; ++i) others.emplace_back(work);
  work();
  others.clear();
  for (std::size_t at = 0; at < cases.size() && failures == 0; ++at) {
    EXPECT_GE(taken[at], 1) << "no candidate takes " << problems[at].text();
  }
}

TEST_P(MatmulConformance, EveryCandidateOnAwkwardProducts) {
  for (const ProductTypes& types : all_product_types()) {
    if (!has(types)) continue;
    force_all(awkward_problems(types));
    if (HasFailure()) return;  // one type shows what is wrong
  }
}

// More matrices than a grid has blocks on its shorter axes.
TEST_P(MatmulConformance, ManyMatrices) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const ProductTypes types{dtype, dtype, DType::f32};
    ProductProblem apart{.types = types, .m = 3, .n = 2, .k = 5, .batch = {1, 70'000}};
    ProductProblem shared = apart;
    shared.a_broadcast = {true, true};
    force_all({apart, shared});
  }
}

// Bytes of their whole range in sums that only 32 bits hold.
TEST_P(MatmulConformance, LongSumsOfBytes) {
  std::vector<ProductProblem> problems;
  for (const ProductTypes& types : all_product_types()) {
    if (types.out == DType::i32) problems.push_back({.types = types, .m = 33, .n = 20, .k = 9000});
  }
  force_all(problems);
}

// Not aligned even to the element.
TEST_P(MatmulConformance, AddressesOfAnyByte) {
  std::vector<ProductProblem> problems;
  for (const ProductTypes& types : all_product_types()) {
    if (size_of(types.lhs) == 1 || !has(types)) continue;
    problems.push_back({.types = types, .m = 33, .n = 20, .k = 25, .shift_bytes = 1});
    problems.push_back({.types = types, .m = 1, .n = 64, .k = 64, .beta = 1, .shift_bytes = 1});
  }
  force_all(problems);
}

// Neither operand is read: both are full of NaN.
TEST_P(MatmulConformance, WithoutTermsOrFactor) {
  Client& client = session().client();
  for (const ProductTypes& types : all_product_types()) {
    if (!has(types) || types.precision != Precision::highest) continue;
    for (const double beta : {0.0, -2.0}) {
      for (const Storage storage : {Storage::rows, Storage::sliced}) {
        // What is expected of alpha = 0 is what a product with zeros gives.
        std::mt19937_64 random(3);
        ProductProblem problem{.types = types, .m = 20, .n = 30, .k = 1};
        problem.c = storage;
        problem.alpha = 0;
        problem.beta = beta;
        const ProductCase product(problem, random);
        HostOperand spoilt_a = product.a(), spoilt_b = product.b();
        std::ranges::fill(spoilt_a.memory, std::byte{0xff});
        std::ranges::fill(spoilt_b.memory, std::byte{0xff});
        const auto a = DeviceOperand::make(client, {}, spoilt_a);
        const auto b = DeviceOperand::make(client, {}, spoilt_b);
        ASSERT_TRUE(a && b);
        for (const bool no_terms : {false, true}) {
          const auto c = DeviceOperand::make(client, {}, product.c());
          ASSERT_TRUE(c);
          View lhs = a->view(), rhs = b->view();
          if (no_terms) {
            lhs.layout.extents[3] = rhs.layout.extents[2] = 0;
            lhs.data = rhs.data = nullptr;
          }
          MatmulOptions options;
          options.alpha = no_terms ? 1 : 0;
          options.beta = beta;
          ASSERT_TRUE(session().matmul(lhs, rhs, c->view(), options));
          const auto after = c->read(client, {});
          ASSERT_TRUE(after);
          EXPECT_EQ(product.difference(*after), "") << problem.text() << " " << no_terms;
        }
      }
    }
  }
}

// The check of the tuner agrees: no candidate that takes a product does it wrong.
TEST_P(MatmulConformance, SearchesFindNothingWrong) {
  Client& client = session().client();
  std::mt19937_64 random(4);
  bool whole = false;
  for (const ProductTypes& types : all_product_types()) {
    if (!has(types)) continue;
    whole = !whole;  // tiles for every second type
    const double beta = whole ? 0 : -1;
    ProductProblem problem{.types = types, .m = 65, .n = 300, .k = 129, .beta = beta};
    if (whole) problem.m = 256, problem.n = 192, problem.k = 320;
    problem.values = Values::reals;
    const ProductCase product(problem, random);
    const auto a = DeviceOperand::make(client, {}, product.a());
    const auto b = DeviceOperand::make(client, {}, product.b());
    const auto c = DeviceOperand::make(client, {}, product.c());
    ASSERT_TRUE(a && b && c);
    MatmulOptions options;
    options.beta = beta;
    options.precision = types.precision;
    const Status done = session().matmul(a->view(), b->view(), c->view(), options);
    ASSERT_TRUE(done) << problem.text() << ": " << done.error().text;
    const auto after = c->read(client, {});
    ASSERT_TRUE(after);
    EXPECT_EQ(product.difference(*after), "") << problem.text();
    const auto decision = session().matmul_decision(a->view(), b->view(), c->view(), options);
    ASSERT_TRUE(decision && *decision) << problem.text();
    EXPECT_TRUE((*decision)->verified) << problem.text();
    for (const CandidateEvidence& candidate : (*decision)->candidates) {
      const bool fine = candidate.verdict != Verdict::wrong &&
                        candidate.verdict != Verdict::launch_failed &&
                        candidate.verdict != Verdict::build_failed;
      EXPECT_TRUE(fine) << candidate.name << " on " << problem.text() << ": " << candidate.reason;
    }
  }
}

}  // namespace rooftune
