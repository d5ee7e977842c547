#include <algorithm>
#include <thread>

#include "matmul_conformance.h"

namespace rooftune {
namespace {

// Most of the time goes into compiling: as many threads as there are cores, within reason.
INSTANTIATE_TEST_SUITE_P(Cuda, MatmulConformance,
                         testing::Values(MatmulDevice{
                             "cuda_0", "cuda:0",
                             std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                                        16)}),
                         matmul_device_name);

}  // namespace
}  // namespace rooftune
