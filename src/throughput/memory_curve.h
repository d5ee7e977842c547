// At which working sets the rate of memory is measured.
#ifndef ROOFTUNE_THROUGHPUT_MEMORY_CURVE_H_
#define ROOFTUNE_THROUGHPUT_MEMORY_CURVE_H_

#include <vector>

#include "rooftune/device.h"

namespace rooftune {

// Working sets in bytes, ascending: some within each cache that the device tells of, where it no
// longer serves a set whole, and just beyond, so that what is interpolated between two of them does
// not straddle an edge; the last one well beyond all caches. With `to_the_end` also one that only
// very large sets ask for.
std::vector<double> curve_points(const Capabilities& capabilities, bool to_the_end);

// The rate at a working set between two points: on a logarithmic scale.
double between_points(double low, double low_rate, double high, double high_rate, double bytes);

}  // namespace rooftune

#endif  // ROOFTUNE_THROUGHPUT_MEMORY_CURVE_H_
