// One call as the search sees it: the operation with its types taken off. Not part of the stable
// surface.
#ifndef ROOFTUNE_DETAIL_PROBLEM_H_
#define ROOFTUNE_DETAIL_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rooftune/tunable_set.h"

namespace rooftune::detail {

class Problem {
 public:
  virtual ~Problem() = default;
  virtual std::size_t size() const = 0;
  virtual const std::string& name(std::size_t i) const = 0;
  virtual const std::string& version(std::size_t i) const = 0;
  virtual const std::string& kind(std::size_t i) const = 0;
  virtual const char* illegal_because(std::size_t i) const = 0;
  virtual std::vector<std::pair<int, int>> memberships(std::size_t i) const = 0;
  virtual std::optional<double> predicted_s(std::size_t i) const = 0;
  virtual Shortlist shortlist() const = 0;
  virtual std::optional<Work> work() const = 0;
  virtual std::string key_json() const = 0;
  // See TunableSet::parts; nothing and "" where the operation has none.
  virtual std::optional<std::uint64_t> part() const { return std::nullopt; }
  virtual std::string part_text() const { return ""; }
  virtual Status prepare(std::size_t i) = 0;  // several candidates at the same time
  // The call itself, on the caller's operands.
  virtual bool checks_results() const = 0;
  virtual Result<std::unique_ptr<ResultCheck>> make_result_check(std::uint64_t most_bytes) = 0;
  virtual Status run(std::size_t i) = 0;
  // The same problem for those who prepare candidates when the call is over.
  virtual std::unique_ptr<Problem> kept() const = 0;
  // Measuring. make_trial() comes first and once; the others act on what it made.
  virtual Status make_trial(std::uint64_t most_bytes) = 0;
  // The same with operands of its own, for a problem that is kept: see TunableSet::rehearsal.
  virtual bool rehearses() const = 0;
  virtual Status make_rehearsal(std::uint64_t most_bytes) = 0;
  virtual std::uint64_t scratch_bytes() const = 0;
  virtual Status poison() = 0;
  // So many further places with operands; see Trial::copies().
  virtual Status make_copies(std::size_t count, std::uint64_t most_bytes) = 0;
  virtual Status run_checked(std::size_t i) = 0;  // on what check() looks at
  virtual Status run_trial(std::size_t i) = 0;    // on the next place in turn
  virtual Result<Check> check() = 0;
  virtual Stream stream() const = 0;
  // Everything that follows happens on this stream.
  virtual void use(Stream stream) = 0;
  virtual Client& client() const = 0;
};

template <class K, class Args>
class KeptProblem;

template <class K, class Args>
class TypedProblem : public Problem {
 public:
  TypedProblem(const TunableSet<K, Args>& set, const K& key, const Args& args, Stream stream)
      : set_(set), key_(key), args_(args), stream_(stream) {}
  std::size_t size() const override { return set_.size(); }
  const std::string& name(std::size_t i) const override { return set_.name(i); }
  const std::string& version(std::size_t i) const override { return set_.version(i); }
  const std::string& kind(std::size_t i) const override { return set_.kind(i); }
  const char* illegal_because(std::size_t i) const override {
    return set_.illegal_because(i, args_);
  }
  std::vector<std::pair<int, int>> memberships(std::size_t i) const override {
    return set_.memberships(i, key_);
  }
  std::optional<double> predicted_s(std::size_t i) const override {
    return set_.predicted_s(i, args_);
  }
  Shortlist shortlist() const override { return set_.shortlist(); }
  std::optional<Work> work() const override { return set_.work(key_, args_); }
  std::string key_json() const override { return rooftune::key_json(key_); }
  std::optional<std::uint64_t> part() const override { return set_.part(args_); }
  std::string part_text() const override {
    const auto own = part();
    return own ? set_.part_text(*own) : "";
  }
  Status prepare(std::size_t i) override { return set_.prepare(i, args_); }
  bool checks_results() const override { return set_.checks_results(); }
  Result<std::unique_ptr<ResultCheck>> make_result_check(std::uint64_t most_bytes) override {
    return set_.make_result_check(args_, stream_, most_bytes);
  }
  Status run(std::size_t i) override { return set_.run(i, args_, stream_); }
  std::unique_ptr<Problem> kept() const override {
    return std::make_unique<KeptProblem<K, Args>>(set_, key_, args_, stream_);
  }
  Status make_trial(std::uint64_t most_bytes) override {
    auto trial = set_.make_trial(key_, args_, stream_, most_bytes);
    if (!trial) return std::unexpected(trial.error());
    trial_ = std::move(*trial);
    return {};
  }
  bool rehearses() const override { return set_.rehearses(); }
  Status make_rehearsal(std::uint64_t most_bytes) override {
    auto trial = set_.make_rehearsal(args_, stream_, most_bytes);
    if (!trial) return std::unexpected(trial.error());
    trial_ = std::move(*trial);
    return {};
  }
  std::uint64_t scratch_bytes() const override { return trial_->scratch_bytes(); }
  Status poison() override {
    try {
      return trial_->poison(stream_);
    } catch (...) {
      return fail(ErrorKind::unsupported, exception_text("the trial"));
    }
  }
  Status make_copies(std::size_t count, std::uint64_t most_bytes) override {
    try {
      auto copies = trial_->copies(count, stream_, most_bytes);
      if (!copies) return std::unexpected(copies.error());
      copies_ = *std::move(copies);
    } catch (...) {
      return fail(ErrorKind::unsupported, exception_text("the trial"));
    }
    return {};
  }
  Status run_checked(std::size_t i) override { return set_.run(i, trial_->args(), stream_); }
  Status run_trial(std::size_t i) override {
    const std::size_t place = turn_;
    turn_ = turn_ < copies_.size() ? turn_ + 1 : 0;
    return place == 0 ? run_checked(i) : set_.run(i, copies_[place - 1], stream_);
  }
  Result<Check> check() override {
    try {
      return trial_->check(stream_);
    } catch (...) {
      return fail(ErrorKind::unsupported, exception_text("the trial"));
    }
  }
  Stream stream() const override { return stream_; }
  void use(Stream stream) override { stream_ = stream; }
  Client& client() const override { return set_.client(); }

 private:
  const TunableSet<K, Args>& set_;
  const K& key_;
  const Args& args_;
  Stream stream_;
  std::unique_ptr<Trial<Args>> trial_;
  std::vector<Args> copies_;
  std::size_t turn_ = 0;  // 0: the trial's own operands, i: copy i - 1
};

// A problem with copies of its own of the key and the arguments. What those point to may be gone.
template <class K, class Args>
struct KeptArguments {
  K kept_key;
  Args kept_args;
};
template <class K, class Args>
class KeptProblem final : private KeptArguments<K, Args>, public TypedProblem<K, Args> {
 public:
  KeptProblem(const TunableSet<K, Args>& set, const K& key, const Args& args, Stream stream)
      : KeptArguments<K, Args>{key, args},
        TypedProblem<K, Args>(set, this->kept_key, this->kept_args, stream) {}
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_DETAIL_PROBLEM_H_
