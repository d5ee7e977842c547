// What measuring needs before the first launch: the trial of a problem, its operands in the state
// that the settings ask for.
#ifndef ROOFTUNE_TUNE_TRIAL_SETUP_H_
#define ROOFTUNE_TUNE_TRIAL_SETUP_H_

#include "rooftune/decision.h"
#include "rooftune/detail/problem.h"
#include "rooftune/settings.h"

namespace rooftune::detail {

struct TrialSetup {
  Operands operands = Operands::warm;  // as they are while measuring: cold or warm
  double working_set =
      0;  // bytes that launches go over before they meet the same again; 0: unknown
};

// Makes the trial. Its memory and the time for copies go into `cost`. Errors: those of make_trial;
// out_of_memory where it takes more than autotune.memory_bytes.
Result<TrialSetup> set_up_trial(Problem& problem, const AutotuneSettings& settings, Cost& cost);

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_TRIAL_SETUP_H_
