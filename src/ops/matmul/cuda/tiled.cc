#include "ops/matmul/cuda/tiled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/split.h"
#include "ops/matmul/cuda/strided_host.h"

namespace rooftune {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Multiply-adds of f32, and of f64 on tensor cores, a multiprocessor does in a second: 128 a clock
// at the 1.7 GHz of an H200 under load. Only what rows of these families have in common with each
// other depends on it.
constexpr double kClock = 1.7e9;
constexpr double kMultiplyAdds = 128 * kClock;
// Of a kernel that follows another in a stream.
constexpr double kLaunch = 1.5e-6;
// Tiles come from the second-level cache, of an H200, no faster than this; partial sums go through
// it at the rate of a copy.
constexpr double kCacheBytes = 7e12;
constexpr double kSumBytes = 4e12;
constexpr double kMemoryBytes = 4e12;

// Kernels take C by rows; where its columns are contiguous they make the transposed product.
bool columns_first(const GemmArgs& args) { return args.c_row == 1 && args.c_col != 1; }
GemmArgs by_rows(const GemmArgs& args) { return columns_first(args) ? transposed(args) : args; }

}  // namespace

Tiled::Tiled(const TiledForm& form, TypeFamily family, std::string_view file)
    : CudaCandidate(form.name, form.cluster_k > 1 ? CudaNeeds::tma : CudaNeeds::ampere),
      form_(form),
      family_(family),
      file_(file),
      bytes_(family == TypeFamily::f64 ? 8 : 4) {}

// Both operands take wide copies or neither does, so that few combinations are ever compiled.
Tiled::Copies Tiled::copies(const GemmArgs& args) const {
  const bool a_terms = args.a_col == 1, b_terms = args.b_row == 1;
  // Wide: whatever is reached in steps of 16 bytes along the contiguous axis is a multiple of them.
  const auto wide = [&](const void* pointer, std::int64_t step, std::int64_t over,
                        std::int64_t extent, const auto& batch) {
    if (step != 1) return false;
    std::int64_t bits = over | extent;
    for (int axis = 0; axis < args.batch_rank; ++axis) {
      bits |= batch[static_cast<std::size_t>(axis)];
    }
    return bits % (16 / bytes_) == 0 && reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
  };
  const bool a_wide = a_terms
                          ? !likes_wide_terms() || wide(args.a, 1, args.a_row, args.k, args.a_batch)
                          : wide(args.a, args.a_row, args.a_col, args.m, args.a_batch);
  const bool b_wide = b_terms
                          ? !likes_wide_terms() || wide(args.b, 1, args.b_col, args.k, args.b_batch)
                          : wide(args.b, args.b_col, args.b_row, args.n, args.b_batch);
  return copies(a_terms, b_terms, a_wide && b_wide);
}

Tiled::Copies Tiled::copies(bool a_terms, bool b_terms, bool wide) const {
  const auto kind = [&](bool terms) {
    if (terms) return wide && likes_wide_terms() ? TileCopyKind::wide_terms : TileCopyKind::terms;
    return wide ? TileCopyKind::wide_elements : TileCopyKind::elements;
  };
  return {kind(a_terms), kind(b_terms)};
}

// A multiprocessor's blocks one wave after another, each slower than the form's best when few warps
// are there to hide latency; no faster than its tiles come from the second-level cache and operands
// from memory.
double Tiled::modelled_s(const GemmArgs& args, std::int64_t parts, int multiprocessors) const {
  const double blocks = static_cast<double>(ceil_div(args.m, form_.tile_m) *
                                            ceil_div(args.n, form_.tile_n) * args.batch * parts);
  const double k = static_cast<double>(args.k) / static_cast<double>(parts);
  const double each = std::ceil(blocks / multiprocessors);
  // A multiprocessor has 4 schedulers; with a warp each, some three quarters of what many warps
  // reach was measured.
  const auto by_warps = [&](double resident) {
    const double warps = resident * form_.warps_m * form_.warps_n;
    return std::min(warps / 4, 1.0) * std::max(warps, 4.0) / (std::max(warps, 4.0) + 1.3);
  };
  const double share =
      form_.share * by_warps(std::min<double>(each, form_.blocks)) / by_warps(form_.blocks);
  const double arithmetic = each * form_.tile_m * form_.tile_n * k / (kMultiplyAdds * share);
  const double tile_elements = (form_.tile_m + form_.tile_n) * k;
  const double cache = static_cast<double>(bytes_) * tile_elements * blocks / kCacheBytes;
  // Single elements are copied 32 at a time in about 10 clocks, doubles in 14: what bounds small
  // tiles of operands that are not aligned.
  const Copies how = copies(args);
  const bool narrow = how.a == TileCopyKind::elements || how.b == TileCopyKind::elements ||
                      (likes_wide_terms() && how.a == TileCopyKind::terms);
  const double copying = narrow ? each * tile_elements * (bytes_ == 8 ? 0.45 : 0.31) / kClock : 0.0;
  double sums = 0;
  if (form_.cluster_k > 1) {
    sums = cluster_sums_s(each);
  } else if (parts > 1) {
    sums = kLaunch + 2.0 * static_cast<double>(parts * bytes_ * args.m) *
                         static_cast<double>(args.n * args.batch) / kSumBytes;
  }
  // Memory's time is hidden only in part: nobody multiplies while C is written.
  const double memory = static_cast<double>(bytes_ * args.batch) *
                        (static_cast<double>(args.m + args.n) * static_cast<double>(args.k) +
                         static_cast<double>(args.m) * static_cast<double>(args.n)) /
                        kMemoryBytes;
  const double busy = std::max({arithmetic, cache, copying});
  // The first tiles' way from memory, and the last results' back.
  constexpr double kLatency = 2e-6;
  return kLaunch + kLatency + std::max(busy, memory) + 0.5 * std::min(busy, memory) + sums;
}

// The blocks meet twice, and each reads its slice of the tile from all others.
double Tiled::cluster_sums_s(double blocks_each) const {
  constexpr double kMeet = 1e-6;
  // Guesses both, not fitted to measured times: a memory's rate, shared by 132 multiprocessors.
  constexpr double kBytes = 3.3e12 / 132;
  const double tile = static_cast<double>(bytes_ * form_.tile_m * form_.tile_n);
  return kMeet + blocks_each * tile * (form_.cluster_k - 1) / form_.cluster_k / kBytes;
}

// The parts of k. A cluster's are given; others are the best of a few by the model: parts fill the
// machine's last wave, and their sums are written and read once more.
std::int64_t Tiled::parts(const GemmArgs& args, int multiprocessors) const {
  if (!form_.split) return form_.cluster_k;
  // A dozen evaluations of the model are more than a launch costs; calls repeat their sizes.
  const Copies how = copies(args);
  struct Asked {
    const Tiled* by = nullptr;
    std::int64_t m = 0, n = 0, k = 0, batch = 0;
    TileCopyKind a{}, b{};
    int multiprocessors = 0;
    bool operator==(const Asked&) const = default;
  };
  const Asked asked{this, args.m, args.n, args.k, args.batch, how.a, how.b, multiprocessors};
  thread_local Asked last;
  thread_local std::int64_t last_parts = 1;
  if (asked == last) return last_parts;

  std::int64_t best = 1;
  double best_s = modelled_s(args, 1, multiprocessors);
  int worse = 0;
  for (const std::int64_t parts : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256}) {
    if (parts * 2 * form_.depth > args.k) break;
    const double s = modelled_s(args, parts, multiprocessors);
    if (s < best_s) {
      best_s = s;
      best = parts;
      worse = 0;
    } else if (++worse == 3) {
      break;
    }
  }
  // Parts are whole tiles deep; the last might then be empty.
  const std::int64_t terms = ceil_div(ceil_div(args.k, best), form_.depth) * form_.depth;
  last = asked;
  last_parts = ceil_div(args.k, terms);
  return last_parts;
}

const char* Tiled::illegal_because(const GemmArgs& original, const CudaMachine& machine) const {
  if (original.family != family_) return "other types";
  if (original.packed != nullptr) return "the right operand is packed for a CPU";
  if (!element_aligned(original)) return "misaligned elements";
  const bool turned = columns_first(original);
  const std::int64_t m = turned ? original.n : original.m;
  const std::int64_t n = turned ? original.m : original.n;
  if (original.k > kIntMax) return "k beyond 2^31";
  // Offsets inside a tile of an operand with contiguous terms are 32 bits.
  const std::int64_t a_step = turned ? original.b_col : original.a_row;
  const std::int64_t b_step = turned ? original.a_row : original.b_col;
  if (std::abs(a_step) > kIntMax / form_.tile_m || std::abs(b_step) > kIntMax / form_.tile_n) {
    return "leading dimension beyond 2^31 over the tile";
  }
  const std::int64_t tiles_n = ceil_div(n, form_.tile_n);
  const std::int64_t tiles = ceil_div(m, form_.tile_m) * tiles_n;
  // A strip of tiles (tile_order.cuh) is counted in 32 bits too.
  if (tiles > kIntMax / original.batch / form_.cluster_k || tiles_n > kIntMax / 8)
    return "more tiles than a grid has blocks";
  if (shared_bytes({TileCopyKind::elements, TileCopyKind::elements}) > machine.shared_bytes) {
    return "too little shared memory";
  }
  const std::int64_t slots = std::int64_t{form_.blocks} * machine.multiprocessors;
  if (form_.split) {
    // What the model would say (parts()) takes too long here; these leave it room to gain.
    if (original.k < 4 * form_.depth) return "k is too short to be split";
    if (tiles * original.batch > 4 * slots) return "enough tiles without splitting k";
    if (original.batch * m > kIntMax / n) return "too many partial sums";
  }
  if (form_.cluster_k > 1) {
    // Rows that are never faster would keep others from being measured. Here the blocks of half a
    // cluster, or a block alone, have no more than one tile of terms each; ...
    if (original.k <= form_.cluster_k / 2 * form_.depth) return "k is too short for the cluster";
    // ... and here all multiprocessors are full without clusters.
    if (tiles * original.batch > slots) return "enough tiles without sharing k";
  }
  return nullptr;
}

CudaVariant Tiled::variant(const GemmArgs& original) const {
  return bits(copies(by_rows(original)));
}

std::vector<CudaVariant> Tiled::variants() const {
  std::vector<CudaVariant> all;
  for (const bool a_terms : {true, false}) {
    for (const bool b_terms : {true, false}) {
      for (const bool wide : {true, false}) all.push_back(bits(copies(a_terms, b_terms, wide)));
    }
  }
  std::ranges::sort(all);
  const auto twice = std::ranges::unique(all);
  all.erase(twice.begin(), twice.end());
  return all;
}

std::vector<CudaKernelPlan> Tiled::plans(CudaVariant variant) const {
  const Copies copies{static_cast<TileCopyKind>(variant & 3),
                      static_cast<TileCopyKind>(variant >> 2 & 3)};
  const auto set = [](const char* name, auto value) { return name + std::to_string(value); };
  CudaKernelPlan plan;
  plan.file = file_;
  plan.defines = own_defines();
  for (std::string& define : std::vector<std::string>{
           set("WARPS_M=", form_.warps_m), set("WARPS_N=", form_.warps_n),
           set("STAGES=", form_.stages), set("BLOCKS=", form_.blocks),
           set("CLUSTER_K=", form_.cluster_k), set("A_COPY=", static_cast<int>(copies.a)),
           set("B_COPY=", static_cast<int>(copies.b))}) {
    plan.defines.push_back(std::move(define));
  }
  plan.threads = threads();
  plan.shared_bytes = shared_bytes(copies);
  plan.spill_bytes = form_.spill_bytes;
  std::vector<CudaKernelPlan> all = {std::move(plan)};
  if (form_.split) {
    CudaKernelPlan sum;
    sum.file = "sum_parts.cu";
    sum.defines = {family_ == TypeFamily::f64 ? "SUM_TYPE=double" : "SUM_TYPE=float"};
    sum.threads = 256;
    all.push_back(std::move(sum));
  }
  return all;
}

Status Tiled::run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
                  const GemmArgs& original) const {
  const GemmArgs args = by_rows(original);
  SplitArgs device{};
  device.product = strided_args(args);
  device.tiles_m = static_cast<int>(ceil_div(args.m, form_.tile_m));
  device.tiles_n = static_cast<int>(ceil_div(args.n, form_.tile_n));
  const std::int64_t parts = this->parts(args, launcher.machine().multiprocessors);
  device.splits = static_cast<int>(parts);
  device.terms = ceil_div(ceil_div(args.k, parts), form_.depth) * form_.depth;
  if (form_.split && parts > 1) {
    auto memory =
        launcher.scratch(static_cast<std::uint64_t>(parts * args.batch * args.m * args.n * bytes_));
    if (!memory) return std::unexpected(std::move(memory.error()));
    device.partials = *memory;
  }
  const auto blocks = static_cast<std::uint32_t>(std::int64_t{device.tiles_m} * device.tiles_n *
                                                 args.batch * parts);
  Status done = launcher.launch(*kernels[0], &device, sizeof device, {blocks}, threads(),
                                shared_bytes(copies(args)));
  if (!done || device.partials == nullptr) return done;
  return launcher.launch(*kernels[1], &device, sizeof device,
                         {blocks_for(ceil_div(args.m * args.n * args.batch, 256))}, 256, 0);
}

double Tiled::predicted_s(const GemmArgs& original, const CudaMachine& machine) const {
  const GemmArgs args = by_rows(original);
  return modelled_s(args, parts(args, machine.multiprocessors), machine.multiprocessors);
}

}  // namespace rooftune
