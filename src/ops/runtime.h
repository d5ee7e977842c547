// Which kind of device a client drives.
#ifndef ROOFTUNE_OPS_RUNTIME_H_
#define ROOFTUNE_OPS_RUNTIME_H_

#include <string_view>

#include "rooftune/device.h"

namespace rooftune {

// "cpu", "cuda", "fake": the first word of the fingerprint's runtime.
inline std::string_view runtime_of(const Client& client) {
  const auto& parts = client.fingerprint().parts();
  const auto runtime = parts.find("runtime");
  if (runtime == parts.end()) return {};
  return std::string_view(runtime->second).substr(0, runtime->second.find(' '));
}

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_RUNTIME_H_
