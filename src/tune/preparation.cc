#include "tune/preparation.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "tune/charge.h"

namespace rooftune::detail {

Preparation::Preparation(const Client& client, const std::vector<std::size_t>& members,
                         std::function<Status(std::size_t)> build, std::size_t threads)
    : client_(client), build_(std::move(build)) {
  for (const std::size_t member : members) entries_.push_back({member});
  threads = std::min(threads, entries_.size());
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Fewer threads, or none: wait() builds what is missing.
  }
}

Preparation::~Preparation() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void Preparation::build(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.stage = Stage::building;
  lock.unlock();
  const Stopwatch watch(client_);
  Status status = build_(entry.member);
  const double seconds = watch.seconds();
  lock.lock();
  entry.built = {std::move(status), seconds};
  entry.stage = Stage::done;
  changed_.notify_all();
}

void Preparation::work() {
  std::unique_lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (stopping_) return;
    if (entry.stage == Stage::open) build(entry, lock);
  }
}

std::vector<Preparation::Entry>::iterator Preparation::find(std::size_t member) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& each) { return each.member == member; });
}

Preparation::Built Preparation::wait(std::size_t member) {
  std::unique_lock lock(mutex_);
  const auto entry = find(member);
  if (entry == entries_.end()) return {build_(member), 0};
  if (entry->stage == Stage::open) build(*entry, lock);
  changed_.wait(lock, [&] { return entry->stage == Stage::done; });
  return entry->built;
}

std::optional<Preparation::Built> Preparation::ready(std::size_t member) {
  if (threads_.empty()) return wait(member);
  const std::lock_guard lock(mutex_);
  const auto entry = find(member);
  if (entry == entries_.end()) return Built{build_(member), 0};
  return entry->stage == Stage::done ? std::optional(entry->built) : std::nullopt;
}

}  // namespace rooftune::detail
