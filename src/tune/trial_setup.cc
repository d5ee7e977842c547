#include "tune/trial_setup.h"

#include <optional>
#include <string>

#include "tune/charge.h"
#include "tune/operand_places.h"

namespace rooftune::detail {

Result<TrialSetup> set_up_trial(Problem& problem, const AutotuneSettings& settings, Cost& cost) {
  if (Status made = problem.make_trial(settings.memory_bytes); !made) {
    return std::unexpected(made.error());
  }
  cost.scratch_bytes = problem.scratch_bytes();
  if (cost.scratch_bytes > settings.memory_bytes) {
    return fail(ErrorKind::out_of_memory, "measuring needs " + std::to_string(cost.scratch_bytes) +
                                              " bytes, more than autotune.memory_bytes = " +
                                              std::to_string(settings.memory_bytes));
  }
  const auto work = problem.work();
  TrialSetup setup;
  if (work) setup.working_set = work->bytes;
  const OperandPlaces wanted =
      operand_places(settings.operands, work ? work->bytes : 0,
                     problem.client().capabilities().last_level_cache_bytes);
  const Charge charge(problem.client(), cost.measure_s);
  if (wanted.places > 1) {
    Status made = problem.make_copies(wanted.places - 1, settings.memory_bytes);
    cost.scratch_bytes = problem.scratch_bytes();
    // Without room for them operands are warm, and the record says so.
    setup.operands = made ? wanted.state : Operands::warm;
    if (made) setup.working_set *= double(wanted.places);
  } else {
    setup.operands = wanted.state;
  }
  return setup;
}

}  // namespace rooftune::detail
