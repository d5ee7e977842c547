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

// Numbers on the device that kernels add to. All are read at once, since each transfer takes as
// long as a short kernel. On one thread.
class Results {
 public:
  enum Word : std::size_t { kLargest, kNotFinite, kCompared, kCounted, kWords };

  explicit Results(Client& client) : client_(client) {}
  std::uint64_t device_bytes() const { return memory_.bytes(); }

  // Zeros for a comparison, in its three words.
  Result<unsigned long long*> for_comparison(Stream stream) {
    if (!std::exchange(clear_, false)) {
      if (Status done = clear(stream, kCounted); !done) return std::unexpected(done.error());
    }
    return words();
  }
  // A zero for a count; and for a comparison, if one follows.
  Result<unsigned long long*> for_count(Stream stream) {
    if (Status done = clear(stream, kWords); !done) return std::unexpected(done.error());
    clear_ = true;
    known_ = false;
    return words() + kCounted;
  }

  // Waits for what came before.
  Status read(Stream stream) {
    Status done = client_.read(stream, values_.data(), memory_.address(), sizeof values_);
    known_ = done.has_value();
    return done;
  }
  std::uint64_t operator[](Word word) const { return values_[word]; }
  // What was counted was read since.
  bool knows_count() const { return known_; }

 private:
  unsigned long long* words() const { return static_cast<unsigned long long*>(memory_.address()); }
  Status clear(Stream stream, std::size_t count) {
    if (memory_.bytes() == 0) {
      auto made = client_.allocate(sizeof values_);
      if (!made) return std::unexpected(made.error());
      memory_ = *std::move(made);
      count = kWords;  // so that no word is read that nobody wrote
    }
    constexpr std::array<std::byte, 1> kZero{};
    return client_.fill(stream, memory_.address(), kZero, count * sizeof values_[0]);
  }

  Client& client_;
  Buffer memory_;
  std::array<std::uint64_t, kWords> values_{};
  bool clear_ = false, known_ = false;
};

// Launches the kernels of a trial.
class Launcher {
 public:
  Launcher(Client& client, CompileCuda compile) : client_(client), compile_(std::move(compile)) {}
  Client& client() const { return client_; }

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

 private:
  Client& client_;
  const CompileCuda compile_;
};

class CudaMatrixPasses final : public MatrixPasses {
 public:
  CudaMatrixPasses(Client& client, Stream stream, CompileCuda compile,
                   std::shared_ptr<Results> results)
      : launcher_(client, std::move(compile)), stream_(stream), results_(std::move(results)) {}

  // All at once, as long as the vectors are small beside the memory of a device.
  std::int64_t group(std::int64_t count, std::int64_t numbers) const override {
    constexpr std::int64_t kMostNumbers = std::int64_t{1} << 25;
    return std::clamp<std::int64_t>(kMostNumbers / numbers, 1, count);
  }

  // Vectors of a small product share pieces of memory: giving one back waits for the whole device,
  // and a check in a call should take no longer than it has to.
  Result<double*> make(std::int64_t numbers) override {
    constexpr std::int64_t kPiece = std::int64_t{1} << 15, kAligned = 32;  // numbers
    numbers = divide_up(numbers, kAligned) * kAligned;
    if (numbers > free_) {
      const std::int64_t wanted = std::max(numbers, kPiece);
      auto buffer =
          launcher_.client().allocate(static_cast<std::uint64_t>(wanted) * sizeof(double));
      if (!buffer) return std::unexpected(buffer.error());
      next_ = static_cast<double*>(buffer->address());
      free_ = wanted;
      buffers_.push_back(*std::move(buffer));
      if (Status done = clear(next_, wanted); !done) {
        free_ = 0;
        return std::unexpected(done.error());
      }
    }
    free_ -= numbers;
    return std::exchange(next_, next_ + numbers);
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
    std::uint64_t bytes = results_->device_bytes();
    for (const Buffer& buffer : buffers_) bytes += buffer.bytes();
    return bytes;
  }

 private:
  Result<Extremes> compare(VerifyCompareArgs args) {
    const auto words = results_->for_comparison(stream_);
    if (!words) return std::unexpected(words.error());
    args.largest = *words + Results::kLargest;
    args.not_finite = *words + Results::kNotFinite;
    args.compared = *words + Results::kCompared;
    Status done =
        launcher_.launch(stream_, plan("verify_compare.cu", {}), args, args.rows * args.count);
    if (done) done = results_->read(stream_);
    if (!done) return std::unexpected(done.error());
    // A check that did not happen must not be taken for one that found nothing.
    const std::uint64_t compared = (*results_)[Results::kCompared];
    if (compared != static_cast<std::uint64_t>(args.rows * args.count)) {
      return fail(ErrorKind::launch_failed, "the verification looked at " +
                                                std::to_string(compared) + " rows of " +
                                                std::to_string(args.rows * args.count));
    }
    return Extremes{(*results_)[Results::kNotFinite] == 0,
                    std::bit_cast<double>((*results_)[Results::kLargest])};
  }

  const Launcher launcher_;
  const Stream stream_;
  const std::shared_ptr<Results> results_;
  std::vector<Buffer> buffers_;
  double* next_ = nullptr;  // in the last of them
  std::int64_t free_ = 0;   // numbers from there, zeros
};

class CudaTrialMemory final : public TrialMemory {
 public:
  CudaTrialMemory(Client& client, CompileCuda compile, const GemmArgs& gemm)
      : launcher_(client, compile),
        compile_(std::move(compile)),
        results_(std::make_shared<Results>(client)) {
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

  Status begin_count(Stream stream, const void* memory, std::int64_t elements,
                     std::int64_t element_bytes, std::uint64_t wanted) override {
    const auto word = results_->for_count(stream);
    if (!word) return std::unexpected(word.error());
    VerifyCountArgs args{};
    args.count = *word;
    args.memory = memory;
    args.elements = elements;
    args.element_bytes = static_cast<int>(element_bytes);
    args.wanted = wanted;
    // A thread reads a vector of 16 bytes at a time.
    const std::int64_t threads = divide_up(elements * element_bytes, 16);
    return launcher_.launch(stream, plan("verify_count.cu", {}), args, threads);
  }
  Result<std::uint64_t> counted(Stream stream) override {
    Status done;
    if (!results_->knows_count()) done = results_->read(stream);
    if (!done) return std::unexpected(done.error());
    return (*results_)[Results::kCounted];
  }

  std::unique_ptr<MatrixPasses> passes(Stream stream) override {
    return std::make_unique<CudaMatrixPasses>(launcher_.client(), stream, compile_, results_);
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

  const Launcher launcher_;
  const CompileCuda compile_;
  const std::shared_ptr<Results> results_;
  std::vector<std::jthread> compiling_;  // join before the others go
};

}  // namespace

std::unique_ptr<TrialMemory> cuda_trial_memory(Client& client, CompileCuda compile,
                                               const GemmArgs& gemm) {
  return std::make_unique<CudaTrialMemory>(client, std::move(compile), gemm);
}

std::unique_ptr<MatrixPasses> cuda_matrix_passes(Client& client, Stream stream,
                                                 CompileCuda compile) {
  return std::make_unique<CudaMatrixPasses>(client, stream, std::move(compile),
                                            std::make_shared<Results>(client));
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
