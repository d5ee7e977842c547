// Candidates' guesses of their own time, and what a round makes of them.
#ifndef ROOFTUNE_TUNE_GUESSES_H_
#define ROOFTUNE_TUNE_GUESSES_H_

#include <cstddef>
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

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_GUESSES_H_
