// The distribution of regret as a picture.
#ifndef ROOFTUNE_CLI_AUDIT_PICTURE_H_
#define ROOFTUNE_CLI_AUDIT_PICTURE_H_

#include <span>
#include <string>
#include <vector>

namespace rooftune::cli {

struct Curve {
  std::string label;
  std::vector<double> regrets;  // 0.02 is 2 %; in any order
};

// A cumulative distribution for each curve that has values, as one SVG document that needs nothing
// else: x is regret in percent, on a scale of logarithms from 0.1 % on (what is less lies at the
// left edge) to the first round number that is not below any; y is the share of the values that
// are not above x. `margin` is shown as a line.
std::string regret_picture(const std::string& title, std::span<const Curve> curves, double margin);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_AUDIT_PICTURE_H_
