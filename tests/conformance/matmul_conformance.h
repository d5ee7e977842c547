// One text for every device and every way to multiply there: each candidate is forced on awkward
// products and compared with plain loops in f64. A device joins with a file of its own beside this
// one that ends with
//
//   INSTANTIATE_TEST_SUITE_P(Cpu, MatmulConformance, testing::Values(MatmulDevice{"cpu"}),
//                            matmul_device_name);
//
// Where the device is missing (opening a session fails with `unsupported` or `not_found`), every
// test prints the reason and is skipped.
#ifndef ROOFTUNE_TESTS_CONFORMANCE_MATMUL_CONFORMANCE_H_
#define ROOFTUNE_TESTS_CONFORMANCE_MATMUL_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "matmul_problems.h"
#include "rooftune/session.h"

namespace rooftune {

struct MatmulDevice {
  std::string name;    // of the test
  std::string device;  // of the session
  int parallel = 1;    // threads that force candidates, each with a stream of its own
};

inline std::string matmul_device_name(const testing::TestParamInfo<MatmulDevice>& device) {
  return device.param.name;
}
inline void PrintTo(const MatmulDevice& device, std::ostream* out) { *out << device.name; }

class MatmulConformance : public testing::TestWithParam<MatmulDevice> {
 protected:
  void SetUp() override;

  Session& session() { return *session_; }
  // False for types that the device has no products of.
  bool has(const ProductTypes& types);
  // Forces every candidate on every problem; each problem must be taken by one at least.
  void force_all(const std::vector<ProductProblem>& problems);

 private:
  TempFolder temp_;
  std::unique_ptr<Session> session_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CONFORMANCE_MATMUL_CONFORMANCE_H_
