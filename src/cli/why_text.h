// A decision in words, for somebody who has never seen one.
#ifndef ROOFTUNE_CLI_WHY_TEXT_H_
#define ROOFTUNE_CLI_WHY_TEXT_H_

#include <string>

#include "rooftune/decision.h"

namespace rooftune::cli {

// Which kernel won and how sure that is.
std::string winner_text(const Decision& decision);
// When the search ended and why: the limit, what binds it, how near the winner is.
std::string search_text(const Decision& decision);
// Seconds by cause, launches, memory.
std::string cost_text(const Decision& decision);
// Every candidate, grouped by verdict, the fastest first.
std::string candidates_text(const Decision& decision);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_WHY_TEXT_H_
