// In what state the operands of a search are: cold, out of the caches, or warm.
#ifndef ROOFTUNE_TUNE_OPERAND_PLACES_H_
#define ROOFTUNE_TUNE_OPERAND_PLACES_H_

#include <cstddef>
#include <cstdint>

#include "rooftune/settings.h"

namespace rooftune {

struct OperandPlaces {
  // cold or warm
  Operands state = Operands::warm;
  // Launches take turns over operands in so many places of memory. 1 also where the operands are so
  // large that a launch leaves nothing of them in the caches for the next.
  std::size_t places = 1;
};

// What a setting asks of a product of `bytes` (each input once and the output once; 0: not known,
// which is measured warm) on a device with this last cache (0: not known, taken for a large one
// where cold operands are asked for). Left to itself a search has the operands cold when they fill
// more than a quarter of the cache: beside such a product there is no room for those that the
// program uses before and after it. Between two uses of a place as much as the cache holds goes by.
OperandPlaces operand_places(Operands setting, double bytes, std::uint64_t last_level_cache_bytes);

}  // namespace rooftune

#endif  // ROOFTUNE_TUNE_OPERAND_PLACES_H_
