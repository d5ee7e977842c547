#include "ops/matmul/matmul_set.h"

#include <algorithm>

#include "device/cpu/pool.h"
#include "ops/matmul/problem.h"
#include "ops/matmul/result_check.h"
#include "ops/matmul/trial.h"
#include "ops/matmul/verify.h"
#include "ops/runtime.h"

namespace rooftune {

namespace {

bool has_matrix_unit(const Capabilities& machine, DType type) {
  return std::any_of(machine.matrix_units.begin(), machine.matrix_units.end(),
                     [&](const MatrixUnit& unit) { return unit.lhs == type; });
}

}  // namespace

double high_policy_error(const Capabilities& machine) {
  return has_matrix_unit(machine, DType::f32) ? ProductCheck::kTf32Error : ProductCheck::kHighError;
}

Work matmul_work(const GemmArgs& args, const Capabilities& machine) {
  Work work{matmul_ops(args), matmul_bytes(args), args.a_type, false};
  if (args.family != TypeFamily::f32) {
    work.matrix_units = has_matrix_unit(machine, args.a_type);
    return work;
  }
  if (args.precision == Precision::highest) return work;
  const bool tf32 = has_matrix_unit(machine, DType::f32);
  if (tf32 && args.precision != Precision::medium) {
    // Three products of TF32 parts keep the accuracy of f32.
    work.ops *= args.precision == Precision::split ? 3 : 1;
    work.matrix_units = true;
    return work;
  }
  // Products of bf16 parts that a policy takes to be one of f32.
  const double parts = args.precision == Precision::split  ? 6
                       : args.precision == Precision::high ? 3
                                                           : 1;
  const bool tiles = has_matrix_unit(machine, DType::bf16);
  const bool vectors = parts == 1 && machine.has_feature("isa:avx512_bf16");
  if (tiles || vectors) {
    work.ops *= parts;
    work.dtype = DType::bf16;
    work.matrix_units = tiles;
  }
  return work;
}

void describe_matmul(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  set.inputs(
      [&client](const MatmulKey&, const GemmArgs& args, Stream stream, std::uint64_t most_bytes) {
        return make_matmul_trial(client, args, stream, most_bytes, trial_memory(client, args));
      });
  set.result_check([&client](const GemmArgs& args, Stream stream, std::uint64_t most_bytes) {
    return make_matmul_result_check(client, args, stream, most_bytes,
                                    matrix_passes(client, stream));
  });
  set.rehearsal([&client](const GemmArgs& args, Stream stream, std::uint64_t most_bytes) {
    if (client.capabilities().host_memory) CpuExecutor::stand_back();
    return make_matmul_rehearsal(client, args, stream, most_bytes, trial_memory(client, args));
  });
  set.bound([&client](const MatmulKey&, const GemmArgs& args) -> std::optional<Work> {
    return matmul_work(args, client.capabilities());
  });
  const std::string_view runtime = runtime_of(client);
  if (runtime == "cpu") {
    add_cpu_candidates(set);
  } else if (runtime == "cuda") {
    add_cuda_candidates(set);
  } else {
    add_fake_candidates(set);
  }
}

}  // namespace rooftune
