#include "kill_campaign.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"
#include "store/environment.h"
#include "store/location.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

constexpr int kKeysEach = 20;

// --- Keys --------------------------------------------------------------------------------------

// A product, found by a number. Different numbers below kProducts have different keys: sizes on
// different steps of the grid, or another batch, type, layout or beta.
constexpr std::array<std::int64_t, 6> kSizes = {8, 15, 27, 64, 100, 200};
constexpr std::array<std::int64_t, 4> kBatches = {1, 2, 3, 7};
constexpr std::size_t kProducts = 6 * 6 * 6 * 4 * 2 * 2 * 2 * 2;
// Has no divisor in common with kProducts: neighbours in number are far apart in size.
constexpr std::size_t kStep = 5003;

struct Operands {
  explicit Operands(std::size_t number) {
    std::size_t rest = number * kStep % kProducts;
    const auto digit = [&](std::size_t base) { return std::exchange(rest, rest / base) % base; };
    const std::int64_t m = kSizes[digit(6)], n = kSizes[digit(6)], k = kSizes[digit(6)];
    const std::int64_t batch = kBatches[digit(4)];
    const DType dtype = digit(2) == 0 ? DType::f32 : DType::f64;
    const bool lhs_transposed = digit(2) == 1, rhs_transposed = digit(2) == 1;
    options.beta = double(digit(2));
    lhs = make(dtype, {batch, m, k}, lhs_transposed, lhs_memory, 1);
    rhs = make(dtype, {batch, k, n}, rhs_transposed, rhs_memory, 2);
    out = make(dtype, {batch, m, n}, false, out_memory, 3);
  }

  static View make(DType dtype, std::array<std::int64_t, 3> shape, bool transposed, Tensor& memory,
                   unsigned seed) {
    if (transposed) std::swap(shape[1], shape[2]);
    memory = *Tensor::make(dtype, shape);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < memory.elements(); ++i) {
      if (dtype == DType::f32) {
        memory.as<float>()[i] = float(normal(random));
      } else {
        memory.as<double>()[i] = normal(random);
      }
    }
    return transposed ? memory.view().transposed() : memory.view();
  }

  Tensor lhs_memory, rhs_memory, out_memory;
  View lhs, rhs, out;
  MatmulOptions options;
};

// The keys of a process in its round: the first half is also the second half of the one before.
std::vector<std::size_t> keys_of(int process, std::size_t round, int processes) {
  const std::size_t all = std::size_t(processes) * kKeysEach / 2;
  std::vector<std::size_t> keys;
  for (int i = 0; i < kKeysEach; ++i) {
    const std::size_t place = (std::size_t(process) * kKeysEach / 2 + std::size_t(i)) % all;
    keys.push_back(round * all + place);
  }
  return keys;
}

std::size_t rounds(int processes) { return kProducts / (std::size_t(processes) * kKeysEach / 2); }

// --- Workers -----------------------------------------------------------------------------------

// What a worker writes to the pipe, in one piece that no kill can tear.
struct Message {
  enum Kind : std::uint8_t { begun, finished, fault } kind = begun;
  std::uint8_t process = 0;
  bool tuned = false;
  Origin origin = Origin::fallback;
  std::uint32_t life = 0;  // which one of the process's lives
  std::uint64_t key = 0, round = 0;
  char text[400] = {};
};
static_assert(sizeof(Message) <= PIPE_BUF);

void send(int pipe, const Message& message) {
  while (write(pipe, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

Message fault_of(Message message, const std::string& text) {
  message.kind = Message::fault;
  std::strncpy(message.text, text.c_str(), sizeof message.text - 1);
  return message;
}

Result<std::unique_ptr<Session>> open_session(const fs::path& folder, Warn warn) {
  Settings settings;
  settings.environment = folder.native() + "/";
  return Session::open({.settings = settings,
                        .folders = {.current = "/", .user_cache = "/"},
                        .warn = std::move(warn)});
}

struct Life {
  int process = 0;
  std::uint32_t number = 0;
  std::size_t round = 0;  // to begin with
};

// Never returns.
[[noreturn]] void work(const KillCampaignOptions& options, const Life& life, int pipe) {
  Message message;
  message.process = static_cast<std::uint8_t>(life.process);
  message.life = life.number;
  const auto warn = [&](const std::string& text) {
    // Whoever holds the lock had no processor for so long that this decision waits in memory: a
    // machine that busy shows nothing of what is kept, and this call is not reported as finished.
    if (text.find("locked by another process") != std::string::npos) _exit(0);
    send(pipe, fault_of(message, text));
  };
  const auto session = open_session(options.folder, warn);
  if (!session) {
    warn(session.error().text);
    _exit(1);
  }
  std::mt19937 random(options.seed + life.number);
  for (std::size_t round = life.round; round < rounds(options.processes); ++round) {
    std::vector<std::size_t> keys = keys_of(life.process, round, options.processes);
    std::shuffle(keys.begin(), keys.end(), random);
    message.round = round;
    for (const std::size_t key : keys) {
      Operands operands(key);
      message.key = key;
      message.kind = Message::begun;
      send(pipe, message);
      CallReport report;
      operands.options.report = &report;
      const Status done =
          (*session)->matmul(operands.lhs, operands.rhs, operands.out, operands.options);
      message.tuned = report.tuned;
      message.origin = report.origin;
      message.kind = Message::finished;
      send(pipe, done ? message : fault_of(message, done.error().text));
    }
  }
  _exit(0);
}

// --- The campaign ------------------------------------------------------------------------------

class Campaign {
 public:
  explicit Campaign(const KillCampaignOptions& options) : options_(options) {}
  ~Campaign() {
    kill_all();
    for (const int end : pipe_) {
      if (end >= 0) close(end);
    }
  }

  Result<KillCampaignReport> run() {
    if (pipe(pipe_.data()) != 0) return failed("a pipe");
    processes_.resize(std::size_t(options_.processes));
    for (int p = 0; p < options_.processes; ++p) {
      if (Status started = start(p); !started) return std::unexpected(started.error());
    }
    std::mt19937 random(options_.seed);
    const double end = steady_now_s() + options_.seconds;
    double every_s = options_.kill_every_s;
    for (double next = steady_now_s() + every_s; next < end || !enough(); next += every_s) {
      if (next >= end) every_s *= 1.05;
      listen_until(next);
      const int p = int(random() % unsigned(options_.processes));
      stop(p);
      if (Status started = start(p); !started) return std::unexpected(started.error());
    }
    listen_until(end);
    kill_all();
    listen_until(0);
    look_at_what_is_left();
    return std::move(report_);
  }

 private:
  bool enough() const {
    const auto there = std::min({report_.kills, report_.tuned, finished_.size()});
    return there >= options_.least && (options_.least == 0 || report_.killed_in_a_call > 0);
  }

  struct Process {
    pid_t pid = -1;
    std::uint32_t life = 0;
    std::size_t round = 0;
    std::optional<std::size_t> at;  // the key of the call in progress
    bool at_was_finished = false;   // by somebody, before this call began
  };

  std::unexpected<Error> failed(const char* what) {
    return fail(ErrorKind::io, fmt::format("{} could not be made: {}", what, std::strerror(errno)));
  }

  Status start(int p) {
    Process& process = processes_[std::size_t(p)];
    ++process.life;
    process.at.reset();
    const Life life{p, process.life, process.round};
    const pid_t child = fork();
    if (child < 0) return failed("a process");
    if (child == 0) {
      close(pipe_[0]);  // so that a worker ends when nobody listens any more
      work(options_, life, pipe_[1]);
    }
    process.pid = child;
    return {};
  }

  // Kills a process; one that has ended by itself is a fault unless it had no keys left.
  void stop(int p) {
    Process& process = processes_[std::size_t(p)];
    if (process.pid < 0) return;
    kill(process.pid, SIGKILL);
    int status = 0;
    while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    process.pid = -1;
    listen_until(0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      ++report_.kills;
      if (process.at) ++report_.killed_in_a_call;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      report_.faults.push_back(fmt::format("a worker ended with status {:#x}", status));
    }
  }

  void kill_all() {
    for (int p = 0; p < int(processes_.size()); ++p) stop(p);
  }

  // Takes what the workers say until then; a time gone by: what is already in the pipe.
  void listen_until(double end_s) {
    for (;;) {
      const double left = std::max(0.0, end_s - steady_now_s());
      pollfd input{pipe_[0], POLLIN, 0};
      const int ready = poll(&input, 1, int(left * 1e3));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return;
      Message message;
      if (read(pipe_[0], &message, sizeof message) == ssize_t(sizeof message)) heard(message);
    }
  }

  void heard(const Message& message) {
    Process& process = processes_[message.process];
    switch (message.kind) {
      case Message::begun:
        process.round = message.round;
        process.at = message.key;
        begun_.insert(message.key);
        // The pipe is read in the order in which it was written: what was finished before this
        // call began was on the disk before this call looked.
        process.at_was_finished = finished_.contains(message.key);
        break;
      case Message::finished:
        process.at.reset();
        ++(message.tuned ? report_.tuned : report_.hits);
        if (message.tuned && process.at_was_finished) ++report_.measured_twice;
        if (message.origin == Origin::fallback) {
          report_.faults.push_back(fmt::format("key {}: a fallback ran", message.key));
        }
        finished_.insert(message.key);
        break;
      case Message::fault:
        process.at.reset();
        report_.faults.push_back(
            fmt::format("process {}, life {}: {}", message.process, message.life, message.text));
        break;
    }
  }

  void look_at_what_is_left() {
    report_.finished = finished_.size();
    report_.interrupted = begun_.size() - finished_.size();
    check_file();
    // The finished ones, looked up without running anything.
    run_keys(finished_, [&](Session& session, Operands& operands, std::size_t) {
      const auto decision =
          session.matmul_decision(operands.lhs, operands.rhs, operands.out, operands.options);
      if (!decision || !*decision || (*decision)->winner.empty()) ++report_.missing;
    });
    // Those that were interrupted may measure once; after that nothing does.
    for (const bool first : {true, false}) {
      run_keys(begun_, [&](Session& session, Operands& operands, std::size_t key) {
        CallReport report;
        operands.options.report = &report;
        const Status done =
            session.matmul(operands.lhs, operands.rhs, operands.out, operands.options);
        if (!done) report_.faults.push_back(done.error().text);
        const bool may_measure = first && !finished_.contains(key);
        if (!may_measure && (report.tuned || report.origin != Origin::store)) {
          ++report_.later_tunes;
        }
      });
    }
    check_file();
  }

  // Runs `each` on all keys in a session that knows only what is on the disk.
  template <class Each>
  void run_keys(const std::set<std::size_t>& keys, Each each) {
    const auto session = open_session(
        options_.folder, [&](const std::string& text) { report_.faults.push_back(text); });
    if (!session) {
      report_.faults.push_back(session.error().text);
      return;
    }
    for (const std::size_t key : keys) {
      Operands operands(key);
      each(**session, operands, key);
    }
  }

  void check_file() {
    const auto warn = [&](const std::string& text) { report_.faults.push_back(text); };
    Environment environment({.path = options_.folder / kEnvironmentFile, .warn = warn});
    for (std::string& text : environment.check()) report_.faults.push_back(std::move(text));
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.folder, error)) {
      const std::string name = entry.path().filename();
      if (name.find("damaged") != std::string::npos) report_.faults.push_back("there is " + name);
    }
    if (error) report_.faults.push_back(error.message());
  }

  const KillCampaignOptions options_;
  KillCampaignReport report_;
  std::array<int, 2> pipe_ = {-1, -1};
  std::vector<Process> processes_;
  std::set<std::size_t> begun_, finished_;
};

}  // namespace

Result<KillCampaignReport> run_kill_campaign(const KillCampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace rooftune
