// The stream that a search works on.
#ifndef ROOFTUNE_TUNE_OWN_STREAM_H_
#define ROOFTUNE_TUNE_OWN_STREAM_H_

#include <utility>

#include "rooftune/detail/problem.h"

namespace rooftune::detail {

// A stream for one search, on devices that want one: behind what the caller's stream has been
// given, and gone when the search is over, with all its work done.
class OwnStream {
 public:
  OwnStream(Client& client, Problem& problem)
      : client_(client), problem_(problem), callers_(problem.stream()) {
    if (!client.capabilities().compiles_at_run_time) return;
    auto made = client.create_stream();
    if (!made) {
      error = std::unexpected(std::move(made.error()));
      return;
    }
    own_ = *made;
    problem.use(own_);
    auto before = client.record(callers_);
    error = before ? client.wait(own_, **before) : std::unexpected(std::move(before.error()));
  }
  ~OwnStream() {
    if (own_.native == 0) return;
    // An error is that of a candidate, which has been told of.
    static_cast<void>(client_.synchronize(own_));
    problem_.use(callers_);
    client_.destroy_stream(own_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  Status error = {};

 private:
  Client& client_;
  Problem& problem_;
  const Stream callers_;
  Stream own_ = {};
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_OWN_STREAM_H_
