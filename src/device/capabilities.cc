#include <algorithm>

#include "rooftune/device.h"

namespace rooftune {

bool Capabilities::supports(DType dtype) const {
  return std::find(types.begin(), types.end(), dtype) != types.end();
}

bool Capabilities::has_feature(std::string_view name) const {
  // Not a binary search: a device author who forgets to sort must not lose features silently.
  return std::find(features.begin(), features.end(), name) != features.end();
}

std::string_view to_string(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::compute:
      return "compute";
    case ProbeKind::matrix:
      return "matrix";
    case ProbeKind::copy:
      return "copy";
    case ProbeKind::read:
      return "read";
    case ProbeKind::write:
      return "write";
    case ProbeKind::launch:
      return "launch";
  }
  return "unknown";
}

}  // namespace rooftune
