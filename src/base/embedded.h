// Files that the build puts into the program (cmake/embed.cmake): the sources of kernels that are
// compiled at run time.
#ifndef ROOFTUNE_BASE_EMBEDDED_H_
#define ROOFTUNE_BASE_EMBEDDED_H_

#include <span>
#include <string>
#include <string_view>

#include "rooftune/error.h"

namespace rooftune {

struct EmbeddedFile {
  std::string_view name;  // its path from src/: "ops/matmul/cuda/naive.cu"
  std::string_view text;
};

// The text of a file with those that it includes by `#include "path from src/"` in their place,
// each once, so that a compiler needs nothing else. Directives for files that are not here stay: a
// header that host and kernel share has them where a kernel does not look. Errors: not_found for
// `name` itself.
Result<std::string> with_includes(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_EMBEDDED_H_
