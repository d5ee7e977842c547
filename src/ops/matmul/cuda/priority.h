// What is measured first on a CUDA device.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/matmul/cuda/candidate.h"

namespace rooftune {

// The groups that candidates name in memberships(); `best_guesses` is joined by all.
inline constexpr std::array<std::string_view, 8> kCudaGroups = {
    "accelerated", "unit", "tma", "gemv", "hopper", "stream", "tiny", "f64"};

// Their priorities for a key (SYSTEM section 4), and that of best_guesses, which is above all and
// has every candidate that the device can run: their predictions say which of them are measured.
std::vector<std::pair<std::string_view, std::function<int(const MatmulKey&)>>>
cuda_group_priorities();

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_PRIORITY_H_
