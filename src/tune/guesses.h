// Candidates' guesses of their own time, and what a round makes of them.
#ifndef ROOFTUNE_TUNE_GUESSES_H_
#define ROOFTUNE_TUNE_GUESSES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rooftune/detail/problem.h"

namespace rooftune::detail {

// The members of a round in the order of their guesses, the best first; those without a guess stand
// before them, as they are.
std::vector<std::size_t> by_guess(const Problem& problem, std::vector<std::size_t> members);

// A member of a round that is not worth building and measuring.
struct Hopeless {
  std::size_t member;
  std::string reason;
};

// Those of them that are worth building, in the order in which they are measured: the best guess of
// each kind (Candidate::kind), then the second of each, and so on, each time the best first. Those
// without a kind are all first of theirs, and those without a guess stand before all. The others go
// to `hopeless`.
//
// Why the kinds: what a guess does not know of a processor it does not know of all kernels that are
// made alike, so that the second of a kind is worth a launch only once the first has shown how good
// the kind is.
std::vector<std::size_t> short_list(const Problem& problem, std::vector<std::size_t> members,
                                    std::vector<Hopeless>& hopeless);

// What measured times say about guesses: by what factor they are wrong, and how much that factor
// differs between kinds and between candidates. All is of one problem. A candidate without a kind
// ("") is one of its own.
class GuessCheck {
 public:
  void add(std::string_view kind, double guess_s, double measured_s);
  // What a candidate of this guess is likely to take, by its kind where one of that was measured;
  // nothing while no time is known.
  std::optional<double> expected_s(std::string_view kind, double guess_s) const;
  // Whether a candidate may well beat the leader. True while too few are known.
  bool promising(std::string_view kind, double guess_s, double leader_s,
                 double sibling_ratio = Shortlist{}.sibling_ratio) const;
  // Whether a time is so much longer than its guess makes likely that it was probably disturbed.
  // False while too few are known.
  bool surprising(double guess_s, double measured_s) const;

 private:
  // Logarithms of measured times over guesses.
  struct Error {
    std::string kind;
    double log;
  };
  // Of all kinds alike.
  double mean() const;
  // Nothing where none of the kind is known.
  std::optional<double> mean_of(std::string_view kind) const;
  double deviation() const;
  std::vector<Error> errors_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_GUESSES_H_
