// How an operation describes itself to the tuner: candidates, groups, inputs for measuring, bound.
#ifndef ROOFTUNE_TUNABLE_SET_H_
#define ROOFTUNE_TUNABLE_SET_H_

#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rooftune/device.h"
#include "rooftune/error.h"
#include "rooftune/key.h"

namespace rooftune {

// The unavoidable work of a problem, for the roofline bound.
struct Work {
  double ops = 0;    // arithmetic operations
  double bytes = 0;  // each input once and the output once
  DType dtype = DType::f32;
  bool matrix_units = false;  // the candidates may use matrix units for this type, if any
};

// What a verification found.
struct Check {
  bool complete = true;    // every element of the output was written
  bool contained = true;   // and nothing beside it
  bool conclusive = true;  // false: the operands were useless for a check, nothing was learned
  double error = 0;        // relative
  double error_bound = 0;  // the largest error that is right
  bool right() const { return complete && contained && error <= error_bound; }
};

// Which members of a round that have a guess of their time are worth building and measuring.
struct Shortlist {
  std::size_t most = 16;
  // Of those, so many are launched at most: what times they have by then shows what the others can
  // be expected to take.
  std::size_t most_measured = std::numeric_limits<std::size_t>::max();
  double worst_ratio = 2.5;  // of a guess to the best one: guesses are better than that
  // Times the leader that one may be expected to take, by what others of its kind took, and still
  // be measured: how much guesses differ in their errors within a kind.
  double sibling_ratio = 1.1;
  // Of one kind (Candidate::kind): where the guess of a kind is wrong, it is so for all of them. Of
  // those without a kind any number.
  std::size_t most_of_a_kind = std::numeric_limits<std::size_t>::max();
};

// Inputs for measuring one problem: the caller's operands and a scratch output, never the caller's
// output. Lives for one tune, used by one thread.
template <class Args>
class Trial {
 public:
  virtual ~Trial() = default;
  // What candidates are run on. The same for all of them. (See also copies().)
  virtual const Args& args() const = 0;
  // Fills the output with a pattern that no candidate would produce (called before a checked run;
  // an operation that accumulates restores its starting values instead).
  virtual Status poison(Stream stream) = 0;
  // Compares what the last run wrote with what is right. Must not trust any candidate.
  virtual Result<Check> check(Stream stream) = 0;
  // The same problem with operands in `count` further places of memory, for a search that is to
  // find them cold: its launches take turns over all places (check() is asked only after runs on
  // args()). They live as long as the trial; any numbers do that a kernel takes as long for.
  // Errors: out_of_memory, also where all that the trial holds would pass `most_bytes`;
  // unsupported, as here: then operands are warm.
  virtual Result<std::vector<Args>> copies(std::size_t count, Stream stream,
                                           std::uint64_t most_bytes) {
    static_cast<void>(count), static_cast<void>(stream), static_cast<void>(most_bytes);
    return fail(ErrorKind::unsupported, "the trial makes no copies of its operands");
  }
  // Device memory held by this trial.
  virtual std::uint64_t scratch_bytes() const = 0;
};

// What a call has written into its own output, in the mode "online": made before a candidate writes
// there for the first time, used by one thread for one candidate or several in turn, gone when the
// call returns.
class ResultCheck {
 public:
  virtual ~ResultCheck() = default;
  // Compares the output with what is right. Must not trust any candidate.
  virtual Result<Check> check(Stream stream) = 0;
  // Makes the output what a candidate may be run on again: whatever one has left there, right or
  // wrong, check() must not take it for the result of the next.
  virtual Status restore(Stream stream) = 0;
};

namespace detail {
// The exception being handled, in words.
inline std::string exception_text(const std::string& who) {
  try {
    throw;
  } catch (const std::exception& exception) {
    return who + " threw an exception: " + exception.what();
  } catch (...) {
    return who + " threw an exception of unknown type";
  }
}
}  // namespace detail

// A named way to do an operation. Built by TunableSet::add, whose setters return the candidate.
template <class K, class Args>
class Candidate {
 public:
  using Run = std::function<Status(const Args& args, Stream stream)>;
  using Priority = std::function<int(const K& key)>;

  Candidate(std::string name, Run run) : name_(std::move(name)), run_(std::move(run)) {}

  // A hash or revision of what the candidate runs: evidence of another version is not believed.
  Candidate& version(std::string text) {
    version_ = std::move(text);
    return *this;
  }
  // Whether this candidate can run exactly this problem: null, or the reason (static text). Called
  // at every hit: no allocation, a few nanoseconds, thread-safe.
  Candidate& illegal_because(std::function<const char*(const Args& args)> test) {
    illegal_because_ = std::move(test);
    return *this;
  }
  // Joins a group with an inner priority; may be called several times. Negative: not for this key.
  Candidate& group(std::string name, Priority inner) {
    memberships_.push_back({std::move(name), std::move(inner)});
    return *this;
  }
  Candidate& group(std::string name, int inner) {
    return group(std::move(name), [inner](const K&) { return inner; });
  }
  // A guess of its seconds for a legal problem. Members of a round that have one are measured in
  // the order of their guesses and without the hopeless ones (Shortlist), behind those that have
  // none; a call that does not tune runs the first in that order. Only ratios between candidates
  // count.
  Candidate& predicted(std::function<double(const Args& args)> guess) {
    predicted_ = std::move(guess);
    return *this;
  }
  // What it has in common with candidates that do nearly the same, in other forms (Shortlist).
  Candidate& kind(std::string text) {
    kind_ = std::move(text);
    return *this;
  }
  // Builds what the candidate needs before its first launch (e.g. compiles its kernel): step() or
  // step(args), which is called for every legal problem that is new to the tuner, and in the mode
  // "online" with a copy of args after the call, when operands may be gone: do not look at them.
  // Steps of several candidates may run at the same time. The time counts as compile time; an error
  // is recorded as build_failed.
  template <class Step>
  Candidate& prepare(Step step) {
    if constexpr (std::is_invocable_v<Step&, const Args&>) {
      prepare_ = std::move(step);
    } else {
      prepare_ = [step = std::move(step)](const Args&) { return step(); };
    }
    return *this;
  }

 private:
  template <class, class>
  friend class TunableSet;
  struct Membership {
    std::string group;
    Priority inner;
  };
  std::string name_;
  std::string version_ = "1";
  std::string kind_;
  Run run_;
  std::function<const char*(const Args&)> illegal_because_;
  std::function<Status(const Args&)> prepare_;
  std::function<double(const Args&)> predicted_;
  std::vector<Membership> memberships_;
};

// All candidates of an operation on one device.
template <class K, class Args>
class TunableSet {
 public:
  using MakeTrial = std::function<Result<std::unique_ptr<Trial<Args>>>(
      const K&, const Args&, Stream, std::uint64_t most_bytes)>;

  explicit TunableSet(Client& client) : client_(&client) {}
  Client& client() const { return *client_; }

  // The first candidate added is the fallback: it must accept every problem. Names are unique.
  Candidate<K, Args>& add(std::string name, typename Candidate<K, Args>::Run run) {
    candidates_.push_back(std::make_unique<Candidate<K, Args>>(std::move(name), std::move(run)));
    return *candidates_.back();
  }
  // The priority of a group for a key: higher is tried first, negative is never. A group that is
  // joined but not declared has priority 0.
  TunableSet& group(std::string name, std::function<int(const K&)> priority) {
    groups_.emplace_back(std::move(name), std::move(priority));
    return *this;
  }
  // How inputs for measuring are made: make(key, args, stream), or make(key, args, stream,
  // most_bytes) for a problem of which measuring may take much memory. That one gives out_of_memory
  // before it takes more than most_bytes (autotune.memory_bytes). Without it nothing can be
  // measured and the fallback runs.
  template <class Make>
  TunableSet& inputs(Make make) {
    if constexpr (std::is_invocable_v<Make&, const K&, const Args&, Stream, std::uint64_t>) {
      make_trial_ = std::move(make);
    } else {
      make_trial_ = [make = std::move(make)](const K& key, const Args& args, Stream stream,
                                             std::uint64_t) { return make(key, args, stream); };
    }
    return *this;
  }
  // How a call's own result is checked: make(args, stream, most_bytes) gives a
  // Result<std::unique_ptr<ResultCheck>>. Without it keys are tuned apart, whatever autotune.mode
  // says. The function sees the operands before the call writes: it may overwrite an output of
  // which nothing is read, so that what a candidate leaves out is not taken for its result, and
  // keeps what restore() wants. Errors (out_of_memory above most_bytes): the candidate waits for
  // another call.
  template <class Make>
  TunableSet& result_check(Make make) {
    make_result_check_ = std::move(make);
    return *this;
  }
  // In the mode "online", operands for the first launch of a candidate where the check of a call's
  // result takes several times as long as the call, and on devices with streams for all that are
  // not long: make(args, stream, most_bytes) gives a trial as that of inputs(), but all of its
  // operands are its own, since those of the call may be gone: neither it nor a candidate's
  // legality test looks at them. It is called on a thread that works behind the calls and may be
  // told to hold back; where there are streams, `stream` is one that no call uses. Without it, or
  // with an error, first launches are calls.
  template <class Make>
  TunableSet& rehearsal(Make make) {
    make_rehearsal_ = std::move(make);
    return *this;
  }
  // The roofline of a problem; without it a search never ends early.
  TunableSet& bound(std::function<std::optional<Work>(const K&, const Args&)> work) {
    work_ = std::move(work);
    return *this;
  }
  // Tells problems of one key apart: by parts, among which the winner may differ (finer steps of
  // sizes, alignments of pointers). A part whose problems another candidate does better gets a
  // decision of its own, as far as autotune.background allows. `of` is called at hits: no
  // allocation, a few nanoseconds, thread-safe, no exceptions. `text` is for people.
  TunableSet& parts(std::function<std::uint64_t(const Args&)> of,
                    std::function<std::string(std::uint64_t)> text) {
    part_ = std::move(of);
    part_text_ = std::move(text);
    return *this;
  }

  // Without it the defaults of Shortlist hold.
  TunableSet& shortlist(Shortlist shortlist) {
    shortlist_ = shortlist;
    return *this;
  }
  const Shortlist& shortlist() const { return shortlist_; }

  std::size_t size() const { return candidates_.size(); }
  const std::string& name(std::size_t i) const { return candidates_[i]->name_; }
  const std::string& version(std::size_t i) const { return candidates_[i]->version_; }
  const std::string& kind(std::size_t i) const { return candidates_[i]->kind_; }
  std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
      if (candidates_[i]->name_ == name) return i;
    }
    return std::nullopt;
  }
  // What the operation's own functions throw ends here: as an error, or as a refusal.
  const char* illegal_because(std::size_t i, const Args& args) const {
    const auto& test = candidates_[i]->illegal_because_;
    try {
      return test ? test(args) : nullptr;
    } catch (...) {
      return "its legality test threw an exception";
    }
  }
  Status run(std::size_t i, const Args& args, Stream stream) const {
    try {
      return candidates_[i]->run_(args, stream);
    } catch (...) {
      return fail(ErrorKind::launch_failed, detail::exception_text(name(i)));
    }
  }
  Status prepare(std::size_t i, const Args& args) const {
    try {
      if (candidates_[i]->prepare_) return candidates_[i]->prepare_(args);
    } catch (...) {
      return fail(ErrorKind::build_failed, detail::exception_text(name(i)));
    }
    return {};
  }
  // Nothing where the candidate has no guess, or a useless one.
  std::optional<double> predicted_s(std::size_t i, const Args& args) const {
    const auto& guess = candidates_[i]->predicted_;
    try {
      const double seconds = guess ? guess(args) : 0;
      return seconds > 0 && std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
    } catch (...) {
      return std::nullopt;
    }
  }
  // (group priority, inner priority) pairs of a candidate for a key.
  std::vector<std::pair<int, int>> memberships(std::size_t i, const K& key) const {
    std::vector<std::pair<int, int>> pairs;
    try {
      for (const auto& membership : candidates_[i]->memberships_) {
        int priority = 0;
        for (const auto& [name, of] : groups_) {
          if (name == membership.group) priority = of(key);
        }
        pairs.emplace_back(priority, membership.inner(key));
      }
    } catch (...) {
      pairs.assign(1, {0, 0});  // no preference, but it stays in the plan
    }
    return pairs;
  }
  Result<std::unique_ptr<Trial<Args>>> make_trial(const K& key, const Args& args, Stream stream,
                                                  std::uint64_t most_bytes) const {
    if (!make_trial_) {
      return fail(ErrorKind::unsupported, "the operation has no input generator");
    }
    try {
      auto trial = make_trial_(key, args, stream, most_bytes);
      if (trial && *trial == nullptr) {
        return fail(ErrorKind::unsupported, "the input generator gave no trial");
      }
      return trial;
    } catch (...) {
      return fail(ErrorKind::unsupported, detail::exception_text("the input generator"));
    }
  }
  bool checks_results() const { return make_result_check_ != nullptr; }
  Result<std::unique_ptr<ResultCheck>> make_result_check(const Args& args, Stream stream,
                                                         std::uint64_t most_bytes) const {
    try {
      auto check = make_result_check_(args, stream, most_bytes);
      if (check && *check == nullptr) return fail(ErrorKind::unsupported, "there is no check");
      return check;
    } catch (...) {
      return fail(ErrorKind::unsupported, detail::exception_text("the check of a result"));
    }
  }
  bool rehearses() const { return make_rehearsal_ != nullptr; }
  Result<std::unique_ptr<Trial<Args>>> make_rehearsal(const Args& args, Stream stream,
                                                      std::uint64_t most_bytes) const {
    try {
      auto trial = make_rehearsal_(args, stream, most_bytes);
      if (trial && *trial == nullptr) return fail(ErrorKind::unsupported, "there is no trial");
      return trial;
    } catch (...) {
      return fail(ErrorKind::unsupported, detail::exception_text("the rehearsal"));
    }
  }
  std::optional<Work> work(const K& key, const Args& args) const {
    try {
      return work_ ? work_(key, args) : std::nullopt;
    } catch (...) {
      return std::nullopt;  // no bound: nothing ends the search early
    }
  }
  // Nothing where the operation has no parts.
  std::optional<std::uint64_t> part(const Args& args) const {
    return part_ ? std::optional(part_(args)) : std::nullopt;
  }
  std::string part_text(std::uint64_t part) const { return part_text_ ? part_text_(part) : ""; }

 private:
  Client* client_;
  std::vector<std::unique_ptr<Candidate<K, Args>>> candidates_;
  std::vector<std::pair<std::string, std::function<int(const K&)>>> groups_;
  MakeTrial make_trial_;
  Shortlist shortlist_;
  std::function<Result<std::unique_ptr<ResultCheck>>(const Args&, Stream, std::uint64_t)>
      make_result_check_;
  std::function<Result<std::unique_ptr<Trial<Args>>>(const Args&, Stream, std::uint64_t)>
      make_rehearsal_;
  std::function<std::optional<Work>(const K&, const Args&)> work_;
  std::function<std::uint64_t(const Args&)> part_;
  std::function<std::string(std::uint64_t)> part_text_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_TUNABLE_SET_H_
