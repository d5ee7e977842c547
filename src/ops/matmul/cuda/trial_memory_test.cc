// The host's side of trials on device memory, with kernels that do in plain loops what the real
// ones promise. (Those are tried on a device: tests/conformance/cuda_matmul_conformance_test.cc.)
#include "ops/matmul/cuda/trial_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ops/distant_client_for_test.h"
#include "ops/matmul/cuda/verify_args.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/trial.h"
#include "ops/matmul/verify.h"
#include "rooftune/float8.h"

namespace rooftune {
namespace {

MatrixBatch near(const VerifyMatrices& distant, DType dtype) {
  MatrixBatch m;
  m.dtype = dtype;
  m.base = DistantClient::here(distant.base);
  m.rows = distant.rows;
  m.cols = distant.cols;
  m.row_stride = distant.row_stride;
  m.col_stride = distant.col_stride;
  m.batch_rank = distant.batch_rank;
  std::copy_n(distant.batch_extent, kMaxBatchAxes, m.batch_extent.begin());
  std::copy_n(distant.batch_stride, kMaxBatchAxes, m.batch_stride.begin());
  m.first = distant.first;
  m.count = distant.count;
  return m;
}

// Covers every column with its chunks, or the launch is wrong.
template <class T>
void apply(const void* launched) {
  const auto& args = *static_cast<const VerifyApplyArgs*>(launched);
  const std::int64_t block = args.lanes_along_rows ? 32 * kVerifyLaneRows : kVerifyRows;
  EXPECT_GE(args.row_blocks * block, args.matrices.rows);
  EXPECT_LT((args.row_blocks - 1) * block, args.matrices.rows);
  EXPECT_GE(args.chunks * args.chunk_cols, args.matrices.cols);
  EXPECT_LT((args.chunks - 1) * args.chunk_cols, args.matrices.cols);
  const auto passes = host_matrix_passes();
  EXPECT_TRUE(passes->apply(near(args.matrices, dtype_of<T>), DistantClient::here(args.in),
                            args.in_step, DistantClient::here(args.out), args.out_step));
}

void compare(const void* launched) {
  const auto& args = *static_cast<const VerifyCompareArgs*>(launched);
  const auto passes = host_matrix_passes();
  double largest = 0;
  bool finite = true;
  if (args.finish) {
    const auto found = passes->finish(DistantClient::here(args.y), DistantClient::here(args.other),
                                      args.rows, args.count, args.alpha, args.beta);
    largest = found->largest;
    finite = found->finite;
  } else {
    largest = *passes->largest_error(DistantClient::here(args.y), DistantClient::here(args.other),
                                     args.rows, args.count, args.floor);
    finite = std::isfinite(largest);
  }
  for (const auto* word : {args.largest, args.not_finite, args.compared}) {
    EXPECT_EQ(*DistantClient::here(word), 0u) << "before the launch";
  }
  *DistantClient::here(args.largest) = std::bit_cast<std::uint64_t>(largest);
  *DistantClient::here(args.not_finite) = finite ? 0 : 1;
  *DistantClient::here(args.compared) = static_cast<unsigned long long>(args.rows * args.count);
}

void count(const void* launched) {
  const auto& args = *static_cast<const VerifyCountArgs*>(launched);
  const auto host = host_trial_memory();
  EXPECT_TRUE(host->begin_count({}, DistantClient::here(args.memory), args.elements,
                                args.element_bytes, args.wanted));
  EXPECT_EQ(*DistantClient::here(args.count), 0u) << "before the launch";
  *DistantClient::here(args.count) = *host->counted({});
}

template <class T>
void randomise(const void* launched) {
  const auto& args = *static_cast<const VerifyRandomArgs*>(launched);
  const MatrixBatch m = near(args.matrices, dtype_of<T>);
  std::uint64_t seed = args.seed * 1000;
  for (std::int64_t index = 0; index < m.count; ++index) {
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.cols; ++j) {
        auto* at = static_cast<std::byte*>(const_cast<void*>(m.base)) +
                   (m.offset(m.first + index) + i * m.row_stride + j * m.col_stride) *
                       std::int64_t{sizeof(T)};
        EXPECT_TRUE(host_trial_memory()->fill_random({}, dtype_of<T>, at, 1, ++seed, 1));
      }
    }
  }
}

DistantClient::Entry entry_of(const CudaKernelPlan& plan) {
  if (plan.file == "verify_compare.cu") return compare;
  if (plan.file == "verify_count.cu") return count;
  const auto of_type = [&](auto kernels) -> DistantClient::Entry {
    for (const auto& [name, entry] : kernels) {
      if (plan.defines.at(0) == std::string("ELEMENT=") + name) return entry;
    }
    return nullptr;
  };
  using Rows = std::vector<std::pair<const char*, DistantClient::Entry>>;
  if (plan.file == "verify_apply.cu") {
    return of_type(Rows{{"float", apply<float>},
                        {"double", apply<double>},
                        {"int8", apply<std::int8_t>},
                        {"int", apply<std::int32_t>},
                        {"f8e4m3", apply<Float8E4M3>},
                        {"f8e5m2", apply<Float8E5M2>}});
  }
  if (plan.file == "verify_random.cu") {
    return of_type(Rows{{"float", randomise<float>},
                        {"double", randomise<double>},
                        {"int8", randomise<std::int8_t>},
                        {"int", randomise<std::int32_t>}});
  }
  return nullptr;
}

class CudaTrial : public ::testing::Test {
 protected:
  CompileCuda compiler() {
    return [this](const CudaKernelPlan& plan) -> Result<std::shared_ptr<const Kernel>> {
      KernelSource source;
      source.id.name = plan.file;
      for (const std::string& define : plan.defines) source.id.parameters += define + " ";
      source.entry = reinterpret_cast<void (*)()>(entry_of(plan));
      if (source.entry == nullptr) return fail(ErrorKind::build_failed, "no such kernel");
      return client_.compile(source);
    };
  }
  // A dense product of distant operands with values from `value`.
  template <class In, class Out>
  GemmArgs product(std::int64_t m, std::int64_t n, std::int64_t k, auto value) {
    GemmArgs gemm;
    gemm.a_type = gemm.b_type = dtype_of<In>;
    gemm.c_type = dtype_of<Out>;
    gemm.family = type_family(gemm.a_type, gemm.b_type, gemm.c_type).value();
    gemm.m = m, gemm.n = n, gemm.k = k;
    gemm.a = operand<In>(m * k, value);
    gemm.b = operand<In>(k * n, value);
    gemm.c = operand<Out>(m * n, [] { return 7.0f; });
    gemm.a_row = k, gemm.b_row = gemm.c_row = n;
    gemm.a_col = gemm.b_col = gemm.c_col = 1;
    return gemm;
  }
  template <class T>
  void* operand(std::int64_t elements, auto value) {
    auto buffer = client_.allocate(static_cast<std::uint64_t>(elements) * sizeof(T));
    buffers_.push_back(*buffer);
    auto* values = static_cast<T*>(DistantClient::here(buffer->address()));
    for (std::int64_t i = 0; i < elements; ++i) values[i] = T(value());
    return buffer->address();
  }
  auto normal() {
    return [this] { return static_cast<float>(normal_(random_)); };
  }

  DistantClient client_;
  std::vector<Buffer> buffers_;
  std::mt19937 random_{5};
  std::normal_distribution<double> normal_;
};

// In plain loops; `gemm` has distant operands.
template <class In, class Out>
void multiply(const GemmArgs& gemm) {
  const auto* a = static_cast<const In*>(DistantClient::here(gemm.a));
  const auto* b = static_cast<const In*>(DistantClient::here(gemm.b));
  auto* c = static_cast<Out*>(DistantClient::here(gemm.c));
  for (std::int64_t index = 0; index < gemm.batch; ++index) {
    const std::int64_t a0 = a_matrices(gemm).offset(index), b0 = b_matrices(gemm).offset(index),
                       c0 = c_matrices(gemm).offset(index);
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      for (std::int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < gemm.k; ++p) {
          sum += double(a[a0 + i * gemm.a_row + p * gemm.a_col]) *
                 double(b[b0 + p * gemm.b_row + j * gemm.b_col]);
        }
        Out& at = c[c0 + i * gemm.c_row + j * gemm.c_col];
        at = static_cast<Out>(gemm.alpha * sum + (gemm.beta == 0 ? 0 : gemm.beta * double(at)));
      }
    }
  }
}

constexpr std::uint64_t kPlenty = 1ull << 32;

template <class In, class Out>
void tell_right_from_wrong(DistantClient& client, const CompileCuda& compile, const GemmArgs& gemm,
                           bool conclusive = true) {
  auto made =
      make_matmul_trial(client, gemm, {}, kPlenty, cuda_trial_memory(client, compile, gemm));
  ASSERT_TRUE(made) << made.error().text;
  Trial<GemmArgs>& trial = **made;
  EXPECT_NE(trial.args().c, gemm.c);
  const auto after = [&](auto change) {
    EXPECT_TRUE(trial.poison({}));
    multiply<In, Out>(trial.args());
    change(static_cast<Out*>(DistantClient::here(trial.args().c)));
    return trial.check({}).value();
  };
  const std::int64_t last = c_matrices(gemm).offset(gemm.batch - 1) + (gemm.m - 1) * gemm.c_row +
                            (gemm.n - 1) * gemm.c_col;
  const Check right = after([](Out*) {});
  EXPECT_TRUE(right.right()) << right.error << " of " << right.error_bound;
  EXPECT_EQ(right.conclusive, conclusive);
  EXPECT_TRUE(after([](Out*) {}).right()) << "the second time";
  EXPECT_FALSE(after([&](Out* c) { c[last] += Out(5); }).right());
  EXPECT_FALSE(after([&](Out* c) { c[0] = -c[0] + Out(1); }).right());
  if constexpr (std::numeric_limits<Out>::has_quiet_NaN) {
    EXPECT_FALSE(after([&](Out* c) { c[last] = std::numeric_limits<Out>::quiet_NaN(); }).right());
  }
  EXPECT_TRUE(trial.poison({}));
  const Check untouched = trial.check({}).value();
  EXPECT_EQ(untouched.complete, gemm.beta != 0);
  EXPECT_FALSE(untouched.right());
  if (gemm.c_row > gemm.n) {
    EXPECT_FALSE(after([&](Out* c) { c[gemm.n] = Out(0); }).contained);
  }
}

TEST_F(CudaTrial, TellsRightFromWrong) {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {7, 5, 3}, {40, 300, 70}, {300, 2, 500}, {3, 700, 90}}) {
    for (const double beta : {0.0, -0.5}) {
      GemmArgs gemm = product<float, float>(m, n, k, normal());
      gemm.beta = beta;
      gemm.alpha = beta == 0 ? 1 : 2;
      tell_right_from_wrong<float, float>(client_, compiler(), gemm);
    }
  }
  GemmArgs f64 = product<double, double>(20, 30, 100, normal());
  tell_right_from_wrong<double, double>(client_, compiler(), f64);
  GemmArgs f8 = product<Float8E4M3, float>(20, 30, 100, normal());
  tell_right_from_wrong<Float8E4M3, float>(client_, compiler(), f8);
  f8 = product<Float8E5M2, float>(20, 30, 100, normal());
  tell_right_from_wrong<Float8E5M2, float>(client_, compiler(), f8);
  GemmArgs bytes = product<std::int8_t, std::int32_t>(
      20, 30, 100, [this] { return static_cast<int>(random_() % 256) - 128; });
  tell_right_from_wrong<std::int8_t, std::int32_t>(client_, compiler(), bytes);
}

TEST_F(CudaTrial, StridesAndBatches) {
  GemmArgs storage = product<float, float>(60, 60, 60, normal());
  GemmArgs gemm = storage;
  gemm.m = 7, gemm.n = 11, gemm.k = 13;
  gemm.a_row = 1, gemm.a_col = 60;
  gemm.b_row = -60, gemm.b_col = 2;
  gemm.b = static_cast<const float*>(storage.b) + 12 * 60;
  gemm.batch = 3;
  gemm.batch_rank = 1;
  gemm.batch_extent[0] = 3;
  gemm.a_batch[0] = 10;
  gemm.c_batch[0] = 20 * 60;
  tell_right_from_wrong<float, float>(client_, compiler(), gemm);
  gemm.b_batch[0] = 60;
  gemm.beta = 1;
  tell_right_from_wrong<float, float>(client_, compiler(), gemm);
}

TEST_F(CudaTrial, UselessOperandsAreReplaced) {
  GemmArgs zeros = product<float, float>(20, 30, 100, [] { return 0.0f; });
  tell_right_from_wrong<float, float>(client_, compiler(), zeros);
  GemmArgs bytes = product<std::int8_t, std::int32_t>(20, 30, 100, [] { return 0; });
  tell_right_from_wrong<std::int8_t, std::int32_t>(client_, compiler(), bytes);
}

// Many small matrices cost as many launches as a few.
TEST_F(CudaTrial, ABatchIsOneLaunch) {
  const auto launches_for = [&](std::int64_t batch) {
    GemmArgs gemm = product<float, float>(4 * batch, 4, 4, normal());
    gemm.m = 4;
    gemm.batch = batch;
    gemm.batch_rank = 1;
    gemm.batch_extent[0] = batch;
    gemm.a_batch[0] = gemm.c_batch[0] = 16;
    gemm.b_batch[0] = 0;
    client_.launches = 0;
    EXPECT_TRUE(ProductCheck::make(gemm, cuda_matrix_passes(client_, {}, compiler())));
    return client_.launches;
  };
  EXPECT_EQ(launches_for(1000), launches_for(2));
}

// What a candidate costs beside its launch: what the device does by itself is enqueued behind it,
// and a few numbers are read when all is done.
TEST_F(CudaTrial, ACheckWaitsOnce) {
  GemmArgs gemm = product<float, float>(40, 300, 70, normal());
  for (const std::int64_t gap : {0, 1}) {
    gemm.n -= gap;  // what lies between rows has to be counted
    const auto made =
        make_matmul_trial(client_, gemm, {}, kPlenty, cuda_trial_memory(client_, compiler(), gemm));
    ASSERT_TRUE(made) << made.error().text;
    client_.launches = client_.fills = client_.waits = 0;
    EXPECT_TRUE((*made)->poison({}));
    EXPECT_EQ(client_.fills, 1);
    multiply<float, float>((*made)->args());
    EXPECT_EQ(client_.waits, 0);
    EXPECT_TRUE((*made)->check({}).value().right());
    EXPECT_EQ(client_.waits, 1);
    EXPECT_EQ(client_.fills, 3);
    EXPECT_EQ(client_.launches, 2 + gap);
  }
}

TEST_F(CudaTrial, MemoryIsBoundedAndReported) {
  GemmArgs gemm = product<float, float>(64, 64, 64, normal());
  const auto memory = [&] { return cuda_trial_memory(client_, compiler(), gemm); };
  const auto refused = make_matmul_trial(client_, gemm, {}, 1000, memory());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::out_of_memory);
  const auto before = client_.allocated_bytes();
  const auto trial = make_matmul_trial(client_, gemm, {}, kPlenty, memory());
  ASSERT_TRUE(trial);
  EXPECT_EQ((*trial)->scratch_bytes(), client_.allocated_bytes() - before);
}

TEST_F(CudaTrial, ARehearsalDoesNotLookAtTheOperandsOfACall) {
  GemmArgs gemm = product<float, float>(40, 30, 100, normal());
  // As if they were gone: there is nothing behind these addresses.
  gemm.a = DistantClient::there(reinterpret_cast<const float*>(64));
  gemm.b = DistantClient::there(reinterpret_cast<const float*>(128));
  gemm.c = DistantClient::there(reinterpret_cast<float*>(196));
  for (const double beta : {0.0, 2.0}) {
    gemm.beta = beta;
    const auto before = client_.allocated_bytes();
    {
      auto trial = make_matmul_rehearsal(client_, gemm, {}, kPlenty,
                                         cuda_trial_memory(client_, compiler(), gemm));
      ASSERT_TRUE(trial) << trial.error().text;
      ASSERT_TRUE((*trial)->poison({}));
      multiply<float, float>((*trial)->args());
      const Check right = (*trial)->check({}).value();
      EXPECT_TRUE(right.right()) << right.error << " of " << right.error_bound;
      EXPECT_TRUE(right.conclusive);
      static_cast<float*>(DistantClient::here((*trial)->args().c))[7] += 5;
      EXPECT_FALSE((*trial)->check({}).value().right());
    }
    EXPECT_EQ(client_.allocated_bytes(), before);
    EXPECT_FALSE(make_matmul_rehearsal(client_, gemm, {}, 1000,
                                       cuda_trial_memory(client_, compiler(), gemm)));
  }
}

TEST_F(CudaTrial, VectorsOfACheckAreApartAndZero) {
  const auto passes = cuda_matrix_passes(client_, {}, compiler());
  std::vector<std::pair<double*, std::int64_t>> made;
  for (const std::int64_t numbers : {7, 100, 1, 40'000, 3, 20'000, 20'000}) {
    const auto vector = passes->make(numbers);
    ASSERT_TRUE(vector) << vector.error().text;
    double* const at = DistantClient::here(*vector);
    for (std::int64_t i = 0; i < numbers; ++i) ASSERT_EQ(at[i], 0) << numbers << ": " << i;
    std::fill_n(at, numbers, double(numbers));
    made.emplace_back(at, numbers);
  }
  for (const auto& [at, numbers] : made) {
    for (std::int64_t i = 0; i < numbers; ++i) ASSERT_EQ(at[i], numbers) << i;
  }
}

// Each costs more than a pass over it.
TEST_F(CudaTrial, SmallVectorsArePartsOfOnePieceOfMemory) {
  const auto passes = cuda_matrix_passes(client_, {}, compiler());
  ASSERT_TRUE(passes->make(100));
  const auto before = client_.allocated_bytes();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(passes->make(3 * 256));
  EXPECT_EQ(client_.allocated_bytes(), before);
  EXPECT_EQ(passes->device_bytes(), before);
}

TEST_F(CudaTrial, KernelsThatAreCompiledAheadAreThoseThatRun) {
  GemmArgs gemm = product<Float8E4M3, float>(20, 30, 100, normal());
  for (const CudaKernelPlan& plan : cuda_trial_plans(gemm)) EXPECT_TRUE(compiler()(plan));
  const auto before = client_.compilations();
  EXPECT_EQ(before, 4u);  // two types, and two kernels without one
  auto trial =
      make_matmul_trial(client_, gemm, {}, kPlenty, cuda_trial_memory(client_, compiler(), gemm));
  ASSERT_TRUE(trial);
  EXPECT_TRUE((*trial)->check({}));
  EXPECT_EQ(client_.compilations(), before);
}

}  // namespace
}  // namespace rooftune
