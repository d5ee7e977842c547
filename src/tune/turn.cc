#include "tune/turn.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "store/backoff.h"
#include "tune/context_internals.h"

namespace rooftune::detail {

TuningTurn::TuningTurn(TuneContext& context, const std::string& tuner, const Problem& problem)
    : context_(context),
      place_(place_of(tuner, problem)),
      environment_(context.internals().environment()) {
  const EnvironmentState state = environment_->state();
  if (state.mode != EnvironmentMode::read_write) return;
  lease_.emplace(state.path.native() + ".tuning",
                 digest({place_.fingerprint, place_.tuner, place_.key}));
}

bool TuningTurn::take() {
  if (!lease_) return true;
  const Lease::State state = lease_->acquire();
  if (state == Lease::State::taken) return false;
  if (const auto died_of = suspect_of(lease_->note_found(), place_)) {
    put_into_quarantine(*environment_, place_, died_of->candidate, died_of->version,
                        "a process died while running it");
    lease_->clear_note();
  }
  return true;
}

void TuningTurn::give_back() {
  if (lease_) lease_->release();
}

bool TuningTurn::excludes(const CandidateEvidence& candidate) const {
  const auto all = exclusions();
  return std::ranges::any_of(all, [&](const Exclusion& one) {
    return one.candidate == candidate.name && one.version == candidate.version;
  });
}

std::vector<Exclusion> TuningTurn::exclusions() const {
  std::vector<Exclusion> all = quarantined(*environment_, place_);
  std::ranges::move(context_.internals().found_wrong.at(place_), std::back_inserter(all));
  return all;
}

void TuningTurn::found_wrong(const CandidateEvidence& candidate) const {
  context_.internals().found_wrong.add(
      place_, {candidate.name, candidate.version, Verdict::wrong, candidate.reason});
}

void TuningTurn::suspect(const CandidateEvidence& candidate) const {
  put_into_quarantine(*environment_, place_, candidate.name, candidate.version,
                      "the device was lost while it ran");
}

TuningTurn::FirstLaunch::FirstLaunch(TuningTurn& turn, const CandidateEvidence& candidate)
    : turn_(turn) {
  if (turn_.lease_) {
    turn_.lease_->write_note(note_before_launch(turn_.place_, candidate.name, candidate.version));
  }
}

TuningTurn::FirstLaunch::~FirstLaunch() {
  if (turn_.lease_) turn_.lease_->clear_note();
}

std::vector<std::size_t> trusted_untuned_order(TuneContext& context, const std::string& tuner,
                                               const Problem& problem) {
  std::vector<std::size_t> order = untuned_order(problem);
  const auto exclusions = context.internals().exclusions(place_of(tuner, problem));
  if (exclusions.empty()) return order;
  Decision nothing;
  exclude(nothing, exclusions, problem);
  const auto excluded = [&](std::size_t i) { return nothing.find(problem.name(i)) != nullptr; };
  std::erase_if(order, excluded);
  // The last resort, if it is only suspected.
  const CandidateEvidence* fallback = nothing.find(problem.name(0));
  if (fallback != nullptr && fallback->quarantined) order.push_back(0);
  return order;
}

std::shared_ptr<TuningTurn> take_turn(TuneContext& context, const std::string& tuner,
                                      const Problem& problem, double patience_s) {
  auto turn = std::make_shared<TuningTurn>(context, tuner, problem);
  // A thread that is measuring something else must not wait: two such could wait for each other.
  const bool may_wait =
      context.settings().autotune.pending == Pending::wait && !is_searching() && patience_s > 0;
  Backoff backoff(std::chrono::duration_cast<std::chrono::milliseconds>(
      seconds_to_wait(may_wait ? patience_s : 0)));
  while (!turn->take()) {
    if (!backoff.pause()) return nullptr;
  }
  return turn;
}

}  // namespace rooftune::detail
