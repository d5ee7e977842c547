#include "rooftune/error.h"

namespace rooftune {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::shape_mismatch:
      return "shape_mismatch";
    case ErrorKind::overlap:
      return "overlap";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::illegal:
      return "illegal";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
    case ErrorKind::build_failed:
      return "build_failed";
    case ErrorKind::launch_failed:
      return "launch_failed";
    case ErrorKind::device_lost:
      return "device_lost";
    case ErrorKind::not_timed:
      return "not_timed";
    case ErrorKind::wrong_result:
      return "wrong_result";
    case ErrorKind::no_candidate:
      return "no_candidate";
    case ErrorKind::settings:
      return "settings";
    case ErrorKind::store:
      return "store";
    case ErrorKind::io:
      return "io";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace rooftune
