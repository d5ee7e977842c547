// What is measured first on a CUDA device.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_

#include <array>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

// The groups that candidates name in memberships(); `best_guesses` is made here.
inline constexpr std::array<std::string_view, 8> kCudaGroups = {
    "accelerated", "unit", "tma", "gemv", "hopper", "stream", "tiny", "f64"};

// Their priorities for a key (SYSTEM section 4), and that of best_guesses, which is above all: on a
// device that kernels were written for, most of them are known to be far from the best before any
// of them runs.
std::vector<std::pair<std::string_view, std::function<int(const MatmulKey&)>>>
cuda_group_priorities();

// A product with the sizes, types and layouts of a key, of dense matrices without memory.
GemmArgs product_of(const MatmulKey& key);

// The candidates whose predicted times for a key are the least.
class BestGuesses {
 public:
  void add(const CudaCandidate& candidate) { candidates_.push_back(&candidate); }
  // Whether candidate i, in the order of add(), is one of them. Thread-safe.
  bool contains(const MatmulKey& key, std::size_t i, const CudaMachine& machine);
  // Those of a key, the best first.
  static std::vector<std::size_t> choose(std::span<const CudaCandidate* const> candidates,
                                         const MatmulKey& key, const CudaMachine& machine);

 private:
  std::vector<const CudaCandidate*> candidates_;
  std::mutex mutex_;
  bool known_ = false;  // of the last key that was asked for: a plan asks for all candidates of one
  MatmulKey key_;
  std::vector<bool> chosen_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_
