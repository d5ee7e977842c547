// What a kernel needs to run on one thread without the library.
#ifndef ROOFTUNE_TOOLS_SKELETONS_SERIAL_CONTEXT_H_
#define ROOFTUNE_TOOLS_SKELETONS_SERIAL_CONTEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/context.h"

namespace rooftune {

class SerialContext : public CpuContext {
 public:
  int threads() const override { return 1; }
  void parallel_for(std::int64_t count, FunctionRef<void(std::int64_t, int)> task) override {
    for (std::int64_t index = 0; index < count; ++index) task(index, 0);
  }
  std::byte* scratch(std::size_t bytes) override {
    memory_.resize(bytes + kAlignment);
    void* at = memory_.data();
    std::size_t room = memory_.size();
    return static_cast<std::byte*>(std::align(kAlignment, bytes, at, room));
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::vector<std::byte> memory_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TOOLS_SKELETONS_SERIAL_CONTEXT_H_
