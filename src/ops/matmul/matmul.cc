// Session::matmul and what belongs to it.
#include <cstring>
#include <optional>

#include "ops/matmul/cpu/batch.h"
#include "ops/matmul/cpu/candidates.h"
#include "ops/matmul/memo.h"
#include "ops/matmul/problem.h"
#include "ops/runtime.h"
#include "ops/session_operations.h"
#include "rooftune/float16.h"

namespace rooftune {
namespace {

template <class T, class Scalar>
void scale_rows(const GemmArgs& gemm) {
  const auto beta = static_cast<Scalar>(gemm.beta);
  for (std::int64_t index = 0; index < gemm.batch; ++index) {
    const std::int64_t matrix = batch_offsets(gemm, index).c;
    for (std::int64_t i = 0; i < gemm.m; ++i) {
      for (std::int64_t j = 0; j < gemm.n; ++j) {
        auto* at = static_cast<std::byte*>(gemm.c) +
                   (matrix + i * gemm.c_row + j * gemm.c_col) * std::int64_t{sizeof(T)};
        T value{};
        if (gemm.beta != 0) {
          std::memcpy(&value, at, sizeof value);
          value = T(beta * Scalar(value));
        }
        std::memcpy(at, &value, sizeof value);
      }
    }
  }
}

// The product that has no terms, or is multiplied by 0, in the host's memory: out = beta * out.
void scale_output(const GemmArgs& gemm) {
  switch (gemm.c_type) {
    case DType::f64:
      return scale_rows<double, double>(gemm);
    case DType::bf16:
      return scale_rows<BFloat16, float>(gemm);
    case DType::f16:
      return scale_rows<Float16, float>(gemm);
    case DType::i32:  // as the sums: modulo 2^32
      return scale_rows<std::uint32_t, std::int64_t>(gemm);
    default:
      return scale_rows<float, float>(gemm);
  }
}

using MatmulTuner = Tuner<MatmulKey, GemmArgs>;

// The same on any device.
Status scale_output(Client& client, const MatmulTuner& tuner, const GemmArgs& gemm, Stream stream) {
  if (!client.capabilities().host_memory) {
    // Without terms the fallback reads nothing but C.
    GemmArgs no_terms = gemm;
    no_terms.k = 0;
    if (Status built = tuner.set().prepare(0, no_terms); !built) return built;
    return tuner.set().run(0, no_terms, stream);
  }
  if (Status ready = client.synchronize(stream); !ready) return ready;
  scale_output(gemm);
  return {};
}

// A checked product without elements, terms or factor, for which nothing is tuned; nothing for any
// other. `without_memory`: some operand has no pointer.
std::optional<Status> trivial(Client& client, const MatmulTuner& tuner, const GemmArgs& gemm,
                              const void* out, bool without_memory, const MatmulOptions& options) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) [[unlikely]] {
    if (options.report != nullptr) *options.report = {};
    return Status{};
  }
  if (without_memory) [[unlikely]] {
    if (gemm.k != 0 || out == nullptr) {
      return fail(ErrorKind::invalid_argument, "an operand with elements has no memory (null)");
    }
  }
  if (gemm.k == 0 || gemm.alpha == 0) [[unlikely]] {
    if (options.report != nullptr) *options.report = {};
    return scale_output(client, tuner, gemm, options.stream);
  }
  return std::nullopt;
}

// Types that the device has no arithmetic for.
Status check_types(const Client& client, const GemmArgs& gemm) {
  for (const DType type : {gemm.a_type, gemm.b_type}) {
    if (gemm.family != TypeFamily::f8 || client.capabilities().supports(type)) continue;
    return fail(ErrorKind::unsupported,
                client.name() + " has no products of " + std::string(to_string(type)));
  }
  return {};
}

// Every strategy but autotune.
Status run_untuned(Session& session, MatmulTuner& tuner, const MatmulProblem& problem,
                   const MatmulOptions& options) {
  const Client& client = session.client();
  if (options.strategy == Strategy::untuned) {
    const MatmulKey key =
        make_matmul_key(problem, session.settings().autotune.level, client.capabilities().threads);
    return tuner.untuned(key, problem.gemm, options.stream, options.report);
  }
  const bool on_cpu = runtime_of(client) == "cpu";
  for (const CpuMatmulCandidate& row : cpu_matmul_candidates()) {
    if (on_cpu && row.name == options.candidate && !tuner.set().find(row.name)) {
      return fail(ErrorKind::unsupported,
                  "candidate " + std::string(row.name) + " needs instruction set " +
                      std::string(to_string(row.isa)) + " on " + client.name());
    }
  }
  return tuner.force(options.candidate, problem.gemm, options.stream, options.report);
}

}  // namespace

Status Session::matmul(const ConstView& lhs, const ConstView& rhs, const View& out,
                       const MatmulOptions& options) {
  auto& tuner = *operations_->matmul;
  MatmulMemo& memo = MatmulMemo::of(lhs, rhs, out);
  if (memo.serves(id(), tuner, lhs, rhs, out, options)) [[likely]] {
    if (Status done = memo.run(tuner, lhs, rhs, out, options); done) [[likely]]
      return done;
  }
  MatmulProblem problem;
  if (Status made = make_matmul_problem(lhs, rhs, out, options, problem); !made) [[unlikely]] {
    return made;
  }
  if (Status known = check_types(client(), problem.gemm); !known) [[unlikely]]
    return known;
  const bool without_memory = lhs.data == nullptr || rhs.data == nullptr || out.data == nullptr;
  if (auto done = trivial(client(), tuner, problem.gemm, out.data, without_memory, options)) {
    return *done;
  }
  if (options.strategy != Strategy::autotune) [[unlikely]] {
    return run_untuned(*this, tuner, problem, options);
  }
  const MatmulKey key =
      make_matmul_key(problem, settings().autotune.level, client().capabilities().threads);
  const std::uint64_t version = tuner.version();
  if (const auto* entry = tuner.find(key)) {
    memo.keep(id(), version, *entry, problem, lhs, rhs, out, options.precision);
  }
  return tuner.execute(key, problem.gemm, options.stream, options.report);
}

Result<PackedMatrix> Session::pack_rhs(const ConstView& rhs, const PackOptions& options) {
  return make_packed_matrix(client(), operations_->panel_formats, rhs, options.stream);
}

Status Session::matmul(const ConstView& lhs, const PackedMatrix& rhs, const View& out,
                       const MatmulOptions& options) {
  if (rhs.panels() == nullptr) {
    return fail(ErrorKind::invalid_argument, "rhs is an empty PackedMatrix: see pack_rhs");
  }
  if (!client().capabilities().host_memory) {
    return fail(ErrorKind::unsupported, "rhs was packed for the cpu, and " + client().name() +
                                            " reads matrices as they lie");
  }
  const PackedRhs& packed = rhs.panels()->rhs;
  MatmulProblem problem;
  if (Status made = make_matmul_problem(lhs, packed, out, options, problem); !made) return made;
  const PanelFormat& ours =
      operations_->panel_formats[static_cast<std::size_t>(problem.gemm.family)];
  if (packed.format != ours) {
    return fail(ErrorKind::unsupported, "rhs was packed as " + rhs.format() +
                                            " by a session with other instruction sets; " +
                                            "this one reads " + to_string(ours, packed.dtype) +
                                            ": pack it with this one");
  }
  const bool without_memory = lhs.data == nullptr || out.data == nullptr;
  auto& tuner = *operations_->matmul;
  if (auto done = trivial(client(), tuner, problem.gemm, out.data, without_memory, options)) {
    return *done;
  }
  if (options.strategy != Strategy::autotune) return run_untuned(*this, tuner, problem, options);
  const MatmulKey key =
      make_matmul_key(problem, settings().autotune.level, client().capabilities().threads);
  return tuner.execute(key, problem.gemm, options.stream, options.report);
}

Result<std::optional<Decision>> Session::matmul_decision(const ConstView& lhs, const ConstView& rhs,
                                                         const View& out,
                                                         const MatmulOptions& options) {
  MatmulProblem problem;
  if (Status made = make_matmul_problem(lhs, rhs, out, options, problem); !made) {
    return std::unexpected(made.error());
  }
  const GemmArgs& gemm = problem.gemm;
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0 || gemm.k == 0) return std::nullopt;
  const MatmulKey key =
      make_matmul_key(problem, settings().autotune.level, client().capabilities().threads);
  return operations_->matmul->decision(key, gemm);
}

std::vector<std::string> Session::matmul_candidates() const { return operations_->matmul->names(); }

}  // namespace rooftune
