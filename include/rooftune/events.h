// What can be seen while it happens: launches, compilations, measurements, decisions. A subscriber
// is told of each; without one, nothing is recorded and a launch pays one load.
#ifndef ROOFTUNE_EVENTS_H_
#define ROOFTUNE_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rooftune {

// A stretch of time that the library spent on something. Times are seconds of a steady clock of
// the process (the same for all devices), so that spans of all devices line up in one trace.
struct Span {
  std::string_view category;  // "launch", "compile", "probe", "tune", "measure", "verify", "store",
                              // "refine"
  std::string_view name;      // kernel, candidate or key
  std::string_view device;    // Client::name()
  double begin_s = 0, end_s = 0;
  // How many the span stands for: launches that are timed in a row are reported together
  // afterwards, because telling of each would be measured as well.
  std::uint64_t count = 1;
};

// Called on the thread that did the work, possibly from several threads at once; must not call
// back into the library, and the string views live only during the call.
class Subscriber {
 public:
  virtual ~Subscriber() = default;
  virtual void on_span(const Span& span) = 0;
};

// Adds up the counts of spans by category and name.
class Counters : public Subscriber {
 public:
  void on_span(const Span& span) override;
  // How many of this category, by name; e.g. counts("launch").
  std::map<std::string, std::uint64_t> counts(std::string_view category) const;
  std::uint64_t total(std::string_view category) const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::uint64_t>> counts_;
};

// Keeps spans and gives them as a Chrome / Perfetto trace ("traceEvents" JSON). Bounded: after
// `limit` spans later ones are dropped and the trace says how many.
class Trace : public Subscriber {
 public:
  explicit Trace(std::size_t limit = 1'000'000) : limit_(limit) {}
  void on_span(const Span& span) override;
  std::string json() const;

 private:
  struct Kept {
    std::string category, name, device;
    double begin_s, end_s;
    std::uint64_t thread, count;
  };
  mutable std::mutex mutex_;
  std::size_t limit_;
  std::uint64_t dropped_ = 0;
  std::vector<Kept> spans_;
};

// Passes every span on to several subscribers.
class Fanout : public Subscriber {
 public:
  explicit Fanout(std::vector<Subscriber*> subscribers) : subscribers_(std::move(subscribers)) {}
  void on_span(const Span& span) override {
    for (Subscriber* subscriber : subscribers_) subscriber->on_span(span);
  }

 private:
  std::vector<Subscriber*> subscribers_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_EVENTS_H_
