#include "ops/matmul/cuda/trial_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/verify_args.h"

namespace rooftune {
namespace {

// Registers that leave room for two blocks on a multiprocessor of 65536.
constexpr int kRegisters = 65536 / (2 * kVerifyThreads);

CudaKernelPlan plan(std::string_view file, std::vector<std::string> defines) {
  CudaKernelPlan made;
  made.file = file;
  made.defines = std::move(defines);
  made.threads = kVerifyThreads;
  made.registers = kRegisters;
  made.spill_bytes = 32;  // of the square root in f64, where f64 is emulated in part (sm_120)
  return made;
}

CudaKernelPlan element_plan(std::string_view file, DType dtype, bool aligned) {
  return plan(file, {"ELEMENT=" + std::string(cuda_type(dtype)),
                     std::string("ALIGNED=") + (aligned ? "1" : "0")});
}

bool is_aligned(const void* address, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size_of(dtype)) ==
         0;
}

VerifyMatrices device_form(const MatrixBatch& matrices) {
  VerifyMatrices form{};
  form.base = matrices.base;
  form.rows = matrices.rows;
  form.cols = matrices.cols;
  form.row_stride = matrices.row_stride;
  form.col_stride = matrices.col_stride;
  std::copy(matrices.batch_extent.begin(), matrices.batch_extent.end(), form.batch_extent);
  std::copy(matrices.batch_stride.begin(), matrices.batch_stride.end(), form.batch_stride);
  form.batch_rank = matrices.batch_rank;
  form.first = matrices.first;
  form.count = matrices.count;
  return form;
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Launches the kernels of a trial.
class Launcher {
 public:
  Launcher(Client& client, CompileCuda compile) : client_(client), compile_(std::move(compile)) {}
  Client& client() const { return client_; }
  std::uint64_t device_bytes() const { return results_.bytes(); }

  // `threads` of work; those beyond what fills any device take turns.
  template <class Args>
  Status launch(Stream stream, const CudaKernelPlan& made, const Args& args,
                std::int64_t threads) const {
    constexpr std::int64_t kMostBlocks = 8192;
    const auto kernel = compile_(made);
    if (!kernel) return std::unexpected(kernel.error());
    const auto blocks = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(divide_up(threads, kVerifyThreads), 1, kMostBlocks));
    return client_.launch(stream,
                          {kernel->get(), &args, sizeof args, {blocks}, {kVerifyThreads}, 0, {}});
  }

  // Numbers on the device that a kernel adds to, zero before it.
  using Results = std::array<std::uint64_t, 3>;
  Result<Results> results_of(Stream stream,
                             FunctionRef<Status(unsigned long long* results)> launch_kernel) {
    Results results{};
    if (results_.bytes() == 0) {
      auto buffer = client_.allocate(sizeof results);
      if (!buffer) return std::unexpected(buffer.error());
      results_ = *std::move(buffer);
    }
    Status done = client_.write(stream, results_.address(), results.data(), sizeof results);
    if (done) done = launch_kernel(static_cast<unsigned long long*>(results_.address()));
    if (done) done = client_.read(stream, results.data(), results_.address(), sizeof results);
    if (!done) return std::unexpected(done.error());
    return results;
  }

 private:
  Client& client_;
  const CompileCuda compile_;
  Buffer results_;
};

class CudaMatrixPasses final : public MatrixPasses {
 public:
  CudaMatrixPasses(Client& client, Stream stream, CompileCuda compile)
      : launcher_(client, std::move(compile)), stream_(stream) {}

  // All at once, as long as the vectors are small beside the memory of a device.
  std::int64_t group(std::int64_t count, std::int64_t numbers) const override {
    constexpr std::int64_t kMostNumbers = std::int64_t{1} << 25;
    return std::clamp<std::int64_t>(kMostNumbers / numbers, 1, count);
  }

  Result<double*> make(std::int64_t numbers) override {
    auto buffer = launcher_.client().allocate(static_cast<std::uint64_t>(numbers) * sizeof(double));
    if (!buffer) return std::unexpected(buffer.error());
    auto* const memory = static_cast<double*>(buffer->address());
    buffers_.push_back(*std::move(buffer));
    if (Status done = clear(memory, numbers); !done) return std::unexpected(done.error());
    return memory;
  }
  Status clear(double* numbers, std::int64_t count) override {
    constexpr std::array<std::byte, 1> kZero{};  // a pattern that every device has a fast way for
    return launcher_.client().fill(stream_, numbers, kZero,
                                   static_cast<std::uint64_t>(count) * sizeof(double));
  }
  Status write(double* to, std::span<const double> from) override {
    return launcher_.client().write(stream_, to, from.data(), from.size_bytes());
  }
  Status read(std::span<double> to, const double* from) override {
    return launcher_.client().read(stream_, to.data(), from, to.size_bytes());
  }

  Status apply(const MatrixBatch& matrices, const double* in, std::int64_t in_step, double* out,
               std::int64_t out_step) override {
    // Work for every warp of a large device, a few times over.
    constexpr std::int64_t kTasks = 16384;
    VerifyApplyArgs args{};
    args.matrices = device_form(matrices);
    args.in = in;
    args.out = out;
    args.in_step = in_step;
    args.out_step = out_step;
    // A warp reads along the shorter stride, unless that axis leaves most of its lanes without
    // work.
    constexpr std::int64_t kFew = 16;
    const std::int64_t rows = matrices.rows, cols = matrices.cols;
    const bool rows_are_close = std::abs(matrices.row_stride) < std::abs(matrices.col_stride);
    args.lanes_along_rows =
        rows_are_close ? rows >= kFew || cols < rows : cols < kFew && cols < rows;
    const std::int64_t block = args.lanes_along_rows ? 32 * kVerifyLaneRows : kVerifyRows;
    args.row_blocks = divide_up(rows, block);
    const std::int64_t least_cols = args.lanes_along_rows ? 32 : 256;
    const std::int64_t chunks = std::clamp<std::int64_t>(
        kTasks / (args.row_blocks * matrices.count), 1, divide_up(cols, least_cols));
    args.chunk_cols = divide_up(divide_up(cols, chunks), 32) * 32;
    args.chunks = divide_up(cols, args.chunk_cols);
    return launcher_.launch(
        stream_,
        element_plan("verify_apply.cu", matrices.dtype, is_aligned(matrices.base, matrices.dtype)),
        args, matrices.count * args.row_blocks * args.chunks * 32);
  }

  Result<Extremes> finish(double* y, const double* c, std::int64_t rows, std::int64_t count,
                          double alpha, double beta) override {
    VerifyCompareArgs args{};
    args.y = y;
    args.other = c;
    args.rows = rows;
    args.count = count;
    args.alpha = alpha;
    args.beta = beta;
    args.finish = 1;
    return compare(args);
  }

  Result<double> largest_error(const double* y, const double* r, std::int64_t rows,
                               std::int64_t count, double floor) override {
    VerifyCompareArgs args{};
    args.y = const_cast<double*>(y);  // not written when nothing is to be finished
    args.other = r;
    args.rows = rows;
    args.count = count;
    args.floor = floor;
    const auto found = compare(args);
    if (!found) return std::unexpected(found.error());
    return found->finite ? found->largest : std::numeric_limits<double>::infinity();
  }

  std::uint64_t device_bytes() const override {
    std::uint64_t bytes = launcher_.device_bytes();
    for (const Buffer& buffer : buffers_) bytes += buffer.bytes();
    return bytes;
  }

 private:
  Result<Extremes> compare(VerifyCompareArgs args) {
    const auto results = launcher_.results_of(stream_, [&](unsigned long long* memory) {
      args.largest = memory;
      args.not_finite = memory + 1;
      args.compared = memory + 2;
      return launcher_.launch(stream_, plan("verify_compare.cu", {}), args, args.rows * args.count);
    });
    if (!results) return std::unexpected(results.error());
    // A check that did not happen must not be taken for one that found nothing.
    if ((*results)[2] != static_cast<std::uint64_t>(args.rows * args.count)) {
      return fail(ErrorKind::launch_failed, "the verification looked at " +
                                                std::to_string((*results)[2]) + " rows of " +
                                                std::to_string(args.rows * args.count));
    }
    return Extremes{(*results)[1] == 0, std::bit_cast<double>((*results)[0])};
  }

  Launcher launcher_;
  const Stream stream_;
  std::vector<Buffer> buffers_;
};

class CudaTrialMemory final : public TrialMemory {
 public:
  CudaTrialMemory(Client& client, CompileCuda compile, const GemmArgs& gemm)
      : launcher_(client, compile), compile_(std::move(compile)) {
    for (CudaKernelPlan& ahead : cuda_trial_plans(gemm)) {
      try {
        // What fails is told to whoever launches it.
        compiling_.emplace_back([this, ahead = std::move(ahead)] { (void)compile_(ahead); });
      } catch (const std::system_error&) {
        break;  // no more threads: the others are compiled when they are launched
      }
    }
  }

  Status fill_random(Stream stream, DType dtype, void* memory, std::int64_t elements,
                     std::uint64_t seed, std::int64_t terms) override {
    MatrixBatch all;
    all.dtype = dtype;
    all.base = memory;
    all.cols = elements;
    all.col_stride = 1;
    return randomise(stream, all, seed, terms);
  }

  Status start_output(Stream stream, const GemmArgs& gemm) override {
    constexpr std::uint64_t kSeed = 3;  // the operands have 1 and 2
    return randomise(stream, c_matrices(gemm), kSeed, 1);
  }

  Result<std::uint64_t> count(Stream stream, const void* memory, std::int64_t elements,
                              std::int64_t element_bytes, std::uint64_t wanted) override {
    VerifyCountArgs args{};
    args.memory = memory;
    args.elements = elements;
    args.element_bytes = static_cast<int>(element_bytes);
    args.wanted = wanted;
    // A thread reads a vector of 16 bytes at a time.
    const std::int64_t threads = divide_up(elements * element_bytes, 16);
    const auto results = launcher_.results_of(stream, [&](unsigned long long* result) {
      args.count = result;
      return launcher_.launch(stream, plan("verify_count.cu", {}), args, threads);
    });
    if (!results) return std::unexpected(results.error());
    return (*results)[0];
  }

  std::unique_ptr<MatrixPasses> passes(Stream stream) override {
    return cuda_matrix_passes(launcher_.client(), stream, compile_);
  }

 private:
  Status randomise(Stream stream, const MatrixBatch& matrices, std::uint64_t seed,
                   std::int64_t terms) const {
    VerifyRandomArgs args{};
    args.matrices = device_form(matrices);
    args.seed = seed;
    args.shrink = static_cast<float>(byte_shrink(terms));
    return launcher_.launch(
        stream,
        element_plan("verify_random.cu", matrices.dtype, is_aligned(matrices.base, matrices.dtype)),
        args, matrices.count * matrices.rows * matrices.cols);
  }

  Launcher launcher_;
  const CompileCuda compile_;
  std::vector<std::jthread> compiling_;  // join before the others go
};

}  // namespace

std::unique_ptr<TrialMemory> cuda_trial_memory(Client& client, CompileCuda compile,
                                               const GemmArgs& gemm) {
  return std::make_unique<CudaTrialMemory>(client, std::move(compile), gemm);
}

std::unique_ptr<MatrixPasses> cuda_matrix_passes(Client& client, Stream stream,
                                                 CompileCuda compile) {
  return std::make_unique<CudaMatrixPasses>(client, stream, std::move(compile));
}

std::vector<CudaKernelPlan> cuda_trial_plans(const GemmArgs& gemm) {
  std::vector<CudaKernelPlan> plans = {plan("verify_compare.cu", {}), plan("verify_count.cu", {})};
  std::vector<std::pair<DType, bool>> seen;
  for (const auto& [address, dtype] :
       {std::pair{gemm.a, gemm.a_type}, {gemm.b, gemm.b_type}, {gemm.c, gemm.c_type}}) {
    const std::pair kind{dtype, is_aligned(address, dtype)};
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(kind);
    plans.push_back(element_plan("verify_apply.cu", kind.first, kind.second));
  }
  return plans;
}

std::vector<CudaKernelPlan> all_cuda_trial_plans() {
  std::vector<CudaKernelPlan> plans = {plan("verify_compare.cu", {}), plan("verify_count.cu", {})};
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8,
                            DType::u8, DType::f8e4m3, DType::f8e5m2}) {
    for (const bool aligned : {true, false}) {
      if (!aligned && size_of(dtype) == 1) continue;
      plans.push_back(element_plan("verify_apply.cu", dtype, aligned));
      plans.push_back(element_plan("verify_random.cu", dtype, aligned));
    }
  }
  return plans;
}

}  // namespace rooftune
