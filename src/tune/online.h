// Tuning by the calls themselves (autotune.mode = "online"): what is left when nothing is measured
// apart. With search.cc and measurement.cc the part of this room that drives a device.
#ifndef ROOFTUNE_TUNE_ONLINE_H_
#define ROOFTUNE_TUNE_ONLINE_H_

#include <cstddef>
#include <optional>

namespace rooftune::detail {

// No call from the second on is to take longer than this many times the winner's time.
inline constexpr double kMostPerCall = 2.2;
// A candidate that is slower than this many times the leader is not wanted a second time.
inline constexpr double kFar = 1.8;

// How many times the leader's time a candidate may be expected to take and still be tried, when the
// check of its first result takes `check_s`: together they stay below kMostPerCall, with a tenth of
// the leader's time to spare. A check that takes longer than the product cannot be fitted in, and
// does not count.
double most_expected_ratio(double leader_s, double check_s);

// Whether first launches are to be calls where the leader takes so long: not where the check of a
// result is long and takes several times as long as the call.
bool fits_in_call(double leader_s, double check_s);
// The same where launches are enqueued on streams: there a first launch beside the calls takes no
// processor from them, and only what is long beside all that comes with one has it in a call.
bool fits_in_call_on_stream(double leader_s, double check_s);

// Whether the candidates have their first launches all in the first call where the fastest is
// expected to take so long (nothing: nobody knows): where code and memory that are not in a cache
// yet, the note before a launch and the check after it take longer than the product, any call that
// has them is many times as long as the others, while the first, which prepares everything, is so
// anyway.
bool first_launches_at_once(std::optional<double> expected_s);

// Which calls of a key can be compared with each other: those with the same work as the first,
// since a key stands for a range of sizes. Where no size comes back, all are taken, in proportion.
class Likeness {
 public:
  // The factor by which the time of a call with this work is to be multiplied; nothing for a call
  // that says nothing. `work`: operations and bytes, or nothing where they are not known.
  struct Size {
    double ops = 0, bytes = 0;
    bool operator==(const Size&) const = default;
  };
  std::optional<double> scale(const std::optional<Size>& work);

 private:
  bool begun_ = false, any_ = false;
  std::optional<Size> first_;
  int strangers_ = 0;  // calls in a row that were not like the first
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_ONLINE_H_
