// How a command ends.
#ifndef ROOFTUNE_CLI_EXIT_CODE_H_
#define ROOFTUNE_CLI_EXIT_CODE_H_

#include <expected>
#include <string>

#include "rooftune/error.h"

namespace rooftune::cli {

enum class Exit : int {
  done = 0,
  failed = 1,  // asked rightly, but it did not work
  usage = 2,   // asked wrongly: nothing was run
};

// What ends a command early, with the sentence for the user.
struct Failure {
  Exit exit = Exit::failed;
  std::string text;
};

template <class T>
using Outcome = std::expected<T, Failure>;

// A value that the user gave is `usage`, everything else `failed`.
inline Failure failure_of(const Error& error) {
  const bool asked_wrongly =
      error.kind == ErrorKind::invalid_argument || error.kind == ErrorKind::settings;
  return {asked_wrongly ? Exit::usage : Exit::failed, error.text};
}
inline std::unexpected<Failure> stop(const Error& error) {
  return std::unexpected<Failure>(failure_of(error));
}
inline std::unexpected<Failure> stop(Exit exit, std::string text) {
  return std::unexpected<Failure>(Failure{exit, std::move(text)});
}

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_EXIT_CODE_H_
