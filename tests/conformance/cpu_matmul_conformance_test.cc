#include "matmul_conformance.h"

namespace rooftune {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, MatmulConformance, testing::Values(MatmulDevice{"cpu", "cpu"}),
                         matmul_device_name);

}  // namespace
}  // namespace rooftune
