#include "rooftune/events.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <new>

#include "base/json.h"
#include "fmt/format.h"

namespace rooftune {
namespace {

// Small numbers in the order in which threads first reported a span: the viewers sort by them.
std::uint64_t this_thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// Microseconds, the unit of the format, to the nanosecond.
double microseconds(double seconds) { return std::isfinite(seconds) ? seconds * 1e6 : 0; }

}  // namespace

void Counters::on_span(const Span& span) {
  const std::lock_guard lock(mutex_);
  try {
    counts_[std::string(span.category)][std::string(span.name)] += span.count;
  } catch (const std::bad_alloc&) {
    // A count lost for want of memory must not end the work that is being counted.
  }
}

std::map<std::string, std::uint64_t> Counters::counts(std::string_view category) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(std::string(category));
  return found == counts_.end() ? std::map<std::string, std::uint64_t>() : found->second;
}

std::uint64_t Counters::total(std::string_view category) const {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts(category)) sum += count;
  return sum;
}

void Counters::reset() {
  const std::lock_guard lock(mutex_);
  counts_.clear();
}

void Trace::on_span(const Span& span) {
  const std::lock_guard lock(mutex_);
  if (spans_.size() >= limit_) {
    ++dropped_;
    return;
  }
  try {
    spans_.push_back({std::string(span.category), std::string(span.name), std::string(span.device),
                      span.begin_s, span.end_s, this_thread_number(), span.count});
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

std::string Trace::json() const {
  const std::lock_guard lock(mutex_);
  // Times count from the first span: a steady clock starts at boot, which no viewer shows well.
  double origin_s = 0;
  bool have_origin = false;
  // One process of the trace per device, numbered in the order of appearance.
  std::map<std::string_view, std::size_t> devices;
  for (const Kept& span : spans_) {
    if (std::isfinite(span.begin_s) && (!have_origin || span.begin_s < origin_s)) {
      origin_s = span.begin_s;
      have_origin = true;
    }
    devices.emplace(span.device, devices.size() + 1);
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  auto out = std::back_inserter(text);
  const char* separator = "\n";
  for (const auto& [device, number] : devices) {
    fmt::format_to(out,
                   R"({}{{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                   separator, number, json_string(device));
    separator = ",\n";
  }
  for (const Kept& span : spans_) {
    const double begin = microseconds(span.begin_s - origin_s);
    const double duration = std::max(microseconds(span.end_s - span.begin_s), 0.0);
    fmt::format_to(out,
                   R"({}{{"ph":"X","cat":{},"name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f})",
                   separator, json_string(span.category), json_string(span.name),
                   devices.at(span.device), span.thread, begin, duration);
    if (span.count != 1) fmt::format_to(out, R"(,"args":{{"count":{}}})", span.count);
    text += '}';
    separator = ",\n";
  }
  fmt::format_to(out, "\n],\"otherData\":{{\"dropped_spans\":{}}}}}\n", dropped_);
  return text;
}

}  // namespace rooftune
