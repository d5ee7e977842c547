// One text for every device: what include/rooftune/device.h promises, tried on the device itself.
// A device joins with a file of its own beside this one, which says how to open it and how to make
// two kernels, and ends with
//
//   INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance, testing::Values(DeviceUnderTest{...}),
//   name_of);
//
// Where the device is missing (open() fails with `unsupported` or `not_found`), every test prints
// the reason and is skipped.
#ifndef ROOFTUNE_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H_
#define ROOFTUNE_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "rooftune/device.h"

namespace rooftune {

// Arguments of the fold kernel: `rounds` times, one after the other,
//   *cell = *cell * kFoldFactor + value        (modulo 2^64)
// in one thread. The result depends on the order of launches, and each round on the one before, so
// that no device can take less than kFoldRoundSeconds for it.
struct FoldArgs {
  std::uint64_t* cell = nullptr;  // on the device
  std::uint64_t value = 0;
  std::uint64_t rounds = 1;
};
inline constexpr std::uint64_t kFoldFactor = 6364136223846793005u;
inline constexpr double kFoldRoundSeconds =
    1e-10;  // a multiplication at 10 GHz, if it took 1 cycle

// What the kernel does, for hosts and for the expectations.
inline std::uint64_t fold(std::uint64_t cell, std::uint64_t value, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) cell = cell * kFoldFactor + value;
  return cell;
}

struct DeviceUnderTest {
  std::string name;
  std::function<Result<std::shared_ptr<Client>>()> open;
  // The source of the fold kernel with this in its parameters; launched as one group of one thread.
  std::function<KernelSource(std::string parameters)> fold;
  // Source that cannot be built; nothing where there is no such thing.
  std::optional<KernelSource> broken = {};
  bool compiles_at_run_time = true;
};

inline std::string name_of(const testing::TestParamInfo<DeviceUnderTest>& device) {
  return device.param.name;
}

inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }

class DeviceConformance : public testing::TestWithParam<DeviceUnderTest> {
 protected:
  void SetUp() override;

  Client& client() { return *client_; }
  Result<std::shared_ptr<const Kernel>> compile_fold(std::string parameters = "") {
    return client().compile(GetParam().fold(std::move(parameters)));
  }
  Status launch_fold(const Kernel& kernel, Stream stream, const Buffer& cell, std::uint64_t value,
                     std::uint64_t rounds = 1);
  // A cell on the device that holds `value`, complete for every stream.
  Result<Buffer> make_cell(std::uint64_t value);
  Result<std::uint64_t> read_cell(Stream stream, const Buffer& cell);

 private:
  std::shared_ptr<Client> client_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CONFORMANCE_DEVICE_CONFORMANCE_H_
