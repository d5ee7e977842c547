#include "ops/matmul/rivals.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "fmt/format.h"

namespace rooftune {
namespace {

// --- The libraries' own interfaces -----------------------------------------------------------

enum CblasOrder : int { kRowMajor = 101 };
enum CblasTranspose : int { kNoTranspose = 111, kTranspose = 112 };

template <class T>
using CblasGemm = void (*)(CblasOrder, CblasTranspose, CblasTranspose, int m, int n, int k, T alpha,
                           const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);
template <class T>
using CblasGemmBatchStrided = void (*)(CblasOrder, CblasTranspose, CblasTranspose, int m, int n,
                                       int k, T alpha, const T* a, int lda, int stride_a,
                                       const T* b, int ldb, int stride_b, T beta, T* c, int ldc,
                                       int stride_c, int batch);
// Row-major, in spite of its letters.
using DnnlSgemm = int (*)(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k,
                          float alpha, const float* a, std::int64_t lda, const float* b,
                          std::int64_t ldb, float beta, float* c, std::int64_t ldc);
struct DnnlVersion {
  int major, minor, patch;
};

// --- Loading ---------------------------------------------------------------------------------

struct Known {
  std::string_view name;
  const char* package;  // of Debian
  std::vector<const char*> files;
};

const std::array<Known, 4>& known_rivals() {
  static const std::array<Known, 4> all = {{
      // The plain name may be the build without threads; Debian keeps each in a folder of its own.
      {"openblas",
       "libopenblas0-pthread",
       {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0",
        "libopenblas.so"}},
      {"blis",
       "libblis4-pthread",
       {"/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4",
        "/usr/lib/aarch64-linux-gnu/blis-pthread/libblis.so.4", "libblis.so.4", "libblis.so"}},
      {"onednn", "libdnnl2", {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}},
      {"mkl", "libmkl-rt (non-free)", {"libmkl_rt.so.2", "libmkl_rt.so"}},
  }};
  return all;
}

// Never unloaded: such libraries own threads, and some of them crash when their code goes away.
class Library {
 public:
  static Result<Library> load(const Known& known) {
    for (const char* file : known.files) {
      if (void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    }
    return fail(ErrorKind::not_found,
                fmt::format("{} is not installed; on Debian: apt-get install {}", known.name,
                            known.package));
  }

  // Also finds functions of the libraries that this one needs.
  template <class F>
  F find(const char* symbol) const {
    return reinterpret_cast<F>(::dlsym(handle_, symbol));
  }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

std::unexpected<Error> lacks(std::string_view name, const char* symbol) {
  return fail(ErrorKind::unsupported,
              fmt::format("the {} that is installed has no {}", name, symbol));
}

// --- Running ---------------------------------------------------------------------------------

// Operands of a whole product in BLAS terms.
struct BlasCall {
  BlasMatrix a, b, c;
};

Result<BlasCall> blas_call(const GemmArgs& args, std::int64_t largest) {
  const auto refuse = [](const char* what) { return fail(ErrorKind::unsupported, what); };
  const auto a = blas_matrix(args.m, args.k, args.a_row, args.a_col);
  const auto b = blas_matrix(args.k, args.n, args.b_row, args.b_col);
  const auto c = blas_matrix(args.m, args.n, args.c_row, args.c_col);
  if (!a || !b || !c || c->transposed) return refuse("strides that BLAS cannot express");
  for (const std::int64_t size : {args.m, args.n, args.k, a->leading, b->leading, c->leading}) {
    if (size > largest) return refuse("sizes beyond 32 bits");
  }
  return BlasCall{*a, *b, *c};
}

template <class T>
struct Matrices {
  const T* a;
  const T* b;
  T* c;
};

// Calls `run` for the three matrices of every batch index, last axis fastest.
template <class T, class Run>
Status for_each_matrix(const GemmArgs& args, Run run) {
  std::array<std::int64_t, kMaxBatchAxes> index{};
  for (std::int64_t i = 0; i < args.batch; ++i) {
    Matrices<T> at{static_cast<const T*>(args.a), static_cast<const T*>(args.b),
                   static_cast<T*>(args.c)};
    for (int axis = 0; axis < args.batch_rank; ++axis) {
      at.a += index[axis] * args.a_batch[axis];
      at.b += index[axis] * args.b_batch[axis];
      at.c += index[axis] * args.c_batch[axis];
    }
    if (Status done = run(at); !done) return done;
    for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
      if (++index[axis] < args.batch_extent[axis]) break;
      index[axis] = 0;
    }
  }
  return {};
}

CblasTranspose cblas(const BlasMatrix& matrix) {
  return matrix.transposed ? kTranspose : kNoTranspose;
}

template <class T>
Status run_cblas(const GemmArgs& args, CblasGemm<T> gemm, CblasGemmBatchStrided<T> gemm_batch) {
  const auto call = blas_call(args, INT_MAX);
  if (!call) return std::unexpected(call.error());
  const auto m = static_cast<int>(args.m), n = static_cast<int>(args.n),
             k = static_cast<int>(args.k), lda = static_cast<int>(call->a.leading),
             ldb = static_cast<int>(call->b.leading), ldc = static_cast<int>(call->c.leading);
  const auto alpha = static_cast<T>(args.alpha), beta = static_cast<T>(args.beta);
  const auto fits = [](std::int64_t stride) { return stride >= 0 && stride <= INT_MAX; };
  if (gemm_batch != nullptr && args.batch_rank == 1 && fits(args.batch) && fits(args.a_batch[0]) &&
      fits(args.b_batch[0]) && fits(args.c_batch[0])) {
    gemm_batch(kRowMajor, cblas(call->a), cblas(call->b), m, n, k, alpha,
               static_cast<const T*>(args.a), lda, static_cast<int>(args.a_batch[0]),
               static_cast<const T*>(args.b), ldb, static_cast<int>(args.b_batch[0]), beta,
               static_cast<T*>(args.c), ldc, static_cast<int>(args.c_batch[0]),
               static_cast<int>(args.batch));
    return {};
  }
  return for_each_matrix<T>(args, [&](const Matrices<T>& at) -> Status {
    gemm(kRowMajor, cblas(call->a), cblas(call->b), m, n, k, alpha, at.a, lda, at.b, ldb, beta,
         at.c, ldc);
    return {};
  });
}

Status run_dnnl(const GemmArgs& args, DnnlSgemm sgemm) {
  if (args.a_type != DType::f32) {
    return fail(ErrorKind::unsupported, fmt::format("no product of {}", to_string(args.a_type)));
  }
  const auto call = blas_call(args, INT64_MAX);
  if (!call) return std::unexpected(call.error());
  const auto letter = [](const BlasMatrix& matrix) { return matrix.transposed ? 'T' : 'N'; };
  return for_each_matrix<float>(args, [&](const Matrices<float>& at) -> Status {
    const int status = sgemm(letter(call->a), letter(call->b), args.m, args.n, args.k,
                             static_cast<float>(args.alpha), at.a, call->a.leading, at.b,
                             call->b.leading, static_cast<float>(args.beta), at.c, call->c.leading);
    if (status == 0) return {};
    return fail(ErrorKind::launch_failed, fmt::format("dnnl_sgemm gave status {}", status));
  });
}

// --- One by one ------------------------------------------------------------------------------

Result<Rival> with_cblas(const Library& library, std::string_view name, std::string version,
                         bool has_batches) {
  const auto sgemm = library.find<CblasGemm<float>>("cblas_sgemm");
  const auto dgemm = library.find<CblasGemm<double>>("cblas_dgemm");
  if (sgemm == nullptr || dgemm == nullptr) return lacks(name, "cblas_sgemm and cblas_dgemm");
  CblasGemmBatchStrided<float> sgemm_batch = nullptr;
  CblasGemmBatchStrided<double> dgemm_batch = nullptr;
  if (has_batches) {
    sgemm_batch = library.find<CblasGemmBatchStrided<float>>("cblas_sgemm_batch_strided");
    dgemm_batch = library.find<CblasGemmBatchStrided<double>>("cblas_dgemm_batch_strided");
  }
  const auto run = [=](const GemmArgs& args) -> Status {
    switch (args.a_type) {
      case DType::f32:
        return run_cblas<float>(args, sgemm, sgemm_batch);
      case DType::f64:
        return run_cblas<double>(args, dgemm, dgemm_batch);
      default:
        return fail(ErrorKind::unsupported,
                    fmt::format("no product of {}", to_string(args.a_type)));
    }
  };
  return Rival{std::string(name), std::move(version), run};
}

Result<Rival> load_openblas(const Library& library, int threads) {
  const auto set_threads = library.find<void (*)(int)>("openblas_set_num_threads");
  if (set_threads == nullptr) return lacks("openblas", "openblas_set_num_threads");
  set_threads(threads);
  std::string version = "OpenBLAS";
  if (const auto config = library.find<const char* (*)()>("openblas_get_config")) {
    // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": name and number.
    const std::string_view text = config();
    version = text.substr(0, text.find(' ', std::min(text.size(), text.find(' ') + 1)));
  }
  if (const auto core = library.find<const char* (*)()>("openblas_get_corename")) {
    version += fmt::format(" ({})", core());
  }
  return with_cblas(library, "openblas", std::move(version), false);
}

Result<Rival> load_blis(const Library& library, int threads) {
  const auto set_threads = library.find<void (*)(std::int64_t)>("bli_thread_set_num_threads");
  if (set_threads == nullptr) return lacks("blis", "bli_thread_set_num_threads");
  set_threads(threads);
  std::string version = "BLIS";
  if (const auto text = library.find<const char* (*)()>("bli_info_get_version_str")) {
    version += fmt::format(" {}", text());
  }
  return with_cblas(library, "blis", std::move(version), false);
}

Result<Rival> load_onednn(const Library& library, int threads) {
  const auto sgemm = library.find<DnnlSgemm>("dnnl_sgemm");
  if (sgemm == nullptr) return lacks("onednn", "dnnl_sgemm");
  std::string version = "oneDNN";
  if (const auto get = library.find<const DnnlVersion* (*)()>("dnnl_version")) {
    const DnnlVersion* v = get();
    version += fmt::format(" {}.{}.{}", v->major, v->minor, v->patch);
  }
  // Its threads are OpenMP's, whose functions come with it.
  const auto set_threads = library.find<void (*)(int)>("omp_set_num_threads");
  if (set_threads != nullptr) {
    set_threads(threads);
  } else {
    version += " (threads as built)";
  }
  return Rival{"onednn", std::move(version),
               [sgemm](const GemmArgs& args) { return run_dnnl(args, sgemm); }};
}

Result<Rival> load_mkl(const Library& library, int threads) {
  // Intel's own OpenMP is its first choice, and it ends the process when that is missing.
  constexpr int kGnuThreads = 3;
  if (::dlopen("libiomp5.so", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    if (const auto layer = library.find<int (*)(int)>("MKL_Set_Threading_Layer")) {
      layer(kGnuThreads);
    }
  }
  const auto set_threads = library.find<void (*)(int)>("MKL_Set_Num_Threads");
  if (set_threads == nullptr) return lacks("mkl", "MKL_Set_Num_Threads");
  set_threads(threads);
  std::string version = "MKL";
  if (const auto get = library.find<void (*)(char*, int)>("MKL_Get_Version_String")) {
    std::array<char, 200> text{};
    get(text.data(), static_cast<int>(text.size()) - 1);
    version = text.data();
    version.resize(version.find_last_not_of(' ') + 1);
  }
  return with_cblas(library, "mkl", std::move(version), true);
}

}  // namespace

std::span<const std::string_view> rival_names() {
  static const std::array<std::string_view, 4> names = [] {
    std::array<std::string_view, 4> all;
    std::transform(known_rivals().begin(), known_rivals().end(), all.begin(),
                   [](const Known& known) { return known.name; });
    return all;
  }();
  return names;
}

Result<Rival> load_rival(std::string_view name, int threads) {
  const auto known = std::find_if(known_rivals().begin(), known_rivals().end(),
                                  [&](const Known& rival) { return rival.name == name; });
  if (known == known_rivals().end()) {
    return fail(ErrorKind::invalid_argument,
                fmt::format("unknown library {}; there are {}{}", in_quotes(name),
                            list_in_quotes(rival_names()), did_you_mean(name, rival_names())));
  }
  const auto library = Library::load(*known);
  if (!library) return std::unexpected(library.error());
  if (name == "openblas") return load_openblas(*library, threads);
  if (name == "blis") return load_blis(*library, threads);
  if (name == "onednn") return load_onednn(*library, threads);
  return load_mkl(*library, threads);
}

std::optional<BlasMatrix> blas_matrix(std::int64_t rows, std::int64_t columns,
                                      std::int64_t row_stride, std::int64_t column_stride) {
  if (rows == 1) row_stride = std::max<std::int64_t>(columns, 1);
  if (columns == 1) column_stride = 1;
  if (column_stride == 1 && row_stride >= std::max<std::int64_t>(columns, 1)) {
    return BlasMatrix{false, row_stride};
  }
  if (rows == 1) row_stride = 1;
  if (columns == 1) column_stride = std::max<std::int64_t>(rows, 1);
  if (row_stride == 1 && column_stride >= std::max<std::int64_t>(rows, 1)) {
    return BlasMatrix{true, column_stride};
  }
  return std::nullopt;
}

}  // namespace rooftune
