#include "fault_campaign.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "fault_script.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

// A script's board: memory that its processes and this one see alike.
struct Unmap {
  void operator()(FaultBoard* board) const { munmap(board, sizeof *board); }
};
using SharedBoard = std::unique_ptr<FaultBoard, Unmap>;

SharedBoard make_board() {
  void* const memory =
      mmap(nullptr, sizeof(FaultBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return SharedBoard(memory == MAP_FAILED ? nullptr : new (memory) FaultBoard());
}

class Campaign {
 public:
  explicit Campaign(const FaultCampaignOptions& options) : options_(options) {}
  ~Campaign() {
    for (const Running& script : running_) give_up(script);
  }

  Result<FaultCampaignReport> run() {
    std::uint64_t next = 0;
    while (next < options_.scripts || !running_.empty()) {
      while (next < options_.scripts && running_.size() < std::size_t(options_.at_once)) {
        if (Status started = start(options_.seed + next); !started) {
          return std::unexpected(started.error());
        }
        ++next;
      }
      if (!collect()) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    return std::move(report_);
  }

 private:
  struct Running {
    pid_t id = 0;
    std::uint64_t seed = 0;
    double since_s = 0;
    SharedBoard board;
    fs::path folder;
  };

  Status start(std::uint64_t seed) {
    Running script{0, seed, steady_now_s(), make_board(),
                   options_.folder / ("script" + std::to_string(seed))};
    std::error_code error;
    fs::create_directories(script.folder, error);
    if (script.board == nullptr || error) return fail(ErrorKind::io, "no memory or no folder");
    script.id = fork();
    if (script.id < 0) return fail(ErrorKind::io, "no process");
    if (script.id == 0) {
      run_fault_script(seed, script.folder, *script.board);
      _exit(0);
    }
    running_.push_back(std::move(script));
    return {};
  }

  static void give_up(const Running& script) {
    kill(script.id, SIGKILL);
    waitpid(script.id, nullptr, 0);
  }

  // True when a script has ended, or was given up.
  bool collect() {
    for (auto script = running_.begin(); script != running_.end(); ++script) {
      int status = 0;
      const bool ended = waitpid(script->id, &status, WNOHANG) == script->id;
      if (!ended && steady_now_s() - script->since_s < options_.patience_s) continue;
      if (!ended) {
        give_up(*script);
        note(report_.stuck, script->seed, "it does not end");
      } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        note(report_.crashed, script->seed, fmt::format("it ended with status {}", status));
      }
      take_in(*script);
      running_.erase(script);
      if (options_.progress) options_.progress(report_.scripts);
      return true;
    }
    return false;
  }

  void note(std::size_t& kind, std::uint64_t seed, const std::string& what) {
    ++kind;
    tell(seed, what);
  }
  void tell(std::uint64_t seed, const std::string& what) {
    report_.faults.push_back(fmt::format("seed {}: {}", seed, what));
  }

  void take_in(const Running& script) {
    const FaultBoard& board = *script.board;
    ++report_.scripts;
    report_.calls += board.calls;
    report_.tuned += board.tuned;
    report_.fallbacks += board.fallbacks;
    report_.errors += board.errors;
    report_.processes += board.processes;
    report_.killed += board.killed;
    report_.died += board.died;
    report_.quarantines += board.quarantines;
    report_.finished += board.finished;
    report_.wrong += board.wrong;
    report_.lost += board.lost;
    report_.innocent += board.innocent;
    report_.repeated += board.repeated;
    report_.failed += board.failed;
    report_.unhealthy += board.unhealthy;
    for (std::size_t i = 0; i < FaultBoard::kTexts && i < board.texts; ++i) {
      tell(script.seed, board.text[i].data());
    }
    std::error_code ignored;
    fs::remove_all(script.folder, ignored);
  }

  const FaultCampaignOptions options_;
  FaultCampaignReport report_;
  std::vector<Running> running_;
};

}  // namespace

Result<FaultCampaignReport> run_fault_campaign(const FaultCampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace rooftune
