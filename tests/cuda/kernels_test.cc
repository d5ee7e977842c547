// What can be known about CUDA kernels without a GPU: that each compiles for every architecture
// that it is for, and within the registers, spills and shared memory that its candidate says.
#include "ops/matmul/cuda/kernels.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <thread>

#include "base/hash.h"
#include "device/cuda/compiler.h"
#include "device/cuda/stream_holder.h"
#include "ops/matmul/cuda/priority.h"
#include "ops/matmul/cuda/trial_memory.h"
#include "ops/matmul/problem.h"
#include "ops/reduce/cuda/kernels.h"

namespace rooftune {
namespace {

// A product with the sizes, types and layouts of a key, of dense matrices without memory.
GemmArgs product_of(const MatmulKey& key) {
  GemmArgs args;
  const auto family = type_family(key.elem_lhs, key.elem_rhs, key.elem_out);
  args.family = family.value_or(TypeFamily::f32);
  args.a_type = key.elem_lhs;
  args.b_type = key.elem_rhs;
  args.c_type = key.elem_out;
  args.precision = key.precision;
  args.m = key.m;
  args.n = key.n;
  args.k = key.k;
  // Pitches as aligned as those of the key: an odd one is an odd number of elements longer.
  const auto lay = [](const MatrixLayout& layout, int stride_bits, std::int64_t rows,
                      std::int64_t cols, DType type, std::int64_t& row, std::int64_t& col) {
    const bool transposed = layout.form == LayoutClass::mildly_permuted && layout.transposed;
    const std::int64_t unit =
        std::max<std::int64_t>(1, (std::int64_t{1} << stride_bits) / size_of(type));
    const std::int64_t inner = transposed ? rows : cols;
    std::int64_t pitch = (inner + unit - 1) / unit * unit;
    if (pitch / unit % 2 == 0 && stride_bits < 10) pitch += unit;
    row = transposed ? 1 : pitch;
    col = transposed ? pitch : 1;
    if (layout.form == LayoutClass::highly_permuted) row = col = 2;
  };
  lay(key.layout_lhs, key.lhs_stride, key.m, key.k, key.elem_lhs, args.a_row, args.a_col);
  lay(key.layout_rhs, key.rhs_stride, key.k, key.n, key.elem_rhs, args.b_row, args.b_col);
  lay(key.layout_out, 10, key.m, key.n, key.elem_out, args.c_row, args.c_col);
  args.beta = key.accumulate ? 1 : 0;
  args.batch = key.batch;
  if (key.batch > 1) {
    args.batch_rank = 1;
    args.batch_extent[0] = key.batch;
    args.a_batch[0] = std::max(args.a_row * args.m, args.a_col * args.k);
    args.b_batch[0] = std::max(args.b_row * args.k, args.b_col * args.n);
    args.c_batch[0] = std::max(args.c_row * args.m, args.c_col * args.n);
  }
  return args;
}

int least_capability(CudaNeeds needs) {
  switch (needs) {
    case CudaNeeds::ampere:
      return 80;
    case CudaNeeds::ada:
      return 89;
    case CudaNeeds::tma:
    case CudaNeeds::hopper:
      return 90;
  }
  return 0;
}

// The largest shared memory of a block that an architecture gives (CUDA programming guide,
// technical specifications).
std::uint32_t shared_bytes_of(int capability) {
  switch (capability) {
    case 80:
      return 163 * 1024;
    case 89:
    case 120:
      return 99 * 1024;
    default:
      return 227 * 1024;
  }
}

struct Job {
  std::string candidate;
  CudaKernelPlan plan;
  int capability;
};

// Each kernel once for every architecture that its candidate is for. A quick run takes the first
// specialisation of each candidate: thousands differ from it in types and layouts only.
std::vector<Job> jobs(const std::vector<int>& architectures, bool quick) {
  std::vector<Job> all;
  std::set<std::string> seen;
  for (const auto& candidate : all_cuda_candidates()) {
    std::size_t count = 0;
    for (const CudaVariant variant : candidate->variants()) {
      if (quick && count++ > 0) break;
      for (const CudaKernelPlan& plan : candidate->plans(variant)) {
        for (const int capability : {90, 80, 89, 100, 120}) {
          const bool known = std::find(architectures.begin(), architectures.end(), capability) !=
                             architectures.end();
          const CudaNeeds needs = candidate->needs();
          if (!known || capability < least_capability(needs) ||
              (needs == CudaNeeds::hopper && capability != 90) ||
              (needs != CudaNeeds::ada && capability == 89)) {
            continue;
          }
          if (plan.shared_bytes > shared_bytes_of(capability))
            continue;  // refused as illegal there
          const auto source = cuda_kernel_source(plan);
          if (!source) {
            ADD_FAILURE() << candidate->name() << ": " << source.error().text;
            continue;
          }
          const std::string id = source->get().id.digest() + std::to_string(capability);
          if (seen.insert(id).second) all.push_back({candidate->name(), plan, capability});
        }
      }
    }
  }
  // Kernels of trials, and of sums, are for every device.
  std::vector<CudaKernelPlan> others = all_cuda_trial_plans();
  for (CudaKernelPlan& plan : all_cuda_sum_plans()) others.push_back(std::move(plan));
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (const int capability : {90, 80, 100, 120}) {
      const bool known =
          std::find(architectures.begin(), architectures.end(), capability) != architectures.end();
      // Of those that differ in types, a quick run takes some.
      const bool sampled = !quick || (capability == 90 ? i % 4 == 0 : i < 2);
      if (known && sampled) all.push_back({"other", others[i], capability});
    }
  }
  return all;
}

int number_before(const std::string& log, const char* what, bool largest) {
  int found = 0;
  const std::regex pattern(std::string("([0-9]+) ") + what);
  for (std::sregex_iterator at(log.begin(), log.end(), pattern), end; at != end; ++at) {
    const int value = std::stoi((*at)[1]);
    found = largest ? std::max(found, value) : found + value;
  }
  return found;
}

TEST(CudaKernelsTest, CompileWithinWhatTheyDeclare) {
  const auto compiler = CudaCompiler::get();
  if (!compiler) {
    std::printf("skipped: %s\n", compiler.error().text.c_str());
    GTEST_SKIP() << compiler.error().text;
  }
  const char* const wanted = std::getenv("ROOFTUNE_TEST_EVERY_KERNEL");
  const auto all = jobs((*compiler)->architectures(), wanted == nullptr);
  ASSERT_FALSE(all.empty());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      const auto& [candidate, plan, capability] = all[i];
      const auto source = cuda_kernel_source(plan);
      const std::string what =
          candidate + " " + source->get().id.parameters + " for " + cuda_architecture(capability);
      const auto output = (*compiler)->compile(std::string(source->get().text), "kernel.cu",
                                               plan.defines, cuda_architecture(capability));
      const std::lock_guard lock(mutex);
      if (!output) {
        ADD_FAILURE() << what << ": " << output.error().text;
        continue;
      }
      const std::string& log = output->log;
      EXPECT_EQ(log.find("warning"), std::string::npos) << what << ":\n" << log;
      EXPECT_LE(number_before(log, "bytes spill stores", false), plan.spill_bytes) << what;
      const std::regex used("Used ([0-9]+) registers");
      std::smatch match;
      ASSERT_TRUE(std::regex_search(log, match, used)) << log;
      const int registers = std::stoi(match[1]);
      EXPECT_LE(registers, plan.registers) << what;
      // A multiprocessor has 65536 registers, given to warps in units of 8 a thread.
      EXPECT_LE((registers + 7) / 8 * 8 * int(plan.threads), 65536) << what;
      EXPECT_LE(std::uint32_t(number_before(log, "bytes smem", true)) + plan.shared_bytes,
                shared_bytes_of(capability))
          << what;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu kernels compiled by NVRTC %s\n", all.size(), (*compiler)->version().c_str());
}

TEST(CudaKernelsTest, WhatHoldsAStreamBackCompiles) {
  const auto compiler = CudaCompiler::get();
  if (!compiler) GTEST_SKIP() << compiler.error().text;
  const auto text = StreamHolder::kernel_text();
  ASSERT_TRUE(text) << text.error().text;
  const auto known = (*compiler)->architectures();
  for (const int capability : {80, 90, 100, 120}) {
    if (std::find(known.begin(), known.end(), capability) == known.end()) continue;
    const auto output = (*compiler)->compile(*text, "hold.cu", {}, cuda_architecture(capability));
    ASSERT_TRUE(output) << output.error().text;
    EXPECT_EQ(output->log.find("warning"), std::string::npos) << output->log;
    EXPECT_EQ(number_before(output->log, "bytes spill stores", false), 0) << output->log;
  }
}

TEST(CudaKernelsTest, NamesAreUniqueAndTheFirstIsTheFallback) {
  std::set<std::string> names;
  const auto all = all_cuda_candidates();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front()->name(), "naive");
  for (const auto& candidate : all) {
    EXPECT_TRUE(names.insert(candidate->name()).second) << candidate->name();
    EXPECT_FALSE(candidate->variants().empty()) << candidate->name();
  }
}

// Everything that the tuner may ask about a product can be answered from its key.
TEST(CudaKernelsTest, ATechniqueIsTheNameWithoutItsSizes) {
  EXPECT_EQ(technique_of("wgmma_coop_128x256_c2"), "wgmma_coop_c");
  EXPECT_EQ(technique_of("repacked_wgmma_f8_one_64x128"), "repacked_wgmma_f_one");
  EXPECT_EQ(technique_of("stream_8k"), "stream_k");
  EXPECT_EQ(technique_of("simt_32x32_2w_k8"), "simt_w_k");
  EXPECT_EQ(technique_of("simple_tma_mma"), "reference");
  std::set<std::string> techniques;
  const auto all = all_cuda_candidates();
  for (const auto& candidate : all) techniques.insert(technique_of(candidate->name()));
  EXPECT_LT(4 * techniques.size(), all.size()) << "few enough that the first of each can be tried";
}

TEST(CudaKernelsTest, EachPlansKernelsForWhatItTakes) {
  const auto all = all_cuda_candidates();
  const CudaMachine machine{90, 132, 232448, 60u << 20};
  int legal = 0;
  std::set<std::string> failed;
  for (const auto& [a, b, c] : {std::tuple{DType::f32, DType::f32, DType::f32},
                                {DType::f64, DType::f64, DType::f64},
                                {DType::bf16, DType::bf16, DType::bf16},
                                {DType::bf16, DType::bf16, DType::f32},
                                {DType::f16, DType::f16, DType::f16},
                                {DType::f16, DType::f16, DType::f32},
                                {DType::i8, DType::i8, DType::i32},
                                {DType::u8, DType::i8, DType::i32},
                                {DType::f8e4m3, DType::f8e4m3, DType::bf16},
                                {DType::f8e4m3, DType::f8e5m2, DType::f32}}) {
    for (const Precision precision :
         {Precision::highest, Precision::split, Precision::high, Precision::medium}) {
      if (precision != Precision::highest && a != DType::f32) continue;
      for (const std::int64_t m : {1, 5, 128, 1025}) {
        for (const std::int64_t n : {1, 16, 100, 2048}) {
          for (const std::int64_t k : {1, 64, 257, 4096}) {
            for (const int layout : {0, 1, 2, 3}) {
              MatmulKey key;
              key.elem_lhs = a;
              key.elem_rhs = b;
              key.elem_out = c;
              key.m = m;
              key.n = n;
              key.k = k;
              key.precision = precision;
              key.lhs_stride = key.rhs_stride = k % 2 == 0 ? 10 : 0;
              key.layout_lhs.form = LayoutClass::mildly_permuted;
              key.layout_lhs.transposed = (layout & 1) != 0;
              key.layout_rhs.form = LayoutClass::mildly_permuted;
              key.layout_rhs.transposed = (layout & 2) != 0;
              const GemmArgs args = product_of(key);
              bool first = true;
              for (const auto& candidate : all) {
                const char* reason = candidate->illegal_because(args, machine);
                if (std::exchange(first, false)) {
                  EXPECT_EQ(reason, nullptr) << "the fallback";
                }
                if (reason != nullptr) continue;
                ++legal;
                if (failed.contains(candidate->name())) continue;  // told of once
                for (const CudaKernelPlan& plan : candidate->plans(candidate->variant(args))) {
                  if (cuda_kernel_source(plan) && plan.threads > 0 &&
                      plan.shared_bytes <= machine.shared_bytes) {
                    continue;
                  }
                  failed.insert(candidate->name());
                  ADD_FAILURE() << candidate->name() << " plans what cannot be, for "
                                << short_text(key);
                }
                const double seconds = candidate->predicted_s(args, machine);
                EXPECT_GT(seconds, 0) << candidate->name() << " for " << short_text(key);
                EXPECT_LT(seconds, 1e3) << candidate->name() << " for " << short_text(key);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(legal, 1000);
}

}  // namespace
}  // namespace rooftune
