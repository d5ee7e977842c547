#include "ops/matmul/rivals/onednn.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ops/matmul/rivals/blas_matrix.h"
#include "ops/matmul/rivals/onednn_api.h"

namespace rooftune::rivals {
namespace {

std::optional<int> dnnl_type(DType type) {
  switch (type) {
    case DType::f32:
      return kDnnlF32;
    case DType::f64:
      return kDnnlF64;
    case DType::bf16:
      return kDnnlBf16;
    case DType::f16:
      return kDnnlF16;
    case DType::i32:
      return kDnnlS32;
    case DType::i8:
      return kDnnlS8;
    case DType::u8:
      return kDnnlU8;
    case DType::f8e4m3:
    case DType::f8e5m2:
      break;
  }
  return std::nullopt;
}

struct Types {
  DType a, b, c;
};
constexpr std::array kTypes = {
    Types{DType::f32, DType::f32, DType::f32},   Types{DType::f64, DType::f64, DType::f64},
    Types{DType::bf16, DType::bf16, DType::f32}, Types{DType::bf16, DType::bf16, DType::bf16},
    Types{DType::f16, DType::f16, DType::f32},   Types{DType::f16, DType::f16, DType::f16},
    Types{DType::i8, DType::i8, DType::i32},     Types{DType::u8, DType::i8, DType::i32},
    Types{DType::i8, DType::u8, DType::i32},     Types{DType::u8, DType::u8, DType::i32},
};

// --- Shapes ----------------------------------------------------------------------------------

// Everything that a primitive is made for.
struct Shape {
  DnnlTensor a, b, c;
  bool operator==(const Shape& other) const {
    const auto same = [](const DnnlTensor& x, const DnnlTensor& y) {
      return x.type == y.type && x.axes == y.axes && x.extents == y.extents &&
             x.strides == y.strides;
    };
    return same(a, other.a) && same(b, other.b) && same(c, other.c);
  }
};

DnnlTensor tensor(const GemmArgs& args, DType type, std::int64_t rows, std::int64_t columns,
                  const BlasMatrix& matrix,
                  const std::array<std::int64_t, kMaxBatchAxes>& batch_strides) {
  DnnlTensor made;
  made.type = dnnl_type(type).value_or(kDnnlF32);
  made.axes = args.batch_rank + 2;
  const auto row = static_cast<std::size_t>(args.batch_rank), column = row + 1;
  made.extents[row] = rows;
  made.extents[column] = columns;
  made.strides[row] = matrix.transposed ? 1 : matrix.leading;
  made.strides[column] = matrix.transposed ? matrix.leading : 1;
  // An axis of one element, which is how oneDNN writes a broadcast one, has a stride that nobody
  // uses, but some kernels look at it: the one that it has in a dense tensor.
  std::int64_t dense = matrix.leading * (matrix.transposed ? columns : rows);
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    const auto x = static_cast<std::size_t>(axis);
    const bool broadcast = batch_strides[x] == 0;
    made.extents[x] = broadcast ? 1 : args.batch_extent[x];
    made.strides[x] = made.extents[x] == 1 ? dense : batch_strides[x];
    dense = made.extents[x] * made.strides[x];
  }
  return made;
}

// --- OpenMP ----------------------------------------------------------------------------------

// The number of threads that OpenMP takes belongs to the calling thread; the caller's own use of
// OpenMP must not notice.
class ThreadCount {
 public:
  ThreadCount(int (*get)(), void (*set)(int), int threads) : set_(get != nullptr ? set : nullptr) {
    if (set_ == nullptr) return;
    before_ = get();
    if (before_ != threads) {
      set_(threads);
    } else {
      set_ = nullptr;
    }
  }
  ~ThreadCount() {
    if (set_ != nullptr) set_(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  void (*set_)(int);
  int before_ = 1;
};

// --- Products --------------------------------------------------------------------------------

class Products {
 public:
  Products(DnnlApi api, DnnlEngine engine, const Library& library, int threads)
      : api_(api), engine_(engine), threads_(threads) {
    get_threads_ = library.find<int (*)()>("omp_get_max_threads");
    set_threads_ = library.find<void (*)(int)>("omp_set_num_threads");
    const ThreadCount count(get_threads_, set_threads_, threads_);
    for (const Types& types : kTypes) {
      if (can_multiply(types)) types_.push_back(types);
    }
  }
  ~Products() {
    for (const Prepared& prepared : waiting_) destroy(prepared);
    api_.engine_destroy(engine_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  bool has_openmp() const { return set_threads_ != nullptr; }

  const char* unsupported(const GemmArgs& args) const {
    return unsupported_by_rows(with_output_by_rows(args));
  }

  Status run(const GemmArgs& original) {
    const GemmArgs args = with_output_by_rows(original);
    if (const char* why = unsupported_by_rows(args)) return fail(ErrorKind::unsupported, why);
    const BlasCall call = *blas_call(args);
    const ThreadCount count(get_threads_, set_threads_, threads_);
    if (is_scaled(args)) return run_sgemm(args, call);
    const Shape shape{tensor(args, args.a_type, args.m, args.k, call.a, args.a_batch),
                      tensor(args, args.b_type, args.k, args.n, call.b, args.b_batch),
                      tensor(args, args.c_type, args.m, args.n, call.c, args.c_batch)};
    auto prepared = take(shape);
    if (!prepared) return std::unexpected(prepared.error());
    Status done = execute(prepared->front(), args);
    give_back(*std::move(prepared));
    return done;
  }

 private:
  // A primitive with memory objects of its own, used by one call at a time.
  struct Prepared {
    Shape shape;
    DnnlApi::Matmul matmul;
    DnnlStream stream = nullptr;
  };
  using PreparedList = std::list<Prepared>;
  // Some shapes in turn, as a benchmark or a network has them, and a copy for each of a few
  // threads.
  static constexpr std::size_t kMostPrepared = 128;

  static bool is_scaled(const GemmArgs& args) { return args.alpha != 1 || args.beta != 0; }

  bool can_multiply(const Types& types) const {
    const auto square = [](DType type) {
      constexpr std::int64_t kSize = 64;  // one that no special case of small sizes takes
      DnnlTensor made;
      made.type = dnnl_type(type).value_or(kDnnlF32);
      made.axes = 2;
      made.extents[0] = made.extents[1] = made.strides[0] = kSize;
      made.strides[1] = 1;
      return made;
    };
    DnnlApi::Matmul matmul;
    if (api_.make_matmul(engine_, square(types.a), square(types.b), square(types.c), matmul) !=
        kDnnlSuccess) {
      return false;
    }
    api_.destroy(matmul);
    return true;
  }

  const char* unsupported_by_rows(const GemmArgs& args) const {
    if (std::none_of(types_.begin(), types_.end(), [&](const Types& types) {
          return types.a == args.a_type && types.b == args.b_type && types.c == args.c_type;
        })) {
      return "it has no fast product of these types on this processor";
    }
    if (!blas_call(args)) return "it has no fast product for these strides";
    for (int axis = 0; axis < args.batch_rank; ++axis) {
      const auto x = static_cast<std::size_t>(axis);
      const std::int64_t a = args.a_batch[x], b = args.b_batch[x], c = args.c_batch[x];
      if (a < 0 || b < 0 || c < 0) return "it has no negative strides";
      if (a == 0 && b == 0 && args.batch_extent[x] > 1) {
        return "it has no batch axis that both operands are repeated along";
      }
    }
    if (!is_scaled(args)) return nullptr;
    if (args.c_type != DType::f32 || args.a_type != DType::f32 || api_.sgemm == nullptr) {
      return "of these types it is called with alpha = 1 and beta = 0 only";
    }
    return args.batch == 1 ? nullptr : "of batches it is called with alpha = 1 and beta = 0 only";
  }

  Status run_sgemm(const GemmArgs& args, const BlasCall& call) const {
    const auto letter = [](const BlasMatrix& matrix) { return matrix.transposed ? 'T' : 'N'; };
    const int status = api_.sgemm(
        letter(call.a), letter(call.b), args.m, args.n, args.k, static_cast<float>(args.alpha),
        static_cast<const float*>(args.a), call.a.leading, static_cast<const float*>(args.b),
        call.b.leading, static_cast<float>(args.beta), static_cast<float*>(args.c), call.c.leading);
    if (status == kDnnlSuccess) return {};
    return fail(ErrorKind::launch_failed, fmt::format("dnnl_sgemm gave status {}", status));
  }

  // Removes a primitive of that shape from those that wait, or makes one: then no other call has
  // it.
  Result<PreparedList> take(const Shape& shape) {
    PreparedList one;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                      [&](const Prepared& other) { return other.shape == shape; });
      if (found != waiting_.end()) {
        one.splice(one.begin(), waiting_, found);
        return one;
      }
    }
    Prepared& prepared = one.emplace_front();
    prepared.shape = shape;
    int status = api_.make_matmul(engine_, shape.a, shape.b, shape.c, prepared.matmul);
    if (status == kDnnlSuccess) {
      status = api_.stream_create(&prepared.stream, engine_, kDnnlInOrder);
    }
    if (status == kDnnlSuccess) return one;
    api_.destroy(prepared.matmul);
    if (status == kDnnlUnimplemented) {
      return fail(ErrorKind::unsupported, "it has no fast product of this shape");
    }
    return fail(ErrorKind::launch_failed, fmt::format("making a primitive gave status {}", status));
  }

  void give_back(PreparedList one) {
    PreparedList oldest;
    {
      const std::lock_guard lock(mutex_);
      waiting_.splice(waiting_.begin(), one);
      if (waiting_.size() > kMostPrepared) {
        oldest.splice(oldest.begin(), waiting_, std::prev(waiting_.end()));
      }
    }
    for (const Prepared& prepared : oldest) destroy(prepared);
  }

  void destroy(const Prepared& prepared) const {
    api_.stream_destroy(prepared.stream);
    api_.destroy(prepared.matmul);
  }

  Status execute(const Prepared& prepared, const GemmArgs& args) const {
    const DnnlApi::Matmul& matmul = prepared.matmul;
    int status = api_.memory_set(matmul.a, const_cast<void*>(args.a));
    if (status == kDnnlSuccess) status = api_.memory_set(matmul.b, const_cast<void*>(args.b));
    if (status == kDnnlSuccess) status = api_.memory_set(matmul.c, args.c);
    if (status == kDnnlSuccess) {
      const std::array<DnnlExecArgument, 3> arguments = {
          {{kDnnlSource, matmul.a}, {kDnnlWeights, matmul.b}, {kDnnlDestination, matmul.c}}};
      status = api_.execute(matmul.primitive, prepared.stream, static_cast<int>(arguments.size()),
                            arguments.data());
    }
    if (status == kDnnlSuccess) status = api_.stream_wait(prepared.stream);
    if (status == kDnnlSuccess) return {};
    return fail(ErrorKind::launch_failed, fmt::format("the primitive gave status {}", status));
  }

  const DnnlApi api_;
  const DnnlEngine engine_;
  const int threads_;
  int (*get_threads_)() = nullptr;
  void (*set_threads_)(int) = nullptr;
  std::vector<Types> types_;
  std::mutex mutex_;
  PreparedList waiting_;  // the last used one first
};

}  // namespace

Status add_onednn_products(Rival& rival, const Library& library, int threads) {
  const auto api = DnnlApi::find_in(library);
  if (!api) return std::unexpected(api.error());
  DnnlEngine engine = nullptr;
  if (const int status = api->engine_create(&engine, kDnnlCpu, 0); status != kDnnlSuccess) {
    return fail(ErrorKind::unsupported,
                fmt::format("{} finds no processor to run on (status {}); builds for SYCL need "
                            "Intel's OpenCL runtime for processors",
                            library.file(), status));
  }
  const auto products = std::make_shared<Products>(*api, engine, library, threads);
  const DnnlVersion* version = api->version();
  rival.version = fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
  if (!products->has_openmp()) {
    // Builds for SYCL have a pool of their own as wide as the processor, and nothing to change it.
    if (threads != static_cast<int>(std::thread::hardware_concurrency())) {
      return fail(ErrorKind::unsupported, fmt::format("{} of {} cannot be told to use {} threads",
                                                      rival.version, library.file(), threads));
    }
    rival.version += " (SYCL)";
  }
  rival.unsupported = [products](const GemmArgs& args) { return products->unsupported(args); };
  rival.run = [products](const GemmArgs& args, Stream) { return products->run(args); };
  return {};
}

}  // namespace rooftune::rivals
