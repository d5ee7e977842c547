// Audits the tuner on one product: times all candidates, tunes several times from nothing, and
// lets what was chosen meet the best.
#ifndef ROOFTUNE_CLI_AUDITOR_H_
#define ROOFTUNE_CLI_AUDITOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/audit_members.h"
#include "cli/audit_race.h"
#include "cli/audit_summary.h"
#include "cli/operands.h"
#include "cli/product.h"
#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune::cli {

struct AuditPlan {
  int tunes = 3;
  double seconds = 1.5;   // that all candidates of a product are timed, in each regime
  bool transfer = false;  // also other members of the bucket
  // That a member is called at most until the tuner has looked at its part of the key, by the clock
  // of the device or ours, whichever runs ahead.
  double settle_s = 10;
};

// Works through the interface of devices alone, on a stream of its own.
class Auditor {
 public:
  // The session must keep nothing on disk (autotune.cache = false): its decisions are thrown away.
  static Result<std::unique_ptr<Auditor>> make(Session& session, const AuditPlan& plan);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  // The same seed gives the same operands.
  // Errors: unsupported for what the device has no product of; those of the session; not_timed.
  Result<ProductAudit> run(const Product& product, std::uint64_t seed);

 private:
  using MatmulTuner = Tuner<MatmulKey, GemmArgs>;
  // One problem: its operands, once for warm launches and often enough for cold ones.
  struct Field;

  Auditor(Session& session, Stream stream, const AuditPlan& plan);

  // With as many sets as cold launches want, or just one.
  Result<std::unique_ptr<Field>> make_field(const Product& product, const Product& memory,
                                            std::uint64_t seed, bool cold = true);
  MatmulOptions options_for(const Product& product) const;
  // Forgets all decisions, and keeps what the probes have measured.
  Status forget();
  Result<AuditedTune> tune(Field& field);
  // Seconds of one of `runs` launches in a row, each of what problem() gives.
  template <class Problem>
  Result<double> timed(std::size_t candidate, int runs, Problem problem);
  // Finds those that are far slower than the chosen one by a small part of a large product, since a
  // single launch of the whole might take minutes.
  void find_hopeless(Field& field, const std::string& chosen);
  // Times all candidates and lets the best of them meet those named.
  Result<Contest> contest(Field& field, Regime regime, const std::vector<std::string>& named);
  std::vector<Racer> racers(Field& field, Regime regime, const std::vector<std::string>& named);
  // Whether a candidate computes the product.
  Result<bool> is_right(Field& field, std::size_t candidate);
  // Calls once; gives what ran.
  Result<std::string> called(const Field& field, Strategy strategy = Strategy::autotune);
  // Calls until the tuner has looked at the field's part of the key.
  Result<AuditedMember::Later> settle(const Field& field);
  Result<std::vector<AuditedMember>> members(const Product& product, const MatmulKey& key,
                                             std::uint64_t seed);

  Session& session_;
  Client& client_;
  const Stream stream_;
  const AuditPlan plan_;
  MatmulTuner& tuner_;
};

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_AUDITOR_H_
