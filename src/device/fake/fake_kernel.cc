#include "device/fake/fake_kernel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace rooftune {
namespace {

constexpr std::size_t kOutsideBytes = 16;

}  // namespace

Status run_fake_kernel(const Launch& launch, const FakeBehaviour& behaviour,
                       const std::function<Status(const void* args)>& code) {
  if (behaviour.damage == FakeOutput::right) return code ? code(launch.args) : Status();
  std::span<std::byte> output;
  if (behaviour.output) {
    output = behaviour.output(launch.args);
  } else if (!launch.buffers.empty()) {
    const Buffer& last = launch.buffers.back();
    output = {static_cast<std::byte*>(last.address()), last.bytes()};
  } else {
    return fail(ErrorKind::launch_failed,
                "the script wants the output damaged and does not say where it lies");
  }
  const std::size_t kept = (output.size() + 3) / 4;
  const std::vector<std::byte> before(output.end() - static_cast<std::ptrdiff_t>(kept),
                                      output.end());
  if (code) {
    if (Status status = code(launch.args); !status) return status;
  }
  switch (behaviour.damage) {
    case FakeOutput::right:
      break;
    case FakeOutput::wrong:
      for (std::size_t i = 3; i < output.size(); i += 4) output[i] ^= std::byte{0x10};
      break;
    case FakeOutput::partial:
      std::copy(before.begin(), before.end(), output.end() - static_cast<std::ptrdiff_t>(kept));
      break;
    case FakeOutput::outside:
      std::memset(output.data() + output.size(), 0xEE, kOutsideBytes);
      break;
  }
  return {};
}

}  // namespace rooftune
