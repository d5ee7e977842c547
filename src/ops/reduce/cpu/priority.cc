#include "ops/reduce/cpu/priority.h"

#include "ops/reduce/key.h"

namespace rooftune {
namespace {

// The lanes of the largest vectors: shorter ones leave most of a vector unused.
constexpr std::int64_t kVectorRun = 16;

// With fewer pieces than this for each thread some of them are idle at the end.
constexpr std::int64_t kPiecesPerThread = 8;

// Terms below which a second thread costs more than it saves (walk.h has it for each thread).
constexpr double kWorthSplitting = 32768;

}  // namespace

int naive_sum_priority(const SumKey& key) {
  if (key.layout == SumLayout::strided) return 3;
  // Vectors hardly pay for what they cost.
  return key.outputs * key.terms <= 64 ? 3 : 0;
}

int lanes_priority(const SumKey& key) {
  if (key.layout == SumLayout::strided) return 3;
  return key.run <= kVectorRun ? 3 : 0;
}

int rows_priority(const SumKey& key) { return key.layout == SumLayout::contiguous_reduce ? 3 : 1; }

int short_rows_priority(const SumKey& key) {
  return key.layout == SumLayout::contiguous_reduce ? 3 : 1;
}

int columns_priority(const SumKey& key) { return key.layout == SumLayout::contiguous_keep ? 3 : 1; }

int sweep_priority(const SumKey& key) {
  if (key.layout != SumLayout::contiguous_keep) return 1;
  return key.run > kVectorRun ? 3 : 1;
}

int wrap_priority(const SumKey& key) {
  return key.layout == SumLayout::contiguous_keep && key.run <= kVectorRun ? 3 : 1;
}

int split_priority(const SumKey& key) {
  // One stretch for one thread is the technique that is not split.
  if (key.threads == 1) return -1;
  const std::int64_t pieces = key.layout == SumLayout::contiguous_keep
                                  ? (key.outputs + kVectorRun - 1) / kVectorRun
                                  : key.outputs;
  const double terms = static_cast<double>(key.outputs) * static_cast<double>(key.terms);
  return pieces <= kPiecesPerThread * key.threads && terms >= kWorthSplitting ? 3 : 1;
}

}  // namespace rooftune
