// What compile() and probe_kernel() of a fake device give, and how it runs.
#ifndef ROOFTUNE_DEVICE_FAKE_FAKE_KERNEL_H_
#define ROOFTUNE_DEVICE_FAKE_FAKE_KERNEL_H_

#include <functional>
#include <optional>
#include <utility>

#include "device/fake/script.h"
#include "rooftune/device.h"

namespace rooftune {

struct FakeProbe {
  ProbeKind kind;
  DType dtype;
};

struct FakeKernel : Kernel {
  FakeKernel(KernelId its_id, const Client* its_owner, FakeKernelFn its_code,
             std::optional<FakeProbe> its_probe = {})
      : Kernel(std::move(its_id)), owner(its_owner), code(its_code), probe(its_probe) {}

  const Client* const owner;
  const FakeKernelFn code;  // null: computes nothing
  const std::optional<FakeProbe> probe;
};

// Runs the code, which may be null, and then does to the output what the behaviour says.
// Errors: those of the code; launch_failed when it is unknown where the output lies.
Status run_fake_kernel(const Launch& launch, const FakeBehaviour& behaviour,
                       const std::function<Status(const void* args)>& code);

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_FAKE_FAKE_KERNEL_H_
