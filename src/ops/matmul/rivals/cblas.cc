#include "ops/matmul/rivals/cblas.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ops/matmul/rivals/blas_matrix.h"

namespace rooftune::rivals {
namespace {

// --- The interface ---------------------------------------------------------------------------

enum CblasOrder : int { kRowMajor = 101 };
enum CblasTranspose : int { kNoTranspose = 111, kTranspose = 112 };
enum CblasOffset : int { kFixedOffset = 173 };

// cblas_sgemm and its family; Int is the integer of the build. bf16 and f16 are passed as bits.
template <class Int, class In, class Out>
using Gemm = void (*)(CblasOrder, CblasTranspose, CblasTranspose, Int m, Int n, Int k, Out alpha,
                      const In* a, Int lda, const In* b, Int ldb, Out beta, Out* c, Int ldc);
template <class Int, class T>
using GemmBatchStrided = void (*)(CblasOrder, CblasTranspose, CblasTranspose, Int m, Int n, Int k,
                                  T alpha, const T* a, Int lda, Int stride_a, const T* b, Int ldb,
                                  Int stride_b, T beta, T* c, Int ldc, Int stride_c, Int batch);
// MKL's product of integers. By rows, a is u8 and b i8; the offsets are added to all their
// elements.
template <class Int>
using GemmInt8 = void (*)(CblasOrder, CblasTranspose, CblasTranspose, CblasOffset, Int m, Int n,
                          Int k, float alpha, const void* a, Int lda, std::int8_t a_offset,
                          const void* b, Int ldb, std::int8_t b_offset, float beta, std::int32_t* c,
                          Int ldc, const std::int32_t* c_offset);

CblasTranspose letter(const BlasMatrix& matrix) {
  return matrix.transposed ? kTranspose : kNoTranspose;
}

// --- Products --------------------------------------------------------------------------------

struct Pointers {
  const void* a;
  const void* b;
  void* c;
};

const void* moved(const void* base, std::int64_t elements, DType type) {
  return static_cast<const char*>(base) + elements * size_of(type);
}

// Calls `run` for the three matrices of every batch index, last axis fastest.
template <class Run>
void for_each_matrix(const GemmArgs& args, Run run) {
  std::array<std::int64_t, kMaxBatchAxes> index{};
  for (std::int64_t i = 0; i < args.batch; ++i) {
    std::int64_t a = 0, b = 0, c = 0;
    for (int axis = 0; axis < args.batch_rank; ++axis) {
      const auto x = static_cast<std::size_t>(axis);
      a += index[x] * args.a_batch[x];
      b += index[x] * args.b_batch[x];
      c += index[x] * args.c_batch[x];
    }
    run(Pointers{moved(args.a, a, args.a_type), moved(args.b, b, args.b_type),
                 const_cast<void*>(moved(args.c, c, args.c_type))});
    for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
      const auto x = static_cast<std::size_t>(axis);
      if (++index[x] < args.batch_extent[x]) break;
      index[x] = 0;
    }
  }
}

struct Product {
  DType a, b, c;
  bool scaled = true;  // by any alpha and beta
  // Of arguments that have been looked at.
  std::function<void(const GemmArgs&, const BlasCall&)> run;
};

template <class Int>
Int narrow(std::int64_t value) {
  return static_cast<Int>(value);
}

template <class Int>
bool fits(std::initializer_list<std::int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return value >= 0 && value <= std::numeric_limits<Int>::max();
  });
}

template <class Int, class In, class Out>
void run_gemm(const GemmArgs& args, const BlasCall& call, Gemm<Int, In, Out> gemm) {
  for_each_matrix(args, [&](const Pointers& at) {
    gemm(kRowMajor, letter(call.a), letter(call.b), narrow<Int>(args.m), narrow<Int>(args.n),
         narrow<Int>(args.k), static_cast<Out>(args.alpha), static_cast<const In*>(at.a),
         narrow<Int>(call.a.leading), static_cast<const In*>(at.b), narrow<Int>(call.b.leading),
         static_cast<Out>(args.beta), static_cast<Out*>(at.c), narrow<Int>(call.c.leading));
  });
}

template <class Int, class T>
bool run_batch(const GemmArgs& args, const BlasCall& call, GemmBatchStrided<Int, T> gemm) {
  if (gemm == nullptr || args.batch_rank != 1 ||
      !fits<Int>({args.batch, args.a_batch[0], args.b_batch[0], args.c_batch[0]})) {
    return false;
  }
  gemm(kRowMajor, letter(call.a), letter(call.b), narrow<Int>(args.m), narrow<Int>(args.n),
       narrow<Int>(args.k), static_cast<T>(args.alpha), static_cast<const T*>(args.a),
       narrow<Int>(call.a.leading), narrow<Int>(args.a_batch[0]), static_cast<const T*>(args.b),
       narrow<Int>(call.b.leading), narrow<Int>(args.b_batch[0]), static_cast<T>(args.beta),
       static_cast<T*>(args.c), narrow<Int>(call.c.leading), narrow<Int>(args.c_batch[0]),
       narrow<Int>(args.batch));
  return true;
}

template <class Int>
void run_int8(const GemmArgs& args, const BlasCall& call, GemmInt8<Int> gemm) {
  const std::int32_t nothing = 0;
  for_each_matrix(args, [&](const Pointers& at) {
    gemm(kRowMajor, letter(call.a), letter(call.b), kFixedOffset, narrow<Int>(args.m),
         narrow<Int>(args.n), narrow<Int>(args.k), 1, at.a, narrow<Int>(call.a.leading), 0, at.b,
         narrow<Int>(call.b.leading), 0, 0, static_cast<std::int32_t*>(at.c),
         narrow<Int>(call.c.leading), &nothing);
  });
}

template <class Int>
class Products {
 public:
  Products(const Library& library, const CblasDialect& dialect) {
    add<float>(library, dialect, "cblas_sgemm");
    add<double>(library, dialect, "cblas_dgemm");
    has_plain_ = products_.size() == 2;
    // OpenBLAS, then MKL, each under its own name.
    add_16_bits(library, dialect, DType::bf16, {"cblas_sbgemm", "cblas_gemm_bf16bf16f32"});
    add_16_bits(library, dialect, DType::f16, {"cblas_shgemm", "cblas_gemm_f16f16f32"});
    if (const auto gemm = library.find<GemmInt8<Int>>(dialect("cblas_gemm_s8u8s32"))) {
      products_.push_back({DType::u8, DType::i8, DType::i32, false,
                           [gemm](const GemmArgs& args, const BlasCall& call) {
                             run_int8<Int>(args, call, gemm);
                           }});
    }
  }

  bool has_plain() const { return has_plain_; }

  // `args` with the output by rows.
  const char* unsupported(const GemmArgs& args, std::optional<BlasCall>& call,
                          const Product*& product) const {
    const auto found =
        std::find_if(products_.begin(), products_.end(), [&](const Product& candidate) {
          return candidate.a == args.a_type && candidate.b == args.b_type &&
                 candidate.c == args.c_type;
        });
    if (found == products_.end()) return "it has no product of these types";
    if (!found->scaled && (args.alpha != 1 || args.beta != 0)) {
      return "of these types it is called with alpha = 1 and beta = 0 only";
    }
    call = blas_call(args);
    if (!call) return "it has no call for these strides";
    if (!fits<Int>({args.m, args.n, args.k, call->a.leading, call->b.leading, call->c.leading})) {
      return "it counts in 32 bits";
    }
    product = &*found;
    return nullptr;
  }

  const char* unsupported(const GemmArgs& args) const {
    std::optional<BlasCall> call;
    const Product* product = nullptr;
    return unsupported(with_output_by_rows(args), call, product);
  }

  Status run(const GemmArgs& args) const {
    const GemmArgs by_rows = with_output_by_rows(args);
    std::optional<BlasCall> call;
    const Product* product = nullptr;
    if (const char* why = unsupported(by_rows, call, product)) {
      return fail(ErrorKind::unsupported, why);
    }
    product->run(by_rows, *call);
    return {};
  }

 private:
  template <class T>
  void add(const Library& library, const CblasDialect& dialect, const std::string& name) {
    const auto gemm = library.find<Gemm<Int, T, T>>(dialect(name));
    if (gemm == nullptr) return;
    GemmBatchStrided<Int, T> batch = nullptr;
    if (dialect.batches) {
      batch = library.find<GemmBatchStrided<Int, T>>(dialect(name + "_batch_strided"));
    }
    products_.push_back({dtype_of<T>, dtype_of<T>, dtype_of<T>, true,
                         [gemm, batch](const GemmArgs& args, const BlasCall& call) {
                           if (!run_batch<Int, T>(args, call, batch)) {
                             run_gemm<Int, T, T>(args, call, gemm);
                           }
                         }});
  }

  void add_16_bits(const Library& library, const CblasDialect& dialect, DType type,
                   std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const auto gemm = library.find<Gemm<Int, std::uint16_t, float>>(dialect(name));
      if (gemm == nullptr) continue;
      products_.push_back(
          {type, type, DType::f32, true, [gemm](const GemmArgs& args, const BlasCall& call) {
             run_gemm<Int, std::uint16_t, float>(args, call, gemm);
           }});
      return;
    }
  }

  std::vector<Product> products_;
  bool has_plain_ = false;
};

template <class Int>
Status add(Rival& rival, const Library& library, const CblasDialect& dialect) {
  const auto products = std::make_shared<const Products<Int>>(library, dialect);
  if (!products->has_plain()) {
    return fail(ErrorKind::unsupported,
                fmt::format("{} has no {} and {}", library.file(), dialect("cblas_sgemm"),
                            dialect("cblas_dgemm")));
  }
  rival.unsupported = [products](const GemmArgs& args) { return products->unsupported(args); };
  rival.run = [products](const GemmArgs& args, Stream) { return products->run(args); };
  return {};
}

}  // namespace

Status add_cblas_products(Rival& rival, const Library& library, const CblasDialect& dialect) {
  return dialect.wide ? add<std::int64_t>(rival, library, dialect)
                      : add<std::int32_t>(rival, library, dialect);
}

}  // namespace rooftune::rivals
