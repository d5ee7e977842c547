#include "ops/matmul/matmul_set.h"

#include "ops/matmul/problem.h"
#include "ops/matmul/trial.h"

namespace rooftune {

Work matmul_work(const GemmArgs& args, const Capabilities& machine) {
  const bool tiles = !machine.matrix_units.empty();
  Work work{matmul_ops(args), matmul_bytes(args), args.a_type, false};
  switch (args.family) {
    case TypeFamily::f64:
    case TypeFamily::f16:
      break;
    case TypeFamily::bf16:
    case TypeFamily::int8:
    case TypeFamily::f8:
      work.matrix_units = tiles;
      break;
    case TypeFamily::f32: {
      // Products of bf16 parts that a policy takes to be one of f32.
      const double parts = args.precision == Precision::split  ? 6
                           : args.precision == Precision::high ? 3
                                                               : 1;
      const bool vectors = parts == 1 && machine.has_feature("isa:avx512_bf16");
      if (args.precision != Precision::highest && (tiles || vectors)) {
        work.ops *= parts;
        work.dtype = DType::bf16;
        work.matrix_units = tiles;
      }
      break;
    }
  }
  return work;
}

void describe_matmul(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  set.inputs(
      [&client](const MatmulKey&, const GemmArgs& args, Stream stream, std::uint64_t most_bytes) {
        return make_matmul_trial(client, args, stream, most_bytes, host_trial_memory());
      });
  set.bound([&client](const MatmulKey&, const GemmArgs& args) -> std::optional<Work> {
    return matmul_work(args, client.capabilities());
  });
  const auto& parts = client.fingerprint().parts();
  const auto runtime = parts.find("runtime");
  if (runtime != parts.end() && runtime->second == "cpu") {
    add_cpu_candidates(set);
  } else {
    add_fake_candidates(set);
  }
}

}  // namespace rooftune
