// The reference system's four ways to multiply a vector and a matrix.
#include <algorithm>

#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/gemv_args.h"
#include "ops/matmul/cuda/layout.h"
#include "ops/matmul/cuda/small.h"

namespace rooftune {
namespace {

// Numbers as in gemv.cu.
enum class Form : std::uint8_t { gemm, perpendicular, simple, doubled };

constexpr int kColumns = 4;  // of a warp with shared memory, as in gemv.cu

// A matrix times a vector is the transposed vector times the transposed matrix.
GemmArgs vector_first(const GemmArgs& args) {
  return args.m != 1 && args.n == 1 ? transposed(args) : args;
}

class Gemv : public CudaCandidate {
 public:
  Gemv(const char* name, Form form) : CudaCandidate(name, CudaNeeds::ampere), form_(form) {}

  const char* illegal_because(const GemmArgs& args, const CudaMachine&) const override {
    if (const char* why = refuse_general(args)) return why;
    const GemmArgs v = form_ == Form::gemm ? args : vector_first(args);
    if (form_ == Form::gemm) {
      if (a_major(v) != Major::k || b_major(v) != Major::k)
        return "an operand is not contiguous along k";
    } else if (v.m != 1) {
      return "neither operand is a vector";
    }
    if (form_ == Form::perpendicular && v.b_col != 1 && v.n != 1)
      return "the matrix is not contiguous along its columns";
    if (args.m > kMaxBlocks || args.n > kMaxBlocks / args.m || blocks(v) > kMaxBlocks / v.batch)
      return "too large";
    return nullptr;
  }

  CudaVariant variant(const GemmArgs& args) const override {
    const GemmArgs v = form_ == Form::gemm ? args : vector_first(args);
    return VariantWriter()
        .put(v.a_type)
        .put(v.b_type)
        .put(vectors(v) ? 1 : 0, 1)
        .put(staged() && b_major(v) == Major::k ? 1 : 0, 1)
        .variant();
  }

  std::vector<CudaKernelPlan> plans(CudaVariant variant) const override {
    VariantReader reader(variant);
    const DType a = reader.dtype(), b = reader.dtype();
    const bool vectors = reader.number(1) != 0, b_k = reader.number(1) != 0;
    CudaKernelPlan plan;
    plan.file = "gemv.cu";
    plan.defines = {define("A_TYPE", a), define("B_TYPE", b),
                    define("FORM", static_cast<int>(form_)),
                    define("LOAD", vectors ? 16 / size_of(a) : 1), define("B_K", b_k ? 1 : 0)};
    plan.threads = threads();
    plan.registers = 128;
    return {plan};
  }

  std::vector<CudaVariant> variants() const override {
    std::vector<CudaVariant> all;
    for (const TypePair& types : kTypePairs) {
      for (const std::uint64_t other : {0u, 1u}) {
        // Either the loads or the layout of b: see variant().
        all.push_back(VariantWriter()
                          .put(types.a)
                          .put(types.b)
                          .put(staged() ? 0 : other, 1)
                          .put(staged() ? other : 0, 1)
                          .variant());
      }
    }
    return all;
  }

  Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
             const GemmArgs& args) const override {
    const GemmArgs v = form_ == Form::gemm ? args : vector_first(args);
    const FlatBatch flat = flat_batch(v);
    GemvArgs to{};
    to.a = v.a, to.b = v.b, to.c = v.c;
    to.m = v.m, to.n = v.n, to.k = v.k, to.batch = flat.count;
    to.a_row = v.a_row, to.a_col = v.a_col, to.a_batch = flat.a;
    to.b_row = v.b_row, to.b_col = v.b_col, to.b_batch = flat.b;
    to.c_row = v.c_row, to.c_col = v.c_col, to.c_batch = flat.c;
    to.out = output_of(v);
    const auto grid = static_cast<std::uint32_t>(
        form_ == Form::gemm ? ceil_div(v.m * v.n * flat.count, warps()) : blocks(v) * flat.count);
    return launcher.launch(*kernels[0], &to, sizeof(to), {grid, 1, 1}, threads(), 0);
  }

  // The reference's rule: double buffers are for general products of some size, which these
  // are not.
  std::vector<Membership> memberships(const MatmulKey& key) const override {
    const bool general = key.kind == MatmulKind::general && key.scale != MatmulScale::small;
    const int inner = form_ == Form::doubled && !general ? 2 : 3;
    if (form_ == Form::gemm) return {{"gemv", inner}, {"unit", 3}};
    return {{"gemv", inner}};
  }

  double predicted_s(const GemmArgs& args, const CudaMachine& machine) const override {
    const GemmArgs v = form_ == Form::gemm ? args : vector_first(args);
    const double processors = std::max(1, machine.multiprocessors);
    const double warps_at_work =
        static_cast<double>(blocks(v)) * warps() * static_cast<double>(v.batch);
    // A warp has about 2 KB under way; 40 KB keep a multiprocessor's share of memory busy.
    const double busy = std::min(1.0, warps_at_work / processors * 2 / 40);
    const double bytes = static_cast<double>(v.m) * static_cast<double>(v.n) *
                         static_cast<double>(v.k) * static_cast<double>(v.batch) *
                         static_cast<double>(size_of(v.b_type));
    // Element by element, or through shared memory with a sum of lanes at every step.
    const double slower = (vectors(v) ? 1.3 : 2.6) * (staged() ? 3 : 1);
    return kLaunchSeconds + slower * bytes / (kBytesPerSecond * processors * busy);
  }

 private:
  bool staged() const { return form_ == Form::simple || form_ == Form::doubled; }
  std::uint32_t threads() const { return staged() ? 32 : form_ == Form::gemm ? 256 : 128; }
  int warps() const { return static_cast<int>(threads()) / 32; }

  bool vectors(const GemmArgs& v) const {
    if (staged()) return false;
    const FlatBatch flat = flat_batch(v);
    const std::int64_t load = 16 / size_of(v.b_type);
    if (form_ == Form::perpendicular)
      return v.n % load == 0 && loads_of(16, v.b, v.b_type, v.k == 1 ? 0 : v.b_row, flat.b);
    return v.k % load == 0 && loads_of(16, v.a, v.a_type, v.m == 1 ? 0 : v.a_row, flat.a) &&
           loads_of(16, v.b, v.b_type, v.n == 1 ? 0 : v.b_col, flat.b);
  }

  // Of a batch.
  std::int64_t blocks(const GemmArgs& v) const {
    if (form_ == Form::gemm) return ceil_div(v.m * v.n, warps());
    if (staged()) return ceil_div(v.n, kColumns);
    return ceil_div(v.n, std::int64_t{threads()} * (vectors(v) ? 16 / size_of(v.b_type) : 1));
  }

  const Form form_;
};

}  // namespace

void add_gemv(CudaCandidates& rows) {
  rows.push_back(std::make_unique<Gemv>("double_vecmat", Form::doubled));
  rows.push_back(std::make_unique<Gemv>("simple_vecmat", Form::simple));
  rows.push_back(std::make_unique<Gemv>("gemm", Form::gemm));
  rows.push_back(std::make_unique<Gemv>("gemv_unit_perpendicular", Form::perpendicular));
}

}  // namespace rooftune
