// One key that is tuned by its calls: what online.cc (calls) and online_end.cc (the beginning of
// the tune, its rounds and its end) share.
#ifndef ROOFTUNE_TUNE_CALL_TUNE_H_
#define ROOFTUNE_TUNE_CALL_TUNE_H_

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/detail/online_tune.h"
#include "rooftune/tuner.h"
#include "tune/conclusion.h"
#include "tune/context_internals.h"
#include "tune/guesses.h"
#include "tune/online.h"
#include "tune/preparation.h"
#include "tune/rehearsal.h"
#include "tune/schedule.h"
#include "tune/turn.h"

namespace rooftune::detail {

class CallTune final : public OnlineTune {
 public:
  CallTune(TuneContext& context, std::string tuner, std::shared_ptr<const Decision> prior);
  ~CallTune() override;

  Result<Outcome> call(Problem& problem) override;
  std::vector<std::size_t> order() const override;

 private:
  // What has happened to a candidate.
  struct Visit {
    bool ran = false;       // on a call's output, in this process
    bool launched = false;  // whatever on, in whatever process: its first launch is over
    bool checked = false;   // not to be verified any more
    bool in_calls = false;  // its first launch is to be a call
    int checks = 0, refused = 0;
    std::optional<double>
        doubtful_s;  // a first sample that was far off, and may have been disturbed
    bool untimed = false;
  };
  // Where nobody else is left a call goes further.
  enum class Resort : bool { usual, last };

  // --- The beginning: online_end.cc ------------------------------------------------------------

  // Gives the decision where none has to be made.
  std::shared_ptr<const Decision> begin(const Problem& problem);
  void begin_round(const Problem& problem, const std::vector<std::size_t>& round);
  void leave_far_guesses(const Problem& problem);
  std::optional<double> best_guess(const Problem& problem) const;
  void give_up(std::size_t i);

  // --- One call: online.cc ---------------------------------------------------------------------

  Result<Outcome> sample(Problem& problem);
  std::optional<std::size_t> next_member(const Problem& problem);
  bool too_far(std::size_t i) const;
  bool worth_trying(const Problem& problem, std::size_t i) const;
  bool run(Problem& problem, std::size_t i, std::optional<std::size_t> member, double scale,
           Resort resort);
  bool run_sample(Problem& problem, std::size_t i, std::optional<std::size_t> member, double scale);
  void open(Problem& problem, Outcome& outcome);
  bool restore(Problem& problem);
  bool verify(Problem& problem, std::size_t i, double checking_s);
  bool take_check(std::size_t i, const Result<Check>& found);
  void failed_with(std::size_t i, Verdict verdict, const Error& error);
  void out(std::size_t i, Verdict verdict, std::string reason);
  void failed(std::size_t i);

  // Rehearsals.
  enum class FirstLaunch : std::uint8_t { in_this_call, not_now, over };
  FirstLaunch first_launch(const Problem& problem, std::size_t i);
  void take_rehearsal(std::size_t i, const Rehearsal::Outcome& outcome);
  bool has_time(std::size_t i) const;
  void close_rehearsal();

  // Times.
  void begin_sample();
  void take_time(const Problem& problem, std::size_t i, std::size_t member, double seconds,
                 bool first, double scale);
  bool doubtful(std::size_t i, double seconds, const std::optional<double>& guess) const;
  bool tells(double seconds) const;

  // Who is known.
  bool right(std::size_t i) const;
  bool anybody_right() const;
  const std::vector<double>& samples_of(std::size_t i) const;
  std::optional<double> time_of(std::size_t i) const;
  std::vector<std::size_t> order_now() const;
  void publish_order();

  // --- The end: online_end.cc ------------------------------------------------------------------

  void go_on(const Problem& problem, Outcome& outcome);
  bool next_round(const Problem& problem);
  void record(Decision& decision, bool partial) const;
  Result<Decision> decide(const Problem& problem);
  std::shared_ptr<const Decision> conclude_here(Decision decided);
  Keeper& keeper() { return *context_.internals().keeper; }
  void keep(std::shared_ptr<const Decision> decision);
  void keep_partial();
  void keep_unfinished();
  std::vector<bool> untimed() const;
  Outcome ended_with(std::shared_ptr<const Decision> decision);

  CandidateEvidence& evidence(std::size_t i) { return decision_.candidates[i]; }

  TuneContext& context_;
  const AutotuneSettings& settings_;
  Client& client_;
  const std::string tuner_;
  std::shared_ptr<const Decision> prior_;
  pid_t owner_;

  std::atomic<bool> taken_{false};  // by the call that is a sample, whose is all that follows
  bool begun_ = false, ended_ = false;
  Decision decision_;
  Plan plan_;
  std::vector<Visit> visits_;  // by candidate
  GuessCheck guesses_;
  Likeness likeness_;
  double check_s_ = 0;  // that the last check in a call took
  // Of the round in progress.
  std::size_t round_ = 0;
  std::vector<std::size_t> members_, later_, far_;
  std::optional<Schedule> schedule_;
  std::vector<double> times_;  // by candidate, infinite where there is none yet
  int refused_ = 0;
  // Of the call in progress: made when first wanted.
  std::unique_ptr<ResultCheck> check_;
  bool opening_ = false;  // it is the first one, and has the first launches of all
  // Of the sample in progress.
  double sum_s_ = 0;
  int calls_ = 0;
  std::shared_ptr<Environment> environment_;  // where the key was first met
  KeyPlace place_;
  std::optional<TuningTurn> turn_;  // taken for first launches in calls, one at a time
  std::optional<Error> lost_;       // the device
  double kept_at_s_ = 0;            // when the evidence was last written

  mutable std::mutex order_mutex_;
  std::vector<std::size_t> order_ = {0};

  std::vector<std::unique_ptr<Problem>> kept_;  // of each round, for what outlives a call
  std::vector<std::unique_ptr<Preparation>> preparations_;  // the last is of this round
  std::unique_ptr<Rehearsal> rehearsal_;                    // when first wanted
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_CALL_TUNE_H_
