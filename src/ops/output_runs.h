// The elements of a strided output, and nothing that lies between them.
#ifndef ROOFTUNE_OPS_OUTPUT_RUNS_H_
#define ROOFTUNE_OPS_OUTPUT_RUNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rooftune/error.h"

namespace rooftune {

// They come as runs that are contiguous in memory, in ascending order. In bytes.
class OutputRuns {
 public:
  struct Axis {
    std::int64_t extent, stride;
  };
  OutputRuns(std::vector<Axis> axes, std::int64_t element_bytes) : run_(element_bytes) {
    std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
    for (Axis& axis : axes) {
      if (axis.stride >= 0) continue;
      first_ += (axis.extent - 1) * axis.stride;
      axis.stride = -axis.stride;
    }
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    std::size_t inside = 0;
    for (; inside < axes.size() && axes[inside].stride == run_; ++inside) {
      run_ *= axes[inside].extent;
    }
    outside_.assign(axes.begin() + static_cast<std::ptrdiff_t>(inside), axes.end());
    reach_ = run_;
    for (const Axis& axis : outside_) {
      count_ *= axis.extent;
      reach_ += (axis.extent - 1) * axis.stride;
    }
  }

  std::int64_t first() const { return first_; }  // from the output's pointer
  std::int64_t bytes_of_run() const { return run_; }
  std::int64_t count() const { return count_; }
  // From the beginning of the first to the last's end.
  std::int64_t reach() const { return reach_; }

  // Each run by its index and its distance from the first.
  template <class F>
  Status for_each(F visit) const {
    for (std::int64_t index = 0; index < count_; ++index) {
      std::int64_t rest = index, at = 0;
      for (const Axis& axis : outside_) {
        at += rest % axis.extent * axis.stride;
        rest /= axis.extent;
      }
      if (Status done = visit(index, at); !done) return done;
    }
    return {};
  }

 private:
  std::int64_t first_ = 0, run_ = 0, count_ = 1, reach_ = 0;
  std::vector<Axis> outside_;  // the nearest first
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_OUTPUT_RUNS_H_
