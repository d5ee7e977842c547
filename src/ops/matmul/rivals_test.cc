#include "ops/matmul/rivals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/client.h"
#include "device/cuda/client.h"
#include "device/fake/fake_client.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/rivals/cublaslt.h"
#include "ops/matmul/rivals/emulated_cublaslt_for_test.h"
#include "rooftune/float8.h"

namespace rooftune {
namespace {

using testing::HasSubstr;

// --- Elements of every type ------------------------------------------------------------------

// Small whole numbers only, which every type holds exactly.
std::uint16_t f16_of(double value) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const double fraction = std::ldexp(std::abs(value), -exponent) - 1;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) |
                                    static_cast<int>(std::lround(fraction * 1024)));
}

double from_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  if (exponent == 0) return 0;  // no small fractions here
  const double value = std::ldexp(1 + (bits & 1023) / 1024.0, exponent - 15);
  return (bits & 0x8000) != 0 ? -value : value;
}

template <class T>
void put(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
T get(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void store(void* at, DType type, double value) {
  switch (type) {
    case DType::f64:
      return put(at, value);
    case DType::f32:
      return put(at, static_cast<float>(value));
    case DType::bf16:
      return put(at, static_cast<std::uint16_t>(
                         std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
    case DType::f16:
      return put(at, f16_of(value));
    case DType::i32:
      return put(at, static_cast<std::int32_t>(value));
    case DType::i8:
      return put(at, static_cast<std::int8_t>(value));
    case DType::f8e4m3:
      return put(at, Float8E4M3(static_cast<float>(value)));
    case DType::f8e5m2:
      return put(at, Float8E5M2(static_cast<float>(value)));
    default:
      return put(at, static_cast<std::uint8_t>(value));
  }
}

double load(const void* at, DType type) {
  switch (type) {
    case DType::f64:
      return get<double>(at);
    case DType::f32:
      return static_cast<double>(get<float>(at));
    case DType::bf16:
      return static_cast<double>(std::bit_cast<float>(std::uint32_t{get<std::uint16_t>(at)} << 16));
    case DType::f16:
      return from_f16(get<std::uint16_t>(at));
    case DType::i32:
      return get<std::int32_t>(at);
    case DType::i8:
      return get<std::int8_t>(at);
    case DType::f8e4m3:
      return static_cast<double>(static_cast<float>(get<Float8E4M3>(at)));
    case DType::f8e5m2:
      return static_cast<double>(static_cast<float>(get<Float8E5M2>(at)));
    default:
      return get<std::uint8_t>(at);
  }
}

// --- Problems --------------------------------------------------------------------------------

struct Types {
  DType a, b, c;
};

struct Form {
  std::int64_t m = 17, n = 9, k = 33;
  std::vector<std::int64_t> batch;
  bool lhs_transposed = false, rhs_transposed = false, out_transposed = false;
  bool shared_rhs = false;   // one B for the last batch axis
  std::int64_t padding = 0;  // elements behind each row
  double alpha = 1, beta = 0;
};

class Problem {
 public:
  Problem(const Types& types, const Form& form) {
    args_.a_type = types.a, args_.b_type = types.b, args_.c_type = types.c;
    args_.m = form.m, args_.n = form.n, args_.k = form.k;
    args_.alpha = form.alpha, args_.beta = form.beta;
    args_.batch_rank = static_cast<int>(form.batch.size());
    std::copy(form.batch.begin(), form.batch.end(), args_.batch_extent.begin());
    const auto a_size =
        lay_out(form.m, form.k, form.lhs_transposed, form.padding, args_.a_row, args_.a_col);
    const auto b_size =
        lay_out(form.k, form.n, form.rhs_transposed, form.padding, args_.b_row, args_.b_col);
    const auto c_size =
        lay_out(form.m, form.n, form.out_transposed, form.padding, args_.c_row, args_.c_col);
    std::int64_t a_all = a_size, b_all = b_size, c_all = c_size;
    for (std::size_t axis = form.batch.size(); axis-- > 0;) {
      args_.batch *= form.batch[axis];
      const bool shared = form.shared_rhs && axis + 1 == form.batch.size();
      args_.a_batch[axis] = a_all, args_.c_batch[axis] = c_all;
      args_.b_batch[axis] = shared ? 0 : b_all;
      a_all *= form.batch[axis], c_all *= form.batch[axis];
      if (!shared) b_all *= form.batch[axis];
    }
    const auto family = type_family(types.a, types.b, types.c);
    args_.family = family.value_or(TypeFamily::f32);
    a_ = filled(a_all, types.a, 7, types.a == DType::u8 ? 0 : -2);
    b_ = filled(b_all, types.b, 5, types.b == DType::u8 ? 0 : -1);
    c_ = filled(c_all, types.c, 3, 5);
    before_ = c_;
    args_.a = a_.data(), args_.b = b_.data(), args_.c = c_.data();
  }

  const GemmArgs& args() const { return args_; }

  // Runs it on copies in the memory of a device.
  template <class Run>
  Status run_on(Client& client, Run run) {
    GemmArgs args = args_;
    std::array<Buffer, 3> buffers;
    const auto copy = [&](Buffer& buffer, const std::vector<std::byte>& from) -> Status {
      auto made = client.allocate(from.size());
      if (!made) return std::unexpected(made.error());
      buffer = *std::move(made);
      return client.write(Stream{}, buffer.address(), from.data(), from.size());
    };
    if (Status done = copy(buffers[0], a_); !done) return done;
    if (Status done = copy(buffers[1], b_); !done) return done;
    if (Status done = copy(buffers[2], c_); !done) return done;
    args.a = buffers[0].address(), args.b = buffers[1].address(), args.c = buffers[2].address();
    if (Status done = run(args); !done) return done;
    return client.read(Stream{}, c_.data(), buffers[2].address(), c_.size());
  }

  // Small whole numbers: every order of summing gives the reference in f64 exactly, but for sums
  // that bf16 rounds.
  void expect_right() const {
    const double most = args_.c_type == DType::bf16 ? 1.0 / 256 : 0;
    std::array<std::int64_t, kMaxBatchAxes> index{};
    std::set<std::int64_t> written;
    for (std::int64_t x = 0; x < args_.batch; ++x) {
      std::int64_t a = 0, b = 0, c = 0;
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        a += index[axis] * args_.a_batch[axis];
        b += index[axis] * args_.b_batch[axis];
        c += index[axis] * args_.c_batch[axis];
      }
      for (std::int64_t i = 0; i < args_.m; ++i) {
        for (std::int64_t j = 0; j < args_.n; ++j) {
          double sum = 0;
          for (std::int64_t p = 0; p < args_.k; ++p) {
            sum += at(a_, args_.a_type, a + i * args_.a_row + p * args_.a_col) *
                   at(b_, args_.b_type, b + p * args_.b_row + j * args_.b_col);
          }
          const std::int64_t place = c + i * args_.c_row + j * args_.c_col;
          const double right = args_.alpha * sum + args_.beta * at(before_, args_.c_type, place);
          ASSERT_NEAR(at(c_, args_.c_type, place), right, most * std::abs(right));
          written.insert(place);
        }
      }
      for (int axis = args_.batch_rank - 1; axis >= 0; --axis) {
        const auto y = static_cast<std::size_t>(axis);
        if (++index[y] < args_.batch_extent[y]) break;
        index[y] = 0;
      }
    }
    const auto count = static_cast<std::int64_t>(c_.size()) / size_of(args_.c_type);
    for (std::int64_t place = 0; place < count; ++place) {
      if (written.count(place) != 0) continue;
      ASSERT_EQ(at(c_, args_.c_type, place), at(before_, args_.c_type, place)) << "between rows";
    }
  }

 private:
  static std::int64_t lay_out(std::int64_t rows, std::int64_t columns, bool transposed,
                              std::int64_t padding, std::int64_t& row, std::int64_t& column) {
    row = transposed ? 1 : columns + padding;
    column = transposed ? rows + padding : 1;
    return transposed ? columns * column : rows * row;
  }
  static std::vector<std::byte> filled(std::int64_t count, DType type, std::int64_t period,
                                       double least) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(type)));
    for (std::int64_t i = 0; i < count; ++i) {
      store(bytes.data() + i * size_of(type), type, static_cast<double>(i % period) + least);
    }
    return bytes;
  }
  static double at(const std::vector<std::byte>& values, DType type, std::int64_t i) {
    return load(values.data() + i * size_of(type), type);
  }

  std::vector<std::byte> a_, b_, c_, before_;
  GemmArgs args_;
};

// --- Every rival -----------------------------------------------------------------------------

RivalOptions options() {
  RivalOptions options;
  options.threads = 2;
  // Where a developer keeps others than the system's; the library itself reads no environment.
  if (const char* folders = std::getenv("ROOFTUNE_RIVALS")) {
    options.folders = split_folders(folders);
  }
  return options;
}

constexpr std::string_view kEmulated = "cublaslt_emulated";

std::vector<std::string_view> names_and_emulated() {
  std::vector<std::string_view> names(rival_names().begin(), rival_names().end());
  names.push_back(kEmulated);
  return names;
}

class EveryRival : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (GetParam() == kEmulated) {
      device_ = *CpuClient::make({});
      rivals::emulated_load = load;
      rivals::emulated_store = store;
      rival_.version = rival_.file = kEmulated;
      ASSERT_TRUE(rivals::add_cublaslt_products(rival_, rivals::emulated_cublaslt(),
                                                rivals::CudaContext(), *device_));
      return;
    }
    RivalOptions asked = options();
    if (runtime_of_rival(GetParam()) == "cuda") {
      auto client = CudaClient::make(0);
      if (!client) GTEST_SKIP() << client.error().text;
      device_ = *std::move(client);
      asked.client = device_.get();
    }
    auto rival = load_rival(GetParam(), asked);
    if (!rival) {
      EXPECT_TRUE(rival.error().kind == ErrorKind::not_found ||
                  rival.error().kind == ErrorKind::unsupported);
      GTEST_SKIP() << rival.error().text;
    }
    rival_ = *std::move(rival);
  }

  Status run(Problem& problem) {
    if (!device_) return rival_.run(problem.args(), Stream{});
    return problem.run_on(*device_,
                          [&](const GemmArgs& args) { return rival_.run(args, Stream{}); });
  }

  // Skips what the library says that it cannot do; gives whether it ran.
  bool expect_right_or_unsupported(const Types& types, const Form& form) {
    SCOPED_TRACE(fmt::format(
        "{} x {} into {}, batch of {}, layout {}{}{}, {} of padding", to_string(types.a),
        to_string(types.b), to_string(types.c), form.batch.size(), form.lhs_transposed ? 'T' : 'N',
        form.rhs_transposed ? 'T' : 'N', form.out_transposed ? 'T' : 'N', form.padding));
    Problem problem(types, form);
    const char* why = rival_.unsupported(problem.args());
    const Status done = run(problem);
    if (why != nullptr) {
      EXPECT_FALSE(done);
      if (!done) {
        EXPECT_EQ(done.error().text, why);
      }
    }
    if (!done) {
      EXPECT_EQ(done.error().kind, ErrorKind::unsupported) << done.error().text;
      return false;
    }
    problem.expect_right();
    return true;
  }

  void expect_every_form(const Types& types) {
    int ran = 0;
    for (int bits = 0; bits < 8; ++bits) {
      Form form;
      form.lhs_transposed = (bits & 1) != 0;
      form.rhs_transposed = (bits & 2) != 0;
      form.out_transposed = (bits & 4) != 0;
      ran += expect_right_or_unsupported(types, form) ? 1 : 0;
      form.padding = 3;
      expect_right_or_unsupported(types, form);
      form.batch = {3};
      expect_right_or_unsupported(types, form);
      form.batch = {2, 3}, form.shared_rhs = true;
      expect_right_or_unsupported(types, form);
    }
    expect_right_or_unsupported(types, {1, 40, 70, {}});
    expect_right_or_unsupported(types, {40, 1, 70, {}});
    expect_right_or_unsupported(types, {5, 6, 1, {}});
    Form scaled;
    scaled.alpha = 2, scaled.beta = 3;
    expect_right_or_unsupported(types, scaled);
    if (ran == 0) GTEST_SKIP() << rival_.version << " has no such product here";
  }

  std::shared_ptr<Client> device_;  // null: the processor; outlives the rival
  Rival rival_;
};

TEST_P(EveryRival, SaysItsVersionAndFile) {
  EXPECT_FALSE(rival_.version.empty());
  EXPECT_FALSE(rival_.file.empty());
  fmt::print("{}, of {}\n", rival_.version, rival_.file);
  for (const std::string& other : rival_.passed_over) fmt::print("  {}\n", other);
}

TEST_P(EveryRival, F32) {
  const Types types{DType::f32, DType::f32, DType::f32};
  expect_every_form(types);
  EXPECT_TRUE(expect_right_or_unsupported(types, {64, 64, 64, {}})) << "all have this one";
}
TEST_P(EveryRival, F64) { expect_every_form({DType::f64, DType::f64, DType::f64}); }
TEST_P(EveryRival, Bf16) { expect_every_form({DType::bf16, DType::bf16, DType::bf16}); }
TEST_P(EveryRival, Bf16IntoF32) { expect_every_form({DType::bf16, DType::bf16, DType::f32}); }
TEST_P(EveryRival, F16) { expect_every_form({DType::f16, DType::f16, DType::f16}); }
TEST_P(EveryRival, F16IntoF32) { expect_every_form({DType::f16, DType::f16, DType::f32}); }
TEST_P(EveryRival, I8ByI8) { expect_every_form({DType::i8, DType::i8, DType::i32}); }
TEST_P(EveryRival, U8ByI8) { expect_every_form({DType::u8, DType::i8, DType::i32}); }
TEST_P(EveryRival, I8ByU8) { expect_every_form({DType::i8, DType::u8, DType::i32}); }
TEST_P(EveryRival, F8IntoF32) { expect_every_form({DType::f8e4m3, DType::f8e4m3, DType::f32}); }
TEST_P(EveryRival, F8IntoBf16) { expect_every_form({DType::f8e4m3, DType::f8e5m2, DType::bf16}); }
TEST_P(EveryRival, U8ByU8) { expect_every_form({DType::u8, DType::u8, DType::i32}); }

TEST_P(EveryRival, RefusesStrangeStrides) {
  const Problem problem({DType::f32, DType::f32, DType::f32}, {4, 4, 4, {}});
  GemmArgs args = problem.args();
  args.b_col = 0;
  EXPECT_NE(rival_.unsupported(args), nullptr);
  const Status done = rival_.run(args, Stream{});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
}

TEST_P(EveryRival, RefusesTypesThatNoneHas) {
  const Problem problem({DType::f32, DType::f32, DType::f64}, {4, 4, 4, {}});
  EXPECT_NE(rival_.unsupported(problem.args()), nullptr);
  EXPECT_FALSE(rival_.run(problem.args(), Stream{}));
}

TEST_P(EveryRival, ServesSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      for (int round = 0; round < 20; ++round) {
        Problem problem({DType::f32, DType::f32, DType::f32}, {20 + id % 2, 30, 40, {}});
        const Status done = run(problem);
        EXPECT_TRUE(done);
        problem.expect_right();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(EveryRival, ChoosesAmongItsAlgorithms) {
  if (!rival_.choose) GTEST_SKIP() << "it has nothing to choose from";
  ASSERT_NE(device_, nullptr);
  Problem problem({DType::bf16, DType::bf16, DType::f32}, {64, 48, 32, {}, false, true});
  const Status done = problem.run_on(*device_, [&](const GemmArgs& args) -> Status {
    const std::array<GemmArgs, 2> sets = {args, args};
    if (Status chosen = rival_.choose(sets, Stream{}); !chosen) return chosen;
    return rival_.run(args, Stream{});
  });
  ASSERT_TRUE(done) << done.error().text;
  problem.expect_right();
}

INSTANTIATE_TEST_SUITE_P(All, EveryRival, testing::ValuesIn(names_and_emulated()),
                         [](const auto& rival) { return std::string(rival.param); });

TEST(Rivals, UnknownNameIsCorrected) {
  const auto rival = load_rival("openblass", {});
  ASSERT_FALSE(rival);
  EXPECT_EQ(rival.error().kind, ErrorKind::invalid_argument);
  EXPECT_THAT(rival.error().text, HasSubstr("did you mean \"openblas\""));
}

TEST(Rivals, EachKnowsWhereItWorks) {
  EXPECT_EQ(runtime_of_rival("mkl"), "cpu");
  EXPECT_EQ(runtime_of_rival("cublaslt"), "cuda");
  EXPECT_EQ(runtime_of_rival("nosuch"), "");
  EXPECT_EQ(runtime_of(FakeClient()), "fake");
}

TEST(Rivals, CublasltSaysWhatItLacks) {
  const auto without_device = load_rival("cublaslt", options());
  ASSERT_FALSE(without_device);
  if (without_device.error().kind == ErrorKind::not_found) {
    GTEST_SKIP() << without_device.error().text;
  }
  EXPECT_EQ(without_device.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(without_device.error().text, HasSubstr("works on a CUDA device only"));

  FakeClient fake;
  RivalOptions with_other_device = options();
  with_other_device.client = &fake;
  const auto on_fake = load_rival("cublaslt", with_other_device);
  ASSERT_FALSE(on_fake);
  EXPECT_EQ(on_fake.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(on_fake.error().text, HasSubstr("CUDA driver"));
}

TEST(Rivals, VariablesAreTakenBack) {
  RivalOptions asked = options();
  asked.avx512 = true;
  std::vector<std::string> calls;
  asked.set_variable = [&](const char* name, const char* value) {
    calls.push_back(std::string(name) + "=" + (value == nullptr ? "" : value));
  };
  (void)load_rival("openblas", asked);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i], i % 2 == 0 ? "OPENBLAS_CORETYPE=SkylakeX" : "OPENBLAS_CORETYPE=");
  }
  EXPECT_EQ(calls.size() % 2, 0u);
}

TEST(Rivals, FoldersAreSplitAtColons) {
  EXPECT_THAT(split_folders("/a/b::c:"), testing::ElementsAre("/a/b", "c"));
  EXPECT_THAT(split_folders(""), testing::IsEmpty());
}

}  // namespace
}  // namespace rooftune
