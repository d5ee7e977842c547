#include "tune/conclusion.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "rooftune/tuner.h"
#include "tune/choice.h"
#include "tune/guesses.h"
#include "tune/plan.h"

namespace rooftune::detail {
namespace {

std::string format_scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return text;
}

std::string format_ratio(double ratio) {
  std::string text = std::to_string(ratio);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The candidate that runs this problem without measuring.
std::optional<std::size_t> untuned(const Problem& problem) {
  const std::vector<std::size_t> order = untuned_order(problem);
  const auto legal = std::find_if(order.begin(), order.end(), [&](std::size_t i) {
    return problem.illegal_because(i) == nullptr;
  });
  return legal != order.end() ? std::optional(*legal) : std::nullopt;
}

// Where some could be verified, those whose check did not come about are not to be used. (Where the
// operands say nothing, that goes for all.)
void prefer_verified(const Decision& decision, std::vector<std::size_t>& ranking) {
  const auto verified = [&](std::size_t i) { return decision.candidates[i].verified; };
  if (std::none_of(ranking.begin(), ranking.end(), verified)) return;
  std::erase_if(ranking, std::not_fn(verified));
}

void finish(Decision& decision, const std::vector<std::size_t>& ranking) {
  for (const std::size_t i : ranking) decision.ranking.push_back(decision.candidates[i].name);
  CandidateEvidence& winner = decision.candidates[ranking.front()];
  decision.winner = winner.name;
  decision.verified = winner.verified;
  winner.verdict = Verdict::winner;
}

std::unexpected<Error> nothing_ran(const Decision& decision) {
  std::string text = "no candidate of " + decision.operation + " could run on " + decision.device +
                     " for " + decision.key + ":";
  for (const CandidateEvidence& candidate : decision.candidates) {
    text += "\n  " + candidate.name + " (" + std::string(to_string(candidate.verdict)) +
            "): " + candidate.reason;
  }
  return fail(ErrorKind::no_candidate, std::move(text));
}

}  // namespace

bool disqualified(Verdict verdict) {
  return verdict == Verdict::wrong || verdict == Verdict::build_failed ||
         verdict == Verdict::launch_failed;
}

void disqualify(CandidateEvidence& candidate, Verdict verdict, std::string reason) {
  candidate.verdict = verdict;
  candidate.reason = std::move(reason);
  candidate.samples.clear();
}

Plan plan_of(const Problem& problem) {
  std::vector<Memberships> memberships;
  for (std::size_t i = 0; i < problem.size(); ++i) memberships.push_back(problem.memberships(i));
  return make_plan(memberships);
}

Decision begin_decision(const AutotuneSettings& settings, const std::string& tuner,
                        const Problem& problem, const Plan& plan, const Decision* prior) {
  Decision decision;
  decision.operation = tuner;
  decision.key = problem.key_json();
  decision.device = problem.client().name();
  decision.fingerprint = problem.client().fingerprint().digest();
  decision.part = problem.part();
  decision.part_text = problem.part_text();
  decision.budget_s = settings.budget_s;
  decision.origin = Origin::measured;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    CandidateEvidence evidence;
    evidence.name = problem.name(i);
    evidence.version = problem.version(i);
    if (const CandidateEvidence* old = prior ? prior->find(evidence.name) : nullptr;
        old != nullptr && old->version == evidence.version) {
      evidence = *old;
    }
    if (evidence.samples.empty()) {
      const bool legal = problem.illegal_because(i) == nullptr;
      evidence.guess_s = legal ? problem.predicted_s(i) : std::nullopt;
    }
    decision.candidates.push_back(std::move(evidence));
  }
  for (const auto& round : plan) {
    decision.rounds.emplace_back();
    for (const std::size_t i : round) decision.rounds.back().push_back(problem.name(i));
  }
  return decision;
}

std::vector<std::size_t> members_of_round(Decision& decision, const Problem& problem,
                                          const std::vector<std::size_t>& round,
                                          std::vector<std::size_t>& later) {
  std::vector<std::size_t> members;
  for (const std::size_t i : round) {
    CandidateEvidence& candidate = decision.candidates[i];
    if (const char* reason = problem.illegal_because(i)) {
      // Evidence from another problem of this key stays: it may be legal there again.
      if (candidate.samples.empty() && !disqualified(candidate.verdict)) {
        disqualify(candidate, Verdict::illegal, reason);
      }
      continue;
    }
    if (!disqualified(candidate.verdict)) members.push_back(i);
  }
  std::vector<Hopeless> hopeless;
  members = short_list(problem, std::move(members), hopeless);
  later.clear();
  for (auto& [i, reason] : hopeless) {
    later.push_back(i);
    if (!decision.candidates[i].samples.empty()) continue;
    decision.candidates[i].verdict = Verdict::eliminated;
    decision.candidates[i].reason = std::move(reason);
  }
  return members;
}

bool record_check(CandidateEvidence& candidate, const Result<Check>& check) {
  candidate.verified = false;
  if (!check) {
    candidate.reason = "could not be verified: " + check.error().text;
    return true;
  }
  if (!check->complete || !check->contained) {
    disqualify(candidate, Verdict::wrong,
               check->complete ? "something beside the output was written"
                               : "part of the output was not written");
    return false;
  }
  if (!check->conclusive) {
    candidate.reason = "the operands say nothing about its result: not verified";
    return true;
  }
  candidate.error = check->error;
  candidate.error_bound = check->error_bound;
  candidate.verified = check->right();
  if (!candidate.verified) {
    disqualify(candidate, Verdict::wrong,
               "relative error " + format_scientific(check->error) + ", allowed are " +
                   format_scientific(check->error_bound));
  }
  return candidate.verified;
}

void record_round(Decision& decision, std::span<const std::size_t> members,
                  const Schedule& schedule, const AutotuneSettings& settings,
                  const std::string& untried) {
  for (std::size_t m = 0; m < members.size(); ++m) {
    CandidateEvidence& candidate = decision.candidates[members[m]];
    if (disqualified(candidate.verdict) || candidate.verdict == Verdict::not_timed) continue;
    if (schedule.samples(m).empty()) {
      if (candidate.verdict == Verdict::eliminated) continue;  // not worth measuring
      candidate.verdict = Verdict::not_tried;
      candidate.reason = untried;
      continue;
    }
    candidate.samples = schedule.samples(m);
    candidate.verdict = schedule.eliminated(m) ? Verdict::eliminated : Verdict::ranked;
    if (!schedule.eliminated(m)) continue;
    const auto best = candidate.min_s(), leader = schedule.leader();
    const bool far = !best || !leader || *best > *leader * settings.eliminate_ratio;
    candidate.reason =
        far ? "more than " + format_ratio(settings.eliminate_ratio) + " times the leader's time"
            : "slower than the leader by more than the margin, beyond the noise of the first "
              "passes";
  }
}

Result<Decision> conclude(Decision decision, const Problem& problem, const Plan& plan,
                          const AutotuneSettings& settings, const std::vector<bool>& untimed) {
  std::vector<bool> planned(problem.size(), false);
  for (const auto& round : plan) {
    for (const std::size_t i : round) planned[i] = true;
  }
  std::vector<std::size_t> ranking;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    CandidateEvidence& candidate = decision.candidates[i];
    if (!candidate.samples.empty() && !disqualified(candidate.verdict) &&
        candidate.verdict != Verdict::not_timed) {
      ranking.push_back(i);
      // Measured for another problem of this key, and not in the race this time.
      if (candidate.verdict != Verdict::eliminated) candidate.verdict = Verdict::ranked;
    } else if (candidate.verdict == Verdict::not_tried && candidate.reason.empty()) {
      candidate.reason = planned[i] ? "in a later round" : "not for this key";
    }
  }
  if (ranking.empty()) {
    // Nothing could be timed, but something may have run.
    for (std::size_t i = 0; i < problem.size() && ranking.empty(); ++i) {
      if (untimed[i] && !disqualified(decision.candidates[i].verdict)) ranking.push_back(i);
    }
    // In quarantine, but all that is left.
    if (ranking.empty() && decision.candidates[0].quarantined &&
        problem.illegal_because(0) == nullptr) {
      ranking.push_back(0);
    }
    if (ranking.empty()) return nothing_ran(decision);
    const CandidateEvidence& used = decision.candidates[ranking.front()];
    decision.storable = false;
    decision.origin = Origin::fallback;
    decision.winner = used.name;
    decision.ranking = {used.name};
    decision.verified = used.verified;
    return decision;
  }
  if (settings.verify) prefer_verified(decision, ranking);
  const Choice choice = choose(decision.candidates, std::move(ranking), untuned(problem),
                               settings.margin, settings.confidence);
  for (const std::size_t i : choice.same) {
    decision.same_as_winner.push_back(problem.name(i));
  }
  finish(decision, choice.ranking);
  return decision;
}

Decision only_candidate(Decision decision) {
  decision.candidates[0].reason = "the only candidate";
  finish(decision, {0});
  return decision;
}

}  // namespace rooftune::detail
