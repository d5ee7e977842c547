#include "tune/side_by_side.h"

#include <algorithm>
#include <utility>

#include "tune/comparison.h"
#include "tune/estimator.h"
#include "tune/own_stream.h"
#include "tune/preparation.h"
#include "tune/trial_setup.h"

namespace rooftune::detail {
namespace {

// Rows of short launches. A search is waited for and has shorter ones; but the threads of a product
// that takes some microseconds come and go otherwise in a row of a few than when it is called all
// the time.
constexpr double kRow_s = 100e-6;

// Passes of the reference and one that may be better. Some few tell where the difference is large,
// and where so many do not tell there is little to gain.
constexpr int kLeastPasses = 5, kUsualPasses = 15, kMostPasses = 30;

}  // namespace

Decision aligned(const Decision& decision, const Problem& problem) {
  Decision result = decision;
  result.candidates.clear();
  for (std::size_t i = 0; i < problem.size(); ++i) {
    CandidateEvidence& evidence = result.candidates.emplace_back();
    evidence.name = problem.name(i);
    evidence.version = problem.version(i);
    if (const CandidateEvidence* known = decision.find(evidence.name)) evidence = *known;
  }
  const auto ours = result.candidates.size();
  for (const CandidateEvidence& candidate : decision.candidates) {
    const auto begin = result.candidates.begin();
    const bool there = std::any_of(begin, begin + std::ptrdiff_t(ours),
                                   [&](const auto& one) { return one.name == candidate.name; });
    if (!there) result.candidates.push_back(candidate);
  }
  return result;
}

SideBySide::SideBySide(TuneContext& context, Problem& problem, Decision& decision)
    : context_(context),
      settings_(context.settings().autotune),
      problem_(problem),
      client_(problem.client()),
      decision_(decision),
      shortest_(std::max(
          kRow_s, 2 * settings_.sample_resolutions * client_.capabilities().clock_resolution_s)) {}

double SideBySide::expected_s(std::size_t rivals, double each_s) const {
  const Cost& cost = decision_.cost;
  double verified = 0, compiled = 0, compile_s = 0;
  for (const CandidateEvidence& candidate : decision_.candidates) {
    verified += candidate.error ? 1 : 0;
    compiled += candidate.compile_s ? 1 : 0;
    compile_s += candidate.compile_s.value_or(0);
  }
  const double members = double(rivals) + 1;
  // Two launches beside the rows: that which is verified, and one that tells how long a row is to
  // be. Most members are behind after the fewest samples; two are not.
  const double rows = members * (settings_.min_samples + 2) +
                      2 * (settings_.max_samples - settings_.min_samples + kUsualPasses);
  return cost.store_s + members * cost.verify_s / std::max(verified, 1.0) +
         double(rivals) * compile_s / std::max(compiled, 1.0) + rows * std::max(each_s, shortest_);
}

bool SideBySide::run(const std::vector<std::size_t>& members, TuningTurn& turn) {
  const OwnStream own(client_, problem_);
  if (!own.error.has_value()) return false;
  const Cost before = std::exchange(decision_.cost, Cost{});
  const bool storable = std::exchange(decision_.storable, true);
  CandidateEvidence& reference = decision_.candidates[members.front()];
  const CandidateEvidence known = reference;
  for (const std::size_t i : members) {
    if (i == members.front()) continue;
    CandidateEvidence& rival = decision_.candidates[i];
    rival.samples.clear();
    rival.verdict = Verdict::not_tried;
    rival.reason.clear();
    rival.background = true;
  }
  const auto setup = set_up_trial(problem_, settings_, decision_.cost);
  if (!setup) return false;
  decision_.operands = setup->operands;
  schedule_.emplace(settings_, std::nullopt, std::vector<std::vector<double>>(members.size()));
  measurement_.emplace(context_, problem_, decision_, turn);
  hopeless_.assign(members.size(), false);
  better_.reset();
  measure(members);
  if (const std::size_t first = fastest(members); first > 0 && beats_reference(members, first)) {
    better_ = first;
  }

  const Cost spent = std::exchange(decision_.cost, before);
  decision_.cost.background_launches += spent.launches;
  decision_.cost.scratch_bytes = std::max(before.scratch_bytes, spent.scratch_bytes);
  // A shortage of memory passes: nothing that was seen during it is to be believed.
  if (measurement_->trial_error() || !decision_.storable) return false;
  decision_.storable = storable;
  if (reference.verdict == Verdict::wrong) return true;
  reference = known;
  return !failed(0) && !samples(0).empty();
}

void SideBySide::measure(const std::vector<std::size_t>& members) {
  Preparation preparation(
      client_, members, [this](std::size_t i) { return problem_.prepare(i); }, 0);
  std::size_t rivals = members.size() - 1;
  const auto lost = [&](std::size_t member) { return member == 0 || --rivals == 0; };
  while (const auto member = schedule_->next()) {
    const std::size_t i = members[*member];
    if (!measurement_->launched(i) && !first_launch(i, *member, preparation)) {
      if (lost(*member)) return;
      continue;
    }
    const auto each = measurement_->row(i, shortest_);
    if (!each) {
      schedule_->fail(*member);
      if (lost(*member)) return;
      continue;
    }
    schedule_->add(*member, *each);
  }
}

std::size_t SideBySide::fastest(const std::vector<std::size_t>& members) const {
  std::size_t first = 0;
  double first_s = estimate_s(samples(0)).value_or(0);
  for (std::size_t m = 1; m < members.size(); ++m) {
    const bool trusted =
        decision_.candidates[members[m]].verified || !settings_.verify || !decision_.verified;
    if (failed(m) || hopeless(m) || !trusted) continue;
    const auto seconds = estimate_s(samples(m));
    if (seconds && *seconds < first_s) {
      first = m;
      first_s = *seconds;
    }
  }
  return first;
}

bool SideBySide::beats_reference(const std::vector<std::size_t>& members, std::size_t member) {
  if (failed(0) || measurement_->trial_error()) return false;
  // Who looks after every pass sees luck more often than who looks once.
  constexpr double kLooks = 5;
  const double confidence = 1 - (1 - settings_.confidence) / kLooks;
  std::vector<double> reference, rival;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    for (const bool first : {true, false}) {
      // Whoever comes next finds the machine as the other one has left it.
      const bool of_rival = first == (pass % 2 == 0);
      const auto each = measurement_->row(members[of_rival ? member : 0], shortest_);
      if (!each) {
        schedule_->fail(of_rival ? member : 0);
        return false;
      }
      (of_rival ? rival : reference).push_back(*each);
    }
    if (pass + 1 < kLeastPasses) continue;
    const auto met = compare(rival, reference, settings_.margin, confidence);
    if (!met) continue;
    if (met->standing == Standing::slower) return true;
    if (met->high <= 1 + settings_.margin) return false;
  }
  return false;
}

bool SideBySide::first_launch(std::size_t i, std::size_t member, Preparation& preparation) {
  // Of a short launch the first says little, and more of them cost little.
  constexpr double kHopeless = 3, kWorthSaving = 1e-3, kWorthSavingAfterLoading = 0.1;
  const auto once = measurement_->first_launch(i, preparation);
  if (!once) {
    schedule_->fail(member);
    return false;
  }
  const auto leader = schedule_->leader();
  const double worth_saving =
      client_.capabilities().compiles_at_run_time ? kWorthSavingAfterLoading : kWorthSaving;
  if (member > 0 && leader && *once > kHopeless * *leader && *once > worth_saving) {
    schedule_->add(member, *once);
    schedule_->retire(member);
    hopeless_[member] = true;
    return false;
  }
  measurement_->expect(i, *once, shortest_);
  return true;
}

}  // namespace rooftune::detail
