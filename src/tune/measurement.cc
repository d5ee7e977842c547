#include "tune/measurement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "tune/charge.h"
#include "tune/conclusion.h"
#include "tune/context_internals.h"

namespace rooftune::detail {
namespace {

constexpr int kMostRepeats = 1 << 24;

int repeats_for(double shortest, double each) {
  return static_cast<int>(std::clamp(std::ceil(shortest / each * 1.1), 1.0, double(kMostRepeats)));
}

}  // namespace

Measurement::Measurement(TuneContext& context, Problem& problem, Decision& decision,
                         TuningTurn& turn)
    : context_(context),
      settings_(context.settings().autotune),
      problem_(problem),
      client_(problem.client()),
      decision_(decision),
      turn_(turn),
      visits_(problem.size()) {}

void Measurement::not_timed(std::size_t i, std::string reason) {
  disqualify(evidence(i), Verdict::not_timed, std::move(reason));
  visits_[i].untimed = true;
}

void Measurement::failed(std::size_t i, Verdict verdict, const Error& error) {
  note_failure(error);
  disqualify(evidence(i), verdict, error.text);
}

void Measurement::note_failure(const Error& error) {
  // A shortage of memory passes: nothing of this search is to be believed later.
  if (error.kind == ErrorKind::out_of_memory) decision_.storable = false;
  if (error.kind == ErrorKind::device_lost) trial_error_ = error;
}

// Times `repeats` launches together; 0 when they were too short for the clock. Nothing on failure,
// which is then recorded.
std::optional<double> Measurement::timed(std::size_t i, int repeats, FunctionRef<Status()> run) {
  const Charge charge(client_, decision_.cost.measure_s);
  const double begin = steady_now_s();
  decision_.cost.launches += static_cast<std::uint64_t>(repeats);
  const auto seconds = [&] {
    const auto lock = client_.exclusive();
    return client_.profile(problem_.stream(), run, repeats);
  }();
  context_.internals().span("measure", problem_.name(i), begin);
  if (seconds && *seconds > 0 && std::isfinite(*seconds)) return *seconds;
  if (!seconds && seconds.error().kind != ErrorKind::not_timed) {
    failed(i, Verdict::launch_failed, seconds.error());
    return std::nullopt;
  }
  if (!seconds || *seconds == 0) return 0;
  not_timed(i, "the clock gave " + std::to_string(*seconds) + " s");
  return std::nullopt;
}

// Brings the operands to where the next launch of this candidate will find them when it is called
// again and again. False when that failed, which is then recorded.
bool Measurement::bring_into_place(std::size_t i) {
  // Beside a longer one the caches do not matter: a launch after another candidate's takes 3 % more
  // at 0.1 ms, 1 % at 0.5 ms, and so for all.
  constexpr double kShort = 0.2e-3;
  if (std::exchange(last_, i) == i || !client_.capabilities().private_caches ||
      decision_.operands != Operands::warm || visits_[i].seconds >= kShort) {
    return true;
  }
  ++decision_.cost.launches;
  const Charge charge(client_, decision_.cost.measure_s);
  const auto lock = client_.exclusive();
  Status done = problem_.run_trial(i);
  if (done) done = client_.synchronize(problem_.stream());
  if (!done) failed(i, Verdict::launch_failed, done.error());
  return done.has_value();
}

std::optional<double> Measurement::row(std::size_t i, double shortest) {
  // A clock that stands still is found out by a row that no clock could miss: so many launches, or
  // so long by the clock that budgets go by.
  constexpr int kUnmissable = 1 << 12;
  constexpr double kUnmissableSeconds = 0.05;
  int& repeats = visits_[i].repeats;
  if (!bring_into_place(i)) return std::nullopt;
  for (;;) {
    const double begin = client_.now_s();
    const auto seconds = timed(i, repeats, [&] { return problem_.run_trial(i); });
    if (!seconds) return std::nullopt;
    if (*seconds >= shortest || repeats >= kMostRepeats) {
      return visits_[i].seconds = *seconds / repeats;
    }
    if (*seconds == 0) {
      if (repeats >= kUnmissable || client_.now_s() - begin >= kUnmissableSeconds) {
        not_timed(i, "the clock stood still for " + std::to_string(repeats) + " launches");
        return std::nullopt;
      }
      repeats *= 16;
    } else {
      // The first launch may have been slow and the row therefore too short.
      repeats = std::max(repeats + 1, repeats_for(shortest, *seconds / repeats));
    }
  }
}

void Measurement::expect(std::size_t i, double once, double shortest) {
  // So many that the way back of other threads is counted in all but the last.
  constexpr int kShared = 4;
  constexpr double kShort = 20e-6;
  int& repeats = visits_[i].repeats;
  visits_[i].seconds = once;
  repeats = once >= shortest ? 1 : once > 0 ? repeats_for(shortest, once) : 16;
  if (client_.capabilities().private_caches && once < kShort) repeats = std::max(repeats, kShared);
}

Status Measurement::wait_until_built(std::size_t i, Preparation& preparation) {
  double waited_s = 0;
  auto [built, seconds] = [&] {
    const Charge charge(client_, waited_s);
    return preparation.wait(i);
  }();
  decision_.cost.compile_s += waited_s;
  evidence(i).compile_s = seconds;
  waited_s_ += waited_s;
  return built;
}

std::optional<double> Measurement::launched_alone(std::size_t i) {
  const auto lock = client_.exclusive();
  // What goes wrong from here on is the candidate's fault, not that of what the program had given
  // the device to do before, or of what another thread measured.
  if (Status ready = client_.synchronize(problem_.stream()); !ready) {
    trial_error_ = std::move(ready.error());
    return std::nullopt;
  }
  const auto seconds = timed(i, 1, [&] { return problem_.run_checked(i); });
  if (trial_error_) turn_.suspect(evidence(i));
  return seconds;
}

std::optional<double> Measurement::first_launch(std::size_t i, Preparation& preparation) {
  visits_[i].launched = true;
  last_ = i;
  if (Status built = wait_until_built(i, preparation); !built) {
    failed(i, Verdict::build_failed, built.error());
    return std::nullopt;
  }
  if (settings_.verify) {
    const Charge charge(client_, decision_.cost.verify_s);
    if (Status poisoned = problem_.poison(); !poisoned) {
      trial_error_ = std::move(poisoned.error());
      return std::nullopt;
    }
  }
  const TuningTurn::FirstLaunch first(turn_, evidence(i));
  const auto seconds = launched_alone(i);
  if (trial_error_ || disqualified(evidence(i).verdict)) return std::nullopt;
  if (settings_.verify && !verify(i)) return std::nullopt;
  return seconds;
}

bool Measurement::verify(std::size_t i) {
  const Charge charge(client_, decision_.cost.verify_s);
  const double begin = steady_now_s();
  const auto check = problem_.check();
  context_.internals().span("verify", problem_.name(i), begin);
  if (!check) note_failure(check.error());
  if (record_check(evidence(i), check)) return !trial_error_;
  turn_.found_wrong(evidence(i));
  return false;
}

}  // namespace rooftune::detail
