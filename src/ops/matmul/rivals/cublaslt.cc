#include "ops/matmul/rivals/cublaslt.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ops/matmul/rivals/blas_matrix.h"
#include "ops/matmul/rivals/cublaslt_api.h"

namespace rooftune::rivals {
namespace {

constexpr std::uint64_t kWorkspaceBytes = 64u << 20;  // more than 32 MiB, which NVIDIA recommends
constexpr int kMostWorkspaces = 8;   // streams; further ones do without: half a gigabyte is enough
constexpr int kMostAlgorithms = 16;  // the list of the heuristic is mostly shorter

// --- What decides a call ---------------------------------------------------------------------

// Two products with the same shape share a plan. Of the product by rows, as BLAS sees it.
struct Shape {
  int a_type = 0, b_type = 0, c_type = 0, compute = 0, scale = 0;
  BlasMatrix a, b;
  std::int64_t c_leading = 1;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // of the batch
  std::uint32_t a_alignment = 1, b_alignment = 1, c_alignment = 1;
  bool workspace = false;

  std::uint64_t hash() const {
    std::uint64_t h = 0;
    const auto add = [&](auto value) {
      h = (h ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    };
    for (const int x : {a_type, b_type, c_type, compute}) add(x);
    for (const BlasMatrix& x : {a, b}) add(2 * x.leading + (x.transposed ? 1 : 0));
    for (const std::int64_t x : {c_leading, m, n, k, batch, a_stride, b_stride, c_stride}) add(x);
    for (const std::uint32_t x : {a_alignment, b_alignment, c_alignment}) add(x);
    add(workspace);
    return h;
  }
  bool operator==(const Shape& o) const {
    const auto all = [](const Shape& s) {
      return std::array<std::int64_t, 20>{
          s.a_type,       s.b_type,      s.c_type,      s.compute,     s.a.leading,   s.b.leading,
          s.c_leading,    s.m,           s.n,           s.k,           s.batch,       s.a_stride,
          s.b_stride,     s.c_stride,    s.a_alignment, s.b_alignment, s.c_alignment, s.workspace,
          s.a.transposed, s.b.transposed};
    };
    return all(*this) == all(o);
  }
};

// The largest power of two that divides the address; more than 256 means nothing to the library.
std::uint32_t alignment_of(const void* address) {
  constexpr std::uintptr_t kMost = 256;
  return static_cast<std::uint32_t>(
      std::uintptr_t{1} << std::countr_zero(reinterpret_cast<std::uintptr_t>(address) | kMost));
}

int lt_type(DType type) {
  switch (type) {
    case DType::f32:
      return kLtF32;
    case DType::f64:
      return kLtF64;
    case DType::f16:
      return kLtF16;
    case DType::bf16:
      return kLtBf16;
    case DType::i8:
      return kLtI8;
    case DType::i32:
      return kLtI32;
    case DType::f8e4m3:
      return kLtF8E4M3;
    case DType::f8e5m2:
      return kLtF8E5M2;
    case DType::u8:
      break;
  }
  return -1;
}

// What its sums are made in. `split` has the accuracy of f32, which only plain f32 keeps here.
int compute_of(const GemmArgs& args) {
  if (args.family == TypeFamily::f64) return kLtCompute64F;
  if (args.family == TypeFamily::int8) return kLtCompute32I;
  if (args.family != TypeFamily::f32) return kLtCompute32F;
  switch (args.precision) {
    case Precision::high:
      return kLtCompute32FFastTF32;
    case Precision::medium:
      return kLtCompute32FFast16BF;
    default:
      return kLtCompute32F;
  }
}

bool has_types(const GemmArgs& args) {
  const auto is = [&](DType a, DType b, std::initializer_list<DType> outs) {
    return args.a_type == a && args.b_type == b &&
           std::find(outs.begin(), outs.end(), args.c_type) != outs.end();
  };
  const auto is_f8 = [](DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; };
  switch (args.family) {
    case TypeFamily::f32:
      return is(DType::f32, DType::f32, {DType::f32});
    case TypeFamily::f64:
      return is(DType::f64, DType::f64, {DType::f64});
    case TypeFamily::f16:
      return is(DType::f16, DType::f16, {DType::f16, DType::f32});
    case TypeFamily::bf16:
      return is(DType::bf16, DType::bf16, {DType::bf16, DType::f32});
    case TypeFamily::int8:
      return is(DType::i8, DType::i8, {DType::i32});
    case TypeFamily::f8:
      // Two operands of f8e5m2 are the one pair that the instruction set has and the library not.
      return is_f8(args.a_type) && is_f8(args.b_type) &&
             (args.a_type == DType::f8e4m3 || args.b_type == DType::f8e4m3) &&
             is(args.a_type, args.b_type, {DType::f32, DType::bf16, DType::f16});
  }
  return false;
}

// Nested batch axes as one, where the strides of all three matrices allow it.
bool fold_batch(const GemmArgs& args, Shape& shape) {
  shape.batch = args.batch;
  if (args.batch == 1) return true;
  std::int64_t count = 1, a = 0, b = 0, c = 0;
  for (int axis = args.batch_rank - 1; axis >= 0; --axis) {
    const auto x = static_cast<std::size_t>(axis);
    if (args.batch_extent[x] == 1) continue;
    if (count == 1) {
      a = args.a_batch[x], b = args.b_batch[x], c = args.c_batch[x];
    } else if (args.a_batch[x] != a * count || args.b_batch[x] != b * count ||
               args.c_batch[x] != c * count) {
      return false;
    }
    count *= args.batch_extent[x];
  }
  shape.a_stride = a, shape.b_stride = b, shape.c_stride = c;
  return true;
}

// `args` with the output by rows. Null, or why there is no call for them.
const char* shape_of(const GemmArgs& args, Shape& shape) {
  if (!has_types(args)) return "it has no product of these types";
  const auto a = blas_matrix(args.m, args.k, args.a_row, args.a_col);
  // Seen from its other side, so that a column counts as contiguous along k: some types have
  // products of such operands only.
  const auto b = blas_matrix(args.n, args.k, args.b_col, args.b_row);
  const auto c = blas_matrix(args.m, args.n, args.c_row, args.c_col);
  if (!a || !b || !c || c->transposed) return "it has no call for these strides";
  shape.a = *a, shape.b = {!b->transposed, b->leading}, shape.c_leading = c->leading;
  shape.m = args.m, shape.n = args.n, shape.k = args.k;
  shape.a_type = lt_type(args.a_type), shape.b_type = lt_type(args.b_type);
  shape.c_type = lt_type(args.c_type);
  shape.compute = compute_of(args);
  shape.scale = args.family == TypeFamily::f64    ? kLtF64
                : args.family == TypeFamily::int8 ? kLtI32
                                                  : kLtF32;
  if (!fold_batch(args, shape)) return "it has no call for these batch strides";
  if (shape.batch > std::numeric_limits<std::int32_t>::max()) return "it counts batches in 32 bits";
  shape.a_alignment = alignment_of(args.a), shape.b_alignment = alignment_of(args.b);
  shape.c_alignment = alignment_of(args.c);
  return nullptr;
}

// alpha and beta in the type of the sums.
class Scalars {
 public:
  Scalars(int type, double alpha, double beta) {
    put(type, alpha, alpha_);
    put(type, beta, beta_);
  }
  const void* alpha() const { return &alpha_; }
  const void* beta() const { return &beta_; }

 private:
  union Value {
    float f32;
    double f64;
    std::int32_t i32;
  };
  static void put(int type, double value, Value& to) {
    if (type == kLtF64) {
      to.f64 = value;
    } else if (type == kLtI32) {
      to.i32 = static_cast<std::int32_t>(value);
    } else {
      to.f32 = static_cast<float>(value);
    }
  }
  Value alpha_, beta_;
};

// --- Plans -----------------------------------------------------------------------------------

// Everything that a call of one shape needs but its pointers. Immutable once it is in the table.
class Plan {
 public:
  Plan(const LtApi& api, const Shape& what) : shape(what), api_(api) { make(); }
  ~Plan() {
    for (const LtMatrixLayout layout : {a, b, c}) {
      if (layout != nullptr) api_.layout_destroy(layout);
    }
    if (desc != nullptr) api_.desc_destroy(desc);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Shape shape;
  LtMatmulDesc desc = nullptr;
  LtMatrixLayout a = nullptr, b = nullptr, c = nullptr;
  LtAlgorithm algorithm;
  std::size_t workspace_bytes = 0;
  int status = kLtSuccess;  // otherwise there is nothing to run, and why

 private:
  // By columns our product is its transpose, B^T A^T = C^T: the operands change places, and a
  // matrix by rows is already its transpose.
  void make() {
    status = api_.desc_create(&desc, shape.compute, shape.scale);
    const auto set = [&](int attribute, bool transposed) {
      const int operation = transposed ? kLtTransposed : kLtAsIs;
      if (status == kLtSuccess) {
        status = api_.desc_set(desc, attribute, &operation, sizeof operation);
      }
    };
    set(kLtDescTransA, shape.b.transposed);
    set(kLtDescTransB, shape.a.transposed);
    const auto lay_out = [&](LtMatrixLayout& layout, int type, std::int64_t rows,
                             std::int64_t columns, const BlasMatrix& matrix, std::int64_t stride) {
      if (matrix.transposed) std::swap(rows, columns);
      if (status == kLtSuccess) {
        status = api_.layout_create(&layout, type, static_cast<std::uint64_t>(columns),
                                    static_cast<std::uint64_t>(rows), matrix.leading);
      }
      if (shape.batch == 1) return;
      const auto count = static_cast<std::int32_t>(shape.batch);
      if (status == kLtSuccess) {
        status = api_.layout_set(layout, kLtLayoutBatchCount, &count, sizeof count);
      }
      if (status == kLtSuccess) {
        status = api_.layout_set(layout, kLtLayoutBatchStride, &stride, sizeof stride);
      }
    };
    lay_out(a, shape.a_type, shape.m, shape.k, shape.a, shape.a_stride);
    lay_out(b, shape.b_type, shape.k, shape.n, shape.b, shape.b_stride);
    lay_out(c, shape.c_type, shape.m, shape.n, {false, shape.c_leading}, shape.c_stride);
  }

  const LtApi& api_;
};

// A list that only grows, at its head: readers need no lock.
template <class T>
class GrowingList {
 public:
  GrowingList() = default;
  ~GrowingList() {
    for (Node* node = head_.load(); node != nullptr;) delete std::exchange(node, node->next);
  }
  GrowingList(const GrowingList&) = delete;
  GrowingList& operator=(const GrowingList&) = delete;

  const T& add(T value) {
    Node* const node = new Node{std::move(value), head_.load(std::memory_order_relaxed)};
    while (!head_.compare_exchange_weak(node->next, node, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    return node->value;
  }
  // The latest one that `matches`; null: none.
  template <class Matches>
  const T* find(Matches matches) const {
    for (Node* node = head_.load(std::memory_order_acquire); node != nullptr; node = node->next) {
      if (matches(node->value)) return &node->value;
    }
    return nullptr;
  }

 private:
  struct Node {
    T value;
    Node* next;
  };
  std::atomic<Node*> head_{nullptr};
};

class PlanTable {
 public:
  const Plan* find(const Shape& shape) const {
    const auto* found = buckets_[shape.hash() % buckets_.size()].find(
        [&](const std::unique_ptr<const Plan>& plan) { return plan->shape == shape; });
    return found == nullptr ? nullptr : found->get();
  }
  bool full() const { return count_.load(std::memory_order_relaxed) >= kMost; }
  const Plan* add(std::unique_ptr<const Plan> plan) {
    count_.fetch_add(1, std::memory_order_relaxed);
    auto& bucket = buckets_[plan->shape.hash() % buckets_.size()];
    return bucket.add(std::move(plan)).get();
  }

 private:
  static constexpr int kMost = 1 << 14;  // some 10 MB; a program with more shapes makes them anew
  std::array<GrowingList<std::unique_ptr<const Plan>>, 1024> buckets_;
  std::atomic<int> count_{0};
};

// --- Products --------------------------------------------------------------------------------

class Products {
 public:
  Products(const LtApi& api, const CudaContext& context, LtHandle handle, Client& client)
      : api_(api), context_(context), handle_(handle), client_(client) {}
  ~Products() {
    const CudaContext::Scope scope(context_);
    api_.destroy(handle_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  static const char* unsupported(const GemmArgs& args) {
    Shape shape;
    return shape_of(with_output_by_rows(args), shape);
  }

  Status run(const GemmArgs& args, Stream stream) {
    const GemmArgs by_rows = with_output_by_rows(args);
    Shape shape;
    if (const char* why = shape_of(by_rows, shape)) return fail(ErrorKind::unsupported, why);
    const CudaContext::Scope scope(context_);
    void* const workspace = workspace_for(stream);
    shape.workspace = workspace != nullptr;
    const Plan* plan = plans_.find(shape);
    std::unique_ptr<Plan> made;
    if (plan == nullptr) {
      made = std::make_unique<Plan>(api_, shape);
      if (const auto found = algorithms(*made, 1); !found.empty()) take(*made, found.front());
      plan = plans_.full() ? made.get() : plans_.add(std::move(made));
    }
    if (plan->status != kLtSuccess) {
      return fail(ErrorKind::unsupported, "its heuristic has no algorithm for this product: " +
                                              api_.describe(plan->status));
    }
    return launch(*plan, plan->algorithm, by_rows, workspace, stream);
  }

  Status choose(std::span<const GemmArgs> sets, Stream stream) {
    if (sets.empty()) return {};
    std::vector<GemmArgs> by_rows;
    for (const GemmArgs& args : sets) by_rows.push_back(with_output_by_rows(args));
    Shape shape;
    if (const char* why = shape_of(by_rows.front(), shape)) {
      return fail(ErrorKind::unsupported, why);
    }
    const auto lock = client_.exclusive();
    const CudaContext::Scope scope(context_);
    void* const workspace = workspace_for(stream);
    shape.workspace = workspace != nullptr;
    auto plan = std::make_unique<Plan>(api_, shape);
    const auto found = algorithms(*plan, kMostAlgorithms);
    if (found.empty()) {
      return fail(ErrorKind::unsupported, "its heuristic has no algorithm for this product: " +
                                              api_.describe(plan->status));
    }
    take(*plan, found.front());
    double best_s = std::numeric_limits<double>::infinity();
    const double begin_s = client_.now_s();
    for (const LtHeuristic& candidate : found) {
      std::size_t next = 0;
      const auto one = [&] {
        return launch(*plan, candidate.algorithm, by_rows[next++ % by_rows.size()], workspace,
                      stream);
      };
      const auto seconds = time(one, by_rows.size(), stream, best_s);
      if (seconds && *seconds < best_s) {
        best_s = *seconds;
        take(*plan, candidate);
      }
      // The list begins with what is most likely; for the largest products its end is not worth it.
      constexpr double kBudget_s = 1;
      if (std::isfinite(best_s) && client_.now_s() - begin_s > kBudget_s) break;
    }
    if (!std::isfinite(best_s)) {
      return fail(ErrorKind::launch_failed, "none of its algorithms ran and could be timed");
    }
    plans_.add(std::move(plan));
    return {};
  }

 private:
  static void take(Plan& plan, const LtHeuristic& found) {
    plan.algorithm = found.algorithm;
    plan.workspace_bytes = found.workspace_bytes;
  }

  // At most `asked` algorithms, the most promising first. None: the plan's status says why.
  std::vector<LtHeuristic> algorithms(Plan& plan, int asked) const {
    if (plan.status != kLtSuccess) return {};
    LtPreference preference = nullptr;
    int status = api_.preference_create(&preference);
    const auto set = [&](int attribute, auto value) {
      if (status == kLtSuccess) {
        status = api_.preference_set(preference, attribute, &value, sizeof value);
      }
    };
    const Shape& shape = plan.shape;
    set(kLtPreferWorkspaceBytes, shape.workspace ? kWorkspaceBytes : std::uint64_t{0});
    set(kLtPreferAlignmentA, shape.b_alignment);
    set(kLtPreferAlignmentB, shape.a_alignment);
    set(kLtPreferAlignmentC, shape.c_alignment);
    set(kLtPreferAlignmentD, shape.c_alignment);
    std::vector<LtHeuristic> found(static_cast<std::size_t>(asked));
    int count = 0;
    if (status == kLtSuccess) {
      status = api_.heuristic(handle_, plan.desc, plan.b, plan.a, plan.c, plan.c, preference, asked,
                              found.data(), &count);
    }
    if (preference != nullptr) api_.preference_destroy(preference);
    found.resize(static_cast<std::size_t>(std::clamp(count, 0, asked)));
    std::erase_if(found, [](const LtHeuristic& one) { return one.status != kLtSuccess; });
    if (found.empty() && status == kLtSuccess) status = kLtNotSupported;
    plan.status = status;
    if (status != kLtSuccess) found.clear();
    return found;
  }

  Status launch(const Plan& plan, const LtAlgorithm& algorithm, const GemmArgs& args,
                void* workspace, Stream stream) const {
    const Scalars scalars(plan.shape.scale, args.alpha, args.beta);
    const int status = api_.matmul(
        handle_, plan.desc, scalars.alpha(), args.b, plan.b, args.a, plan.a, scalars.beta(), args.c,
        plan.c, args.c, plan.c, &algorithm, workspace, workspace == nullptr ? 0 : kWorkspaceBytes,
        std::bit_cast<void*>(stream.native));
    if (status == kLtSuccess) return {};
    return fail(ErrorKind::launch_failed, "cublasLtMatmul gave " + api_.describe(status));
  }

  // Seconds of one run: the shortest of some samples; only one for what is clearly slower than
  // `best_s`. Samples are whole turns of all sets.
  Result<double> time(FunctionRef<Status()> run, std::size_t sets, Stream stream, double best_s) {
    constexpr double kHopeless = 1.3;     // times the best so far
    constexpr double kSample_s = 200e-6;  // some hundred steps of the device's clock
    constexpr int kSamples = 3;
    // The first run may load the kernel.
    if (Status done = run(); !done) return std::unexpected(done.error());
    const auto sample = [&](double runs) -> Result<double> {
      const double turns = std::max(std::ceil(runs / static_cast<double>(sets)), 1.0);
      const int all = static_cast<int>(turns) * static_cast<int>(sets);
      auto seconds = client_.profile(stream, run, all);
      if (seconds) *seconds /= all;
      return seconds;
    };
    constexpr double kMostRuns = 100;  // of 2 us each: no kernel is shorter
    auto seconds = sample(2);
    if (!seconds || *seconds > kHopeless * best_s) return seconds;
    const double runs = std::clamp(kSample_s / *seconds, 2.0, kMostRuns);
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kSamples; ++i) {
      const auto next = sample(runs);
      if (!next) return next;
      shortest = std::min(shortest, *next);
    }
    return shortest;
  }

  // Null: there is none for this stream.
  void* workspace_for(Stream stream) {
    const auto* known =
        workspaces_.find([&](const Workspace& one) { return one.stream == stream.native; });
    if (known != nullptr) return known->memory.address();
    if (client_.recording(stream)) return nullptr;
    if (workspace_count_.fetch_add(1, std::memory_order_relaxed) < kMostWorkspaces) {
      if (auto memory = client_.allocate(kWorkspaceBytes)) {
        // Two threads that meet here on one stream each add one: work on a stream is in order, so
        // either will do.
        return workspaces_.add({stream.native, *std::move(memory)}).memory.address();
      }
    }
    workspace_count_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }

  struct Workspace {
    std::uintptr_t stream;
    Buffer memory;
  };

  const LtApi api_;
  const CudaContext context_;
  const LtHandle handle_;
  Client& client_;
  PlanTable plans_;
  GrowingList<Workspace> workspaces_;
  std::atomic<int> workspace_count_{0};
};

}  // namespace

Status add_cublaslt_products(Rival& rival, const Library& library, Client* client) {
  if (client == nullptr) {
    return fail(ErrorKind::unsupported, library.file() + " works on a CUDA device only");
  }
  const auto api = LtApi::find_in(library);
  if (!api) return std::unexpected(api.error());
  constexpr std::uint64_t kAnyBytes = 256;
  const auto memory = client->allocate(kAnyBytes);
  if (!memory) return std::unexpected(memory.error());
  const auto context = CudaContext::of(memory->address());
  if (!context) return std::unexpected(context.error());
  Status added = add_cublaslt_products(rival, *api, *context, *client);
  if (added) return added;
  return fail(added.error().kind, library.file() + ": " + added.error().text);
}

Status add_cublaslt_products(Rival& rival, const LtApi& api, const CudaContext& context,
                             Client& client) {
  LtHandle handle = nullptr;
  {
    const CudaContext::Scope scope(context);
    if (const int status = api.create(&handle); status != kLtSuccess) {
      return fail(ErrorKind::unsupported,
                  fmt::format("it cannot work on {}: {}", client.name(), api.describe(status)));
    }
  }
  const auto products = std::make_shared<Products>(api, context, handle, client);
  rival.unsupported = &Products::unsupported;
  rival.run = [products](const GemmArgs& args, Stream stream) {
    return products->run(args, stream);
  };
  rival.choose = [products](std::span<const GemmArgs> sets, Stream stream) {
    return products->choose(sets, stream);
  };
  return {};
}

}  // namespace rooftune::rivals
