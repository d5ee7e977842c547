// Other libraries that multiply matrices, loaded at run time: to be compared with, and as
// candidates of the group `vendor`. None of them is needed to build or run Rooftune.
#ifndef ROOFTUNE_OPS_MATMUL_RIVALS_H_
#define ROOFTUNE_OPS_MATMUL_RIVALS_H_

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/matmul/gemm_args.h"
#include "ops/runtime.h"
#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune {

struct Rival {
  std::string name;     // as in rival_names()
  std::string version;  // as the library tells it, e.g. "OpenBLAS 0.3.21 (SkylakeX)"
  std::string file;     // where it was found; a bare name when the system's loader found it
  // Others of this name that were found and not taken, and why: "OpenBLAS 0.3.21 of FILE is older".
  std::vector<std::string> passed_over;

  // Why it has no call for exactly this product: types, sizes (most count in 32 bits), strides,
  // alpha and beta. Null when it may have one. Static text, no allocation, thread-safe.
  std::function<const char*(const GemmArgs&)> unsupported;

  // Runs the product; thread-safe. On the processor with as many threads as it was loaded with, and
  // done when this returns; on another device enqueued on the stream. A batch is one call per
  // matrix, as a caller of that library writes it, but where the library has a call for strided
  // batches. What a library prepares for a shape is prepared at the first call and kept.
  // Errors: unsupported, as above or as the library says; launch_failed.
  std::function<Status(const GemmArgs&, Stream)> run;

  // For a library that has several algorithms and leaves the choice to its caller; absent for
  // others. Measures them on products that are all the same but for their memory, in turn (which
  // keeps operands out of caches), and lets run() take the best. Outputs are overwritten. Without
  // it run() takes what the library recommends.
  // Errors: as run(); not_timed.
  std::function<Status(std::span<const GemmArgs>, Stream)> choose;
};

// "openblas", "blis", "onednn", "mkl", "cublaslt".
std::span<const std::string_view> rival_names();

// The kind of device that a rival of rival_names() works on, "cpu" or "cuda"; empty: an unknown
// name.
std::string_view runtime_of_rival(std::string_view name);

struct RivalOptions {
  int threads = 1;  // of the library, and for all that use it in this process: the last one counts
  // The device to work on, where that is not the processor; outlives the rival.
  Client* client = nullptr;
  // Searched with all folders below them, before the places of the system: the site-packages of a
  // Python, a folder of unpacked wheels. A file counts when its name is that of the library.
  std::vector<std::filesystem::path> folders;
  // Sets (or, given null, takes back) a variable of the environment that a library reads only while
  // it is loaded. The library never touches the environment: without this, such a library runs as
  // it comes, which for OpenBLAS before 0.3.24 may be slow.
  std::function<void(const char* name, const char* value)> set_variable;
  bool avx512 = false;  // the processor has it, which an older library may not see
};

// Loads every library of that name that is found and takes the newest; all stay loaded for the rest
// of the process.
// Errors: invalid_argument for an unknown name; not_found when the library is not installed (the
// text says how to get it); unsupported when each that was found lacks something (named in the
// text), e.g. another library that it needs, or when there is no device for it.
Result<Rival> load_rival(std::string_view name, const RivalOptions& options);

// "/a/b:c" as two folders. Empty parts do not count.
std::vector<std::filesystem::path> split_folders(std::string_view text);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_RIVALS_H_
