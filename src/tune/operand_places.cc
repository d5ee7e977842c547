#include "tune/operand_places.h"

#include <algorithm>
#include <cmath>

namespace rooftune {

OperandPlaces operand_places(Operands setting, double bytes, std::uint64_t last_level_cache_bytes) {
  constexpr double kSharesOfCache = 4;
  // Of a large processor, where it is not known.
  constexpr double kUnknownCache = 256e6;
  // Of products so small that this is too few, not a thousand runs fit between two uses; that is
  // what a program does at most.
  constexpr double kMostPlaces = 1024;
  const double known = double(last_level_cache_bytes);
  if (setting == Operands::warm || !(bytes > 0) || !std::isfinite(bytes)) return {};
  if (setting == Operands::automatic && (known == 0 || bytes * kSharesOfCache <= known)) return {};
  const double between = known > 0 ? known : kUnknownCache;
  if (bytes >= between) return {Operands::cold, 1};
  const double places = std::min(1 + std::ceil(between / bytes), kMostPlaces);
  return {Operands::cold, static_cast<std::size_t>(places)};
}

}  // namespace rooftune
