// Building candidates ahead of their turn: on a device with a run-time compiler that takes longer
// than everything else a search does.
#ifndef ROOFTUNE_TUNE_PREPARATION_H_
#define ROOFTUNE_TUNE_PREPARATION_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "rooftune/device.h"
#include "rooftune/error.h"

namespace rooftune::detail {

// Builds the members of a round in their order, each once, on threads of its own.
class Preparation {
 public:
  // `build` is called with the members, from several threads at once when `threads` is above 0;
  // with 0 wait() builds. It and the client, whose clock tells the
  // seconds, must outlive this object.
  Preparation(const Client& client, const std::vector<std::size_t>& members,
              std::function<Status(std::size_t)> build, std::size_t threads);
  // Waits for what is being built; what nobody has begun is left.
  ~Preparation();
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  struct Built {
    Status status;
    double seconds = 0;  // that building took, wherever
  };
  // What became of a member; builds it here when no thread has begun to.
  Built wait(std::size_t member);
  // The same without waiting for a thread: nothing while the member is not built yet.
  std::optional<Built> ready(std::size_t member);

 private:
  enum class Stage { open, building, done };
  struct Entry {
    std::size_t member;
    Stage stage = Stage::open;
    Built built = {};
  };
  std::vector<Entry>::iterator find(std::size_t member);
  void work();
  void build(Entry& entry, std::unique_lock<std::mutex>& lock);

  const Client& client_;
  const std::function<Status(std::size_t)> build_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rooftune::detail

#endif  // ROOFTUNE_TUNE_PREPARATION_H_
