#include "ops/matmul/matmul_set.h"

#include "ops/matmul/problem.h"
#include "ops/matmul/trial.h"

namespace rooftune {

void describe_matmul(TunableSet<MatmulKey, GemmArgs>& set) {
  Client& client = set.client();
  set.inputs(
      [&client](const MatmulKey&, const GemmArgs& args, Stream stream, std::uint64_t most_bytes) {
        return make_matmul_trial(client, args, stream, most_bytes);
      });
  set.bound([](const MatmulKey& key, const GemmArgs& args) -> std::optional<Work> {
    MatmulProblem problem;
    problem.gemm = args;
    problem.lhs = key.elem_lhs;
    problem.rhs = key.elem_rhs;
    problem.out = key.elem_out;
    return Work{matmul_ops(args), matmul_bytes(problem), args.dtype, false};
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
