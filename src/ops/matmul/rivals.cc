#include "ops/matmul/rivals.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "fmt/format.h"
#include "ops/matmul/rivals/cblas.h"
#include "ops/matmul/rivals/cublaslt.h"
#include "ops/matmul/rivals/cublaslt_api.h"
#include "ops/matmul/rivals/library.h"
#include "ops/matmul/rivals/onednn.h"
#include "ops/matmul/rivals/onednn_api.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;
using rivals::CblasDialect;
using rivals::FileNames;
using rivals::Library;
using rivals::Version;
using rivals::version_in;

// A library that was loaded and asked for its version, but not yet told anything.
struct Found {
  Library library;
  Version number;
  std::string version;   // with the name
  CblasDialect dialect;  // of those that have the interface of BLAS
};

// What is known of each rival.
struct Known {
  std::string_view name;
  std::string_view runtime;  // of the devices that it works on
  std::string_view how_to_get;
  FileNames files;
  Result<Found> (*identify)(Library library);
  Status (*start)(Rival& rival, const Found& found, const RivalOptions& options);
};

std::unexpected<Error> lacks(const Library& library, std::string_view symbol) {
  return fail(ErrorKind::unsupported, fmt::format("{} has no {}", library.file(), symbol));
}

// --- OpenBLAS --------------------------------------------------------------------------------

Result<Found> identify_openblas(Library library) {
  // Builds with 64-bit integers have a suffix, those of PyPI a prefix, so that they can live in one
  // process with others.
  for (const auto& [prefix, suffix] : {std::pair("", ""), std::pair("scipy_", ""),
                                       std::pair("scipy_", "64_"), std::pair("", "64_")}) {
    CblasDialect dialect{prefix, suffix, *suffix != '\0', true};
    if (library.find<void*>(dialect("cblas_sgemm")) == nullptr) continue;
    std::string_view config;
    if (const auto get = library.find<const char* (*)()>(dialect("openblas_get_config"))) {
      config = get();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    }
    dialect.wide = dialect.wide || config.find("USE64BITINT") != std::string_view::npos;
    const Version number =
        version_in(config.empty() ? library.real_file().filename().string() : config);
    std::string version = fmt::format("OpenBLAS {}", fmt::join(number.numbers, "."));
    if (const auto core = library.find<const char* (*)()>(dialect("openblas_get_corename"))) {
      version += fmt::format(" ({})", core());
    }
    return Found{std::move(library), number, std::move(version), std::move(dialect)};
  }
  return lacks(library, "cblas_sgemm");
}

Status start_openblas(Rival& rival, const Found& found, const RivalOptions& options) {
  const std::string name = found.dialect("openblas_set_num_threads");
  const auto set_threads = found.library.find<void (*)(int)>(name);
  if (set_threads == nullptr) return lacks(found.library, name);
  set_threads(options.threads);
  return rivals::add_cblas_products(rival, found.library, found.dialect);
}

// --- BLIS ------------------------------------------------------------------------------------

Result<Found> identify_blis(Library library) {
  std::string text = library.real_file().filename().string();
  if (const auto get = library.find<const char* (*)()>("bli_info_get_version_str")) text = get();
  CblasDialect dialect;
  if (const auto bits = library.find<std::int64_t (*)()>("bli_info_get_blas_int_type_size")) {
    dialect.wide = bits() == 64;
  }
  const Version number = version_in(text);
  return Found{std::move(library), number, "BLIS " + text, std::move(dialect)};
}

Status start_blis(Rival& rival, const Found& found, const RivalOptions& options) {
  const auto set_threads = found.library.find<void (*)(std::int64_t)>("bli_thread_set_num_threads");
  if (set_threads == nullptr) return lacks(found.library, "bli_thread_set_num_threads");
  set_threads(options.threads);
  return rivals::add_cblas_products(rival, found.library, found.dialect);
}

// --- oneDNN ----------------------------------------------------------------------------------

Result<Found> identify_onednn(Library library) {
  const auto get = library.find<const rivals::DnnlVersion* (*)()>("dnnl_version");
  if (get == nullptr) return lacks(library, "dnnl_version");
  const rivals::DnnlVersion* version = get();
  const Version number{{version->major, version->minor, version->patch}};
  return Found{
      std::move(library), number, fmt::format("oneDNN {}", fmt::join(number.numbers, ".")), {}};
}

Status start_onednn(Rival& rival, const Found& found, const RivalOptions& options) {
  return rivals::add_onednn_products(rival, found.library, options.threads);
}

// --- MKL -------------------------------------------------------------------------------------

// The folder that the loader took the library from.
fs::path folder_of(const Library& library, const char* symbol) {
  Dl_info info{};
  if (::dladdr(library.find<void*>(symbol), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path();
}

bool has_file_named(const fs::path& folder, std::string_view start) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (at->path().filename().string().starts_with(start)) return true;
  }
  return false;
}

Result<Found> identify_mkl(Library library) {
  // libmkl_rt loads the others at its first call, and ends the process when they are not there.
  const fs::path folder = folder_of(library, "MKL_Get_Version");
  for (const std::string_view part :
       {"libmkl_core.so", "libmkl_intel_lp64.so", "libmkl_intel_thread.so", "libmkl_def.so"}) {
    if (!has_file_named(folder, part)) {
      return fail(ErrorKind::unsupported,
                  fmt::format("{} has no {} beside it", library.file(), part));
    }
  }
  struct MklVersion {
    int major, minor, update;
    const char *status, *build, *processor, *platform;
  };
  const auto get = library.find<void (*)(MklVersion*)>("MKL_Get_Version");
  if (get == nullptr) return lacks(library, "MKL_Get_Version");
  MklVersion version{};
  get(&version);
  const Version number{{version.major, version.minor, version.update}};
  std::string text = fmt::format("MKL {}", fmt::join(number.numbers, "."));
  if (version.processor != nullptr) text += fmt::format(" ({})", version.processor);
  return Found{std::move(library), number, std::move(text), {"", "", false, true}};
}

Status start_mkl(Rival& rival, const Found& found, const RivalOptions& options) {
  constexpr int kIntelThreads = 0, kOneThread = 1, kGnuThreads = 3, kLp64 = 0;
  const Library& library = found.library;
  if (const auto set = library.find<int (*)(int)>("MKL_Set_Interface_Layer")) set(kLp64);
  // Intel's own OpenMP is its first choice, and it ends the process when that is missing.
  const auto loads = [&](const std::string& file) {
    return Library::load(file, options.folders).has_value();
  };
  const fs::path folder = folder_of(library, "MKL_Get_Version");
  const auto find_intel_openmp = [&] {
    constexpr const char* kName = "libiomp5.so";
    if (loads(kName) || loads((folder / kName).string())) return true;
    const auto files = rivals::files_of({{kName}, {}}, options.folders);
    return std::any_of(files.begin(), files.end(), loads);
  };
  if (const auto set = library.find<int (*)(int)>("MKL_Set_Threading_Layer")) {
    if (find_intel_openmp()) {
      set(kIntelThreads);
    } else if (has_file_named(folder, "libmkl_gnu_thread.so") && loads("libgomp.so.1")) {
      set(kGnuThreads);
    } else if (has_file_named(folder, "libmkl_sequential.so")) {
      set(kOneThread);
      rival.version += " (one thread: there is no OpenMP)";
    } else {
      return fail(ErrorKind::unsupported,
                  library.file() + " needs an OpenMP: libiomp5.so or libgomp.so.1");
    }
  }
  const auto set_threads = library.find<void (*)(int)>("MKL_Set_Num_Threads");
  if (set_threads == nullptr) return lacks(library, "MKL_Set_Num_Threads");
  // Left to itself it takes no more than one thread of a core.
  if (const auto set = library.find<void (*)(int)>("MKL_Set_Dynamic")) set(0);
  set_threads(options.threads);
  return rivals::add_cblas_products(rival, library, found.dialect);
}

// --- cuBLASLt --------------------------------------------------------------------------------

Result<Found> identify_cublaslt(Library library) {
  const auto api = rivals::LtApi::find_in(library);
  if (!api) return std::unexpected(api.error());
  const int all = static_cast<int>(api->version());  // 130100
  const Version number{{all / 10000, all / 100 % 100, all % 100}};
  return Found{
      std::move(library), number, fmt::format("cuBLASLt {}", fmt::join(number.numbers, ".")), {}};
}

Status start_cublaslt(Rival& rival, const Found& found, const RivalOptions& options) {
  return rivals::add_cublaslt_products(rival, found.library, options.client);
}

// --- All of them -----------------------------------------------------------------------------

const std::array<Known, 5>& known_rivals() {
  static const std::array<Known, 5> all = {{
      // The plain name may be the build without threads; Debian keeps each in a folder of its own.
      {"openblas",
       "cpu",
       "on Debian: apt-get install libopenblas0-pthread; of PyPI: scipy-openblas64",
       {{"libopenblas", "libscipy_openblas"},
        {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
         "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
         "/usr/local/lib/libopenblas.so.0", "libopenblas.so.0", "libopenblas.so"}},
       identify_openblas,
       start_openblas},
      {"blis",
       "cpu",
       "on Debian: apt-get install libblis4-pthread",
       {{"libblis.so", "libblis-mt.so"},
        {"/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4",
         "/usr/lib/aarch64-linux-gnu/blis-pthread/libblis.so.4", "/usr/local/lib/libblis.so.4",
         "libblis.so.4", "libblis.so"}},
       identify_blis,
       start_blis},
      {"onednn",
       "cpu",
       "on Debian: apt-get install libdnnl2; of PyPI: onednn-cpu-gomp",
       {{"libdnnl.so"},
        {"/usr/local/lib/libdnnl.so.3", "/opt/intel/oneapi/dnnl/latest/lib/libdnnl.so.3",
         "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}},
       identify_onednn,
       start_onednn},
      {"mkl",
       "cpu",
       "of PyPI: mkl and intel-openmp; on Debian: libmkl-rt (non-free)",
       {{"libmkl_rt.so"},
        {"/usr/local/lib/libmkl_rt.so.3", "/usr/local/lib/libmkl_rt.so.2",
         "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.3",
         "/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so.2",
         "libmkl_rt.so"}},
       identify_mkl,
       start_mkl},
      {"cublaslt",
       "cuda",
       "a part of the CUDA toolkit; of PyPI: nvidia-cublas",
       {{"libcublasLt.so"},
        {"/usr/local/cuda/lib64/libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.12",
         "libcublasLt.so.13", "libcublasLt.so.12"}},
       identify_cublaslt,
       start_cublaslt},
  }};
  return all;
}

// Before this version OpenBLAS takes AVX-512 processors that it does not know by name for something
// far older, and runs at a seventh of their speed.
constexpr Version kOpenblasSeesAvx512{{0, 3, 24}};

// Variables that are set while this lives.
class Variables {
 public:
  explicit Variables(const RivalOptions& options) : set_(options.set_variable) {}
  ~Variables() {
    for (const char* name : names_) set_(name, nullptr);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

  void set(const char* name, const char* value) {
    if (!set_) return;
    set_(name, value);
    names_.push_back(name);
  }

 private:
  const std::function<void(const char*, const char*)>& set_;
  std::vector<const char*> names_;
};

Result<Library> load(const Known& known, const std::string& file, const RivalOptions& options) {
  Variables variables(options);
  if (known.name == "openblas" && options.avx512) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    const std::string name = error ? file : real.filename().string();
    if (!name.starts_with("libscipy_") && version_in(name) < kOpenblasSeesAvx512) {
      variables.set("OPENBLAS_CORETYPE", "SkylakeX");
    }
  }
  return Library::load(file, options.folders);
}

// Builds of oneDNN for SYCL run on the processor by OpenCL, whose loader is told of a driver that
// is not installed in the system by one of these, as its kind is.
void show_opencl_driver(Variables& variables, const RivalOptions& options) {
  const auto drivers = rivals::files_of({{"libintelocl.so"}, {}}, options.folders);
  if (drivers.empty()) return;
  variables.set("OCL_ICD_VENDORS", drivers.front().c_str());
  variables.set("OCL_ICD_FILENAMES", drivers.front().c_str());
}

// All that can be loaded and identified, the newest first; of equals the first that was found.
std::vector<Found> find_all(const Known& known, const RivalOptions& options,
                            std::vector<Error>& errors) {
  std::vector<Found> all;
  for (const std::string& file : rivals::files_of(known.files, options.folders)) {
    auto library = load(known, file, options);
    if (!library) {
      // A name that the loader does not know is no more than a library that is not there.
      if (file.find('/') != std::string::npos) errors.push_back(library.error());
      continue;
    }
    if (std::any_of(all.begin(), all.end(),
                    [&](const Found& other) { return other.library == *library; })) {
      continue;
    }
    auto found = known.identify(*std::move(library));
    if (found) {
      all.push_back(*std::move(found));
    } else {
      errors.push_back(found.error());
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Found& x, const Found& y) { return x.number > y.number; });
  return all;
}

}  // namespace

std::span<const std::string_view> rival_names() {
  static const std::array<std::string_view, 5> names = [] {
    std::array<std::string_view, 5> all;
    std::transform(known_rivals().begin(), known_rivals().end(), all.begin(),
                   [](const Known& known) { return known.name; });
    return all;
  }();
  return names;
}

std::string_view runtime_of_rival(std::string_view name) {
  for (const Known& known : known_rivals()) {
    if (known.name == name) return known.runtime;
  }
  return {};
}

Result<Rival> load_rival(std::string_view name, const RivalOptions& options) {
  const auto known = std::find_if(known_rivals().begin(), known_rivals().end(),
                                  [&](const Known& rival) { return rival.name == name; });
  if (known == known_rivals().end()) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("unknown library {}; there are {}{}", in_quotes(name),
                            list_in_quotes(rival_names()), did_you_mean(name, rival_names())));
  }
  Variables variables(options);
  if (name == "onednn") show_opencl_driver(variables, options);
  std::vector<Error> errors;
  const std::vector<Found> all = find_all(*known, options, errors);
  std::optional<Rival> taken;
  std::vector<std::string> passed_over;
  for (const Found& found : all) {
    if (taken) {
      passed_over.push_back(
          fmt::format("{} of {} is not newer", found.version, found.library.file()));
      continue;
    }
    Rival rival{std::string(name), found.version, found.library.file(), {}, {}, {}, {}};
    if (Status started = known->start(rival, found, options); started) {
      taken = std::move(rival);
    } else {
      errors.push_back(started.error());
    }
  }
  if (!taken) {
    std::string text = fmt::format("{} is not installed; {}", name, known->how_to_get);
    if (!errors.empty()) text = fmt::format("no {} that was found can be used", name);
    for (const Error& error : errors) text += "; " + error.text;
    return fail(errors.empty() ? ErrorKind::not_found : ErrorKind::unsupported, std::move(text));
  }
  for (const Error& error : errors) passed_over.push_back(error.text);
  taken->passed_over = std::move(passed_over);
  return *std::move(taken);
}

std::vector<fs::path> split_folders(std::string_view text) {
  std::vector<fs::path> folders;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(':'));
    if (!part.empty()) folders.emplace_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return folders;
}

}  // namespace rooftune
