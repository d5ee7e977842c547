#include "ops/reduce/cuda/kernels.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

namespace rooftune {
namespace {

// An output in the hands of one thread: with more terms than this it takes too long, and with
// fewer outputs most threads of a device have none.
constexpr std::int64_t kTermsOfThread = 4096, kOutputsOfThreads = 16384;

int naive_priority(const SumKey& key) { return key.layout == SumLayout::contiguous_keep ? 1 : 3; }

int rows_priority(const SumKey& key) {
  return key.layout == SumLayout::contiguous_reduce ? 3 : key.layout == SumLayout::strided ? 2 : 0;
}

int columns_priority(const SumKey& key) {
  return key.layout == SumLayout::contiguous_keep ? 3 : key.layout == SumLayout::strided ? 2 : 0;
}

int threads_priority(const SumKey& key) {
  constexpr std::int64_t kFewTerms = 16;
  if (key.terms <= kFewTerms) return 3;
  const bool suits = key.outputs >= kOutputsOfThreads && key.terms <= kTermsOfThread;
  return suits && key.layout != SumLayout::contiguous_reduce ? 3 : 0;
}

// Worth a second launch: few blocks without it, and terms for many.
bool worth_splitting(const SumKey& key, std::int64_t outputs_of_block) {
  constexpr std::int64_t kFewBlocks = 512, kLongSum = 16384;
  return key.outputs <= kFewBlocks * outputs_of_block && key.terms >= kLongSum;
}

int split_rows_priority(const SumKey& key) {
  return worth_splitting(key, 1) && key.layout != SumLayout::contiguous_keep ? 3 : 0;
}

int split_columns_priority(const SumKey& key) {
  return worth_splitting(key, 32) && key.layout != SumLayout::contiguous_reduce ? 3 : 0;
}

constexpr CudaSumRow kRows[] = {
    {"naive", 1, 256, false, false, naive_priority},
    {"rows", 8, 32, false, false, rows_priority},
    {"columns", 32, 8, true, false, columns_priority},
    {"threads", 256, 1, true, false, threads_priority},
    {"split_rows", 1, 256, false, true, split_rows_priority},
    {"split_columns", 32, 8, true, true, split_columns_priority},
};

CudaKernelPlan plan(std::string_view file, DType dtype, bool aligned) {
  CudaKernelPlan made;
  made.file = file;
  made.defines = {std::string("ELEMENT=") + (dtype == DType::f32 ? "float" : "double"),
                  std::string("ALIGNED=") + (aligned ? "1" : "0")};
  made.threads = kSumThreads;
  made.registers = 64;  // for four blocks on a multiprocessor
  made.spill_bytes = 16;
  return made;
}

constexpr std::string_view kSum = "ops/reduce/cuda/sum.cu",
                           kFinish = "ops/reduce/cuda/sum_finish.cu",
                           kCheck = "ops/reduce/cuda/sum_check.cu";

std::vector<CudaKernelPlan> plans_of(const CudaSumRow& row, DType dtype, bool aligned) {
  std::vector<CudaKernelPlan> plans = {plan(kSum, dtype, aligned)};
  plans[0].defines.push_back("OUTPUTS=" + std::to_string(row.outputs));
  plans[0].defines.push_back("TERMS=" + std::to_string(row.terms));
  plans[0].defines.push_back(std::string("LANES_ON_OUTPUTS=") + (row.lanes_on_outputs ? "1" : "0"));
  if (row.split) plans.push_back(plan(kFinish, dtype, aligned));
  return plans;
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::span<const CudaSumRow> cuda_sum_rows() { return kRows; }

bool is_aligned(const SumArgs& args) {
  const auto bits =
      reinterpret_cast<std::uintptr_t>(args.in) | reinterpret_cast<std::uintptr_t>(args.out);
  return bits % static_cast<std::uintptr_t>(size_of(args.dtype)) == 0;
}

std::vector<CudaKernelPlan> plans_of(const CudaSumRow& row, const SumArgs& args) {
  return plans_of(row, args.dtype, is_aligned(args));
}

std::vector<CudaKernelPlan> all_cuda_sum_plans() {
  std::vector<CudaKernelPlan> all;
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const bool aligned : {true, false}) {
      for (const CudaSumRow& row : kRows) {
        for (CudaKernelPlan& one : plans_of(row, dtype, aligned)) all.push_back(std::move(one));
      }
      all.push_back(plan(kCheck, dtype, aligned));
    }
  }
  return all;
}

SumLaunchArgs launch_args(const SumArgs& args) {
  SumLaunchArgs launch{};
  launch.in = args.in;
  launch.out = args.out;
  launch.outputs = args.outputs;
  launch.terms = args.terms;
  launch.keep_rank = args.keep_rank;
  launch.reduce_rank = args.reduce_rank;
  std::copy_n(args.keep_extent, kMaxSumAxes, launch.keep_extent);
  std::copy_n(args.in_keep, kMaxSumAxes, launch.in_keep);
  std::copy_n(args.out_keep, kMaxSumAxes, launch.out_keep);
  std::copy_n(args.reduce_extent, kMaxSumAxes, launch.reduce_extent);
  std::copy_n(args.in_reduce, kMaxSumAxes, launch.in_reduce);
  launch.chunks = 1;
  launch.chunk_terms = args.terms;
  return launch;
}

void cut_into_chunks(SumLaunchArgs& args, std::int64_t work, std::int64_t blocks,
                     std::int64_t least) {
  constexpr std::int64_t kLine = 32;  // terms: chunks begin where lines of memory do
  const std::int64_t wanted =
      std::clamp<std::int64_t>(blocks / work, 1, std::max<std::int64_t>(1, args.terms / least));
  args.chunk_terms = divide_up(divide_up(args.terms, wanted), kLine) * kLine;
  args.chunks = divide_up(args.terms, args.chunk_terms);
}

Status check_sums_on_device(Client& client, Stream stream, const SumArgs& args,
                            FunctionRef<void(std::int64_t, const CheckedSumPart&)> visit) {
  constexpr std::int64_t kBlocks = 4096, kLeastTerms = 4096;
  constexpr std::int64_t kMostOutputs = 1 << 20;  // at a time: what comes back takes memory
  const bool aligned = reinterpret_cast<std::uintptr_t>(args.in) %
                           static_cast<std::uintptr_t>(size_of(args.dtype)) ==
                       0;
  auto kernel = cuda_compiler(client)(plan(kCheck, args.dtype, aligned));
  if (!kernel) return std::unexpected(kernel.error());
  SumLaunchArgs launch = launch_args(args);
  const std::int64_t group = std::min(args.outputs, kMostOutputs);
  cut_into_chunks(launch, group, kBlocks, kLeastTerms);
  std::vector<CheckedSumPart> parts;
  try {
    parts.resize(static_cast<std::size_t>(group * launch.chunks));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "no memory on the host to check sums");
  }
  const std::uint64_t bytes = parts.size() * sizeof(CheckedSumPart);
  auto memory = client.allocate(bytes);
  if (!memory) return std::unexpected(memory.error());
  launch.partial = memory->address();
  for (std::int64_t first = 0; first < args.outputs; first += group) {
    launch.first_output = first;
    launch.outputs = std::min(group, args.outputs - first);
    const std::int64_t count = launch.outputs * launch.chunks;
    const auto blocks = static_cast<std::uint32_t>(std::min(count, kBlocks));
    Status done = client.launch(
        stream, {kernel->get(), &launch, sizeof launch, {blocks}, {kSumThreads}, 0, {}});
    if (done) {
      done = client.read(stream, parts.data(), memory->address(),
                         static_cast<std::uint64_t>(count) * sizeof(CheckedSumPart));
    }
    if (!done) return done;
    for (std::int64_t i = 0; i < count; ++i) {
      visit(first + i / launch.chunks, parts[static_cast<std::size_t>(i)]);
    }
  }
  return {};
}

}  // namespace rooftune
