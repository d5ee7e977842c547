// Errors as values. Every function of Rooftune that can fail returns Result<T>; nothing in the
// library prints, throws across this boundary, aborts or calls exit.
#ifndef ROOFTUNE_ERROR_H_
#define ROOFTUNE_ERROR_H_

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace rooftune {

// What went wrong, for programs. The text of the Error is for people.
enum class ErrorKind {
  invalid_argument,  // a value outside its domain, e.g. thread count -1
  shape_mismatch,    // extents of operands do not fit together
  overlap,           // the output shares memory with an input or with itself
  unsupported,       // a type, device or layout that this build or machine does not have
  illegal,           // a forced candidate that cannot run this problem; the text says why
  not_found,         // an unknown name: candidate, device, key, file
  out_of_memory,     // an allocation failed or passed a stated limit
  build_failed,      // a kernel did not compile
  launch_failed,     // a kernel was refused at launch, or ended with an error
  device_lost,       // the device answers no more, or no longer this process
  not_timed,         // the device could not measure: zero, negative or missing time
  wrong_result,      // verification refused the output of a candidate
  no_candidate,      // every candidate failed; the text lists each reason
  settings,          // a bad settings file or environment variable: file, line, allowed values
  store,             // the database cannot be used
  io,                // a file could not be read or written
  internal,          // a broken promise of the library itself: please report
};

// A stable lower-case name, e.g. "shape_mismatch".
std::string_view to_string(ErrorKind kind);

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::internal;
  std::string text;  // one sentence with the numbers in it; says what to do where that is known
};

template <class T>
using Result = std::expected<T, Error>;

// Success carries nothing, and costs nothing.
using Status = Result<void>;

// return fail(ErrorKind::shape_mismatch, "...");
[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string text) {
  return std::unexpected<Error>(Error{kind, std::move(text)});
}

}  // namespace rooftune

#endif  // ROOFTUNE_ERROR_H_
