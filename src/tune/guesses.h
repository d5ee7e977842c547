// Candidates' guesses of their own time, and what a round makes of them.
#ifndef ROOFTUNE_TUNE_GUESSES_H_
#define ROOFTUNE_TUNE_GUESSES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rooftune/detail/problem.h"

namespace rooftune::detail {

// A member of a round that is not worth building and measuring.
struct Hopeless {
  std::size_t member;
  std::string reason;
};

// The members of a round in the order of their guesses, the best first; those without a guess stand
// before them, as they are. `hopeless`, where it is not null, gets those that are left out.
std::vector<std::size_t> by_guess(const Problem& problem, std::vector<std::size_t> members,
                                  std::vector<Hopeless>* hopeless);

// What measured times say about guesses: by what factor they are wrong, and how much that factor
// differs between candidates. Both are of one problem, where guesses of related kernels err alike.
class GuessCheck {
 public:
  void add(double guess_s, double measured_s);
  // What a candidate of this guess is likely to take; nothing while no time is known.
  std::optional<double> expected_s(double guess_s) const;
  // Whether a candidate may well beat the leader. True while too few are known.
  bool promising(double guess_s, double leader_s) const;
  // Whether a time is so much longer than its guess makes likely that it was probably disturbed.
  // False while too few are known.
  bool surprising(double guess_s, double measured_s) const;

 private:
  // Of the logarithms of measured times over guesses.
  double mean() const;
  double deviation() const;
  std::vector<double> errors_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_GUESSES_H_
