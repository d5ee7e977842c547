// What a launch of a fake matmul kernel is worth, for the clock of the fake device.
#ifndef ROOFTUNE_OPS_MATMUL_FAKE_WORK_H_
#define ROOFTUNE_OPS_MATMUL_FAKE_WORK_H_

#include "device/fake/script.h"

namespace rooftune {

FakeWork fake_matmul_work(const FakeLaunch& launch);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_FAKE_WORK_H_
