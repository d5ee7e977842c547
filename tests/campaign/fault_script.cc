#include "fault_script.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "store/environment.h"
#include "toy_operation.h"

namespace rooftune {
namespace {

namespace fs = std::filesystem;

// On the grid of every level.
constexpr std::array<std::int64_t, kMostKeys> kSizes = {16, 64, 256};
// A decision takes some tens of calls where these are the samples.
constexpr int kCallsForOne = 10;
constexpr std::string_view kOther = "other";  // the environment that sessions switch to

int process = 0;  // of the script: 0 is the first, which never dies of a candidate

// --- What is random ----------------------------------------------------------------------------

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  bool chance(double share) { return unit() < share; }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  template <class T>
  T pick(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

enum class Flaw {
  none,
  build_error,
  launch_error,
  late_error,
  damaged,
  mistimed,
  hanging,
  short_of_memory,
  loses_device,
  deadly,  // to all processes but the script's own
  throwing,
};

struct Plan {
  FakeScript device;
  Settings settings;
  std::vector<ToyCandidate> candidates;
  std::vector<Flaw> flaws;
  bool sound_fallback = true;  // every call succeeds, as long as the device is there
  bool may_lose = false;
  bool switches = false;  // between two environments
  bool online = false, rehearses = false;
  double check_s = 0;  // of a call's result
  int sessions = 1, threads = 1, calls = 1, children = 0;
  bool forks_late = false;  // one of the children while threads tune
};

std::string name_of(std::size_t candidate) { return "c" + std::to_string(candidate); }

int key_of(std::int64_t size) {
  return static_cast<int>(std::find(kSizes.begin(), kSizes.end(), size) - kSizes.begin());
}

// The kernel of a candidate: what it computes, and what is told of it.
std::function<Status(const void*)> entry_of(std::size_t candidate, Flaw flaw, FaultBoard& board) {
  return [candidate, flaw, &board](const void* args) -> Status {
    const int key = key_of(static_cast<const ToyArgs*>(args)->size);
    ++board.cells[process][key][candidate].launched;
    if (flaw == Flaw::deadly) {
      // Nobody is to find it good.
      if (process == 0) return fail(ErrorKind::launch_failed, "deadly elsewhere");
      ++board.died;
      if (++board.deaths[key][candidate] > 1) {
        board.fault(board.repeated, fmt::format("{} took a second process", name_of(candidate)));
      }
      raise(SIGKILL);
    }
    if (flaw == Flaw::throwing) throw std::runtime_error("a kernel that throws");
    return toy_kernel(args);
  };
}

void add_flaw(FakeBehaviour& kernel, Flaw flaw, Dice& dice) {
  switch (flaw) {
    case Flaw::build_error:
      kernel.build_error =
          Error{dice.chance(0.3) ? ErrorKind::out_of_memory : ErrorKind::build_failed,
                "the compiler gave up"};
      break;
    case Flaw::launch_error:
      kernel.launch_error =
          Error{dice.chance(0.3) ? ErrorKind::out_of_memory : ErrorKind::launch_failed, "refused"};
      kernel.fails_from = static_cast<std::uint64_t>(dice.below(6));
      if (dice.chance(0.5)) kernel.fails_until = kernel.fails_from + 1;
      break;
    case Flaw::late_error:
      kernel.late_error = Error{ErrorKind::launch_failed, "found out too late"};
      break;
    case Flaw::damaged:
      kernel.damage = dice.pick({FakeOutput::wrong, FakeOutput::partial, FakeOutput::outside});
      break;
    case Flaw::mistimed:
      kernel.timing = dice.pick({FakeTiming::stands_still, FakeTiming::error, FakeTiming::zero,
                                 FakeTiming::negative, FakeTiming::nan, FakeTiming::infinite});
      break;
    case Flaw::hanging:
      kernel.seconds = 1e4;
      break;
    case Flaw::short_of_memory:
      kernel.scratch_bytes = 1ull << 40;
      break;
    case Flaw::loses_device:
      kernel.loses_device_at = static_cast<std::uint64_t>(dice.below(8));
      break;
    case Flaw::none:
    case Flaw::deadly:
    case Flaw::throwing:
      break;
  }
}

std::function<double(double)> random_clock(Dice& dice) {
  switch (dice.below(4)) {
    case 0:
      return [](double) { return 3.0; };
    case 1:
      return [](double now_s) { return -now_s; };
    case 2:
      return [](double now_s) { return now_s < 1e-3 ? now_s : now_s + 1e6; };
    default:
      return [](double) { return std::numeric_limits<double>::quiet_NaN(); };
  }
}

Plan make_plan(Dice& dice, FaultBoard& board) {
  Plan plan;
  plan.children = dice.chance(0.6) ? dice.between(1, kMostProcesses - 1) : 0;
  const int count = dice.between(2, kMostCandidates);
  for (int c = 0; c < count; ++c) {
    const auto i = static_cast<std::size_t>(c);
    Flaw flaw = Flaw::none;
    if (c > 0 && dice.chance(0.6)) {
      flaw = dice.pick({Flaw::build_error, Flaw::launch_error, Flaw::late_error, Flaw::damaged,
                        Flaw::damaged, Flaw::mistimed, Flaw::hanging, Flaw::short_of_memory,
                        Flaw::deadly, Flaw::throwing});
      if (flaw == Flaw::throwing && dice.chance(0.5)) flaw = Flaw::loses_device;
    }
    // The fallback may be broken, but what it gives is right: that is the contract.
    if (c == 0 && dice.chance(0.15)) {
      flaw = dice.pick({Flaw::build_error, Flaw::launch_error, Flaw::short_of_memory,
                        Flaw::throwing, Flaw::mistimed});
      plan.sound_fallback = flaw == Flaw::mistimed;
    }
    FakeBehaviour kernel = toy(std::exp(-4 - 8 * dice.unit()));
    kernel.entry = entry_of(i, flaw, board);
    if (dice.chance(0.3)) kernel.noise = {.sigma = 0.05, .outlier_chance = 0.1};
    add_flaw(kernel, flaw, dice);
    plan.may_lose = plan.may_lose || flaw == Flaw::loses_device;
    plan.device.kernels[name_of(i)] = std::move(kernel);
    plan.flaws.push_back(flaw);
    ToyCandidate candidate{name_of(i), dice.below(2), dice.below(2)};
    candidate.on_prepare = [i, &board](const ToyArgs& args) {
      FaultBoard::Cell& cell = board.cells[process][key_of(args.size)][i];
      ++cell.prepared;
      cell.launched = 0;
    };
    if (dice.chance(0.2)) candidate.predicted = [](const ToyArgs&) { return 1e-4; };
    plan.candidates.push_back(std::move(candidate));
  }
  if (dice.chance(0.15)) plan.device.clock_shows = random_clock(dice);
  if (dice.chance(0.1)) {
    plan.device.refuses_allocation = [share = dice.unit(),
                                      seed = dice.seed()](std::uint64_t index) {
      return Dice(seed + index).chance(share);
    };
  }
  plan.device.capabilities.compiles_at_run_time = dice.chance(0.1);
  plan.device.capabilities.private_caches = dice.chance(0.5);
  AutotuneSettings& autotune = plan.settings.autotune;
  // Without a limit nothing is probed, which is another matter and takes the most time.
  autotune.level = dice.chance(0.05) ? Level::balanced : Level::full;
  autotune.budget_s = dice.pick({0.0, 1e-3, 3.0, 3.0});
  autotune.pending = dice.chance(0.3) ? Pending::fallback : Pending::wait;
  autotune.pending_timeout_s = dice.pick({0.0, 0.01, 0.2, 5.0});
  autotune.max_samples = dice.pick({3, 10});
  plan.settings.environment = "local";
  plan.sessions = dice.between(1, 3);
  plan.threads = dice.between(1, 4);
  plan.calls = dice.between(1, 6);
  plan.switches = dice.chance(0.2);
  plan.forks_late = dice.chance(0.3);
  plan.online = dice.chance(0.4);
  plan.rehearses = dice.chance(0.7);
  plan.check_s = dice.pick({1e-6, 5e-3});  // in a call, or behind calls
  if (!plan.online) return plan;
  autotune.mode = Mode::online;
  plan.calls *= kCallsForOne;
  for (auto& [name, kernel] : plan.device.kernels) {
    // What a call writes beside its output nobody can see (README: "Never stalling").
    if (kernel.damage == FakeOutput::outside) kernel.damage = FakeOutput::wrong;
  }
  return plan;
}

// --- Sessions and calls ------------------------------------------------------------------------

struct World {
  World(const Plan& plan, const fs::path& folder)
      : World(plan, folder, std::make_shared<FakeClient>(plan.device)) {}
  ToyWorld toy;

 private:
  World(const Plan& plan, const fs::path& folder, const std::shared_ptr<FakeClient>& device)
      : toy(device, plan.candidates, plan.settings, folder,
            plan.online ? checking_results(device, plan.check_s, plan.rehearses) : ToyDescribe()) {}
};

// One call, and what it means.
void call(World& world, int key, const Plan& plan, FaultBoard& board) {
  constexpr std::size_t kGuard = 8;
  const auto size = static_cast<std::size_t>(kSizes[key]);
  std::vector<float> in(size), out(size + kGuard, -1);
  for (std::size_t i = 0; i < size; ++i) in[i] = float(i % 97) - 48.5f;
  const ToyKey toy_key = anchored_key(ToyKey{kSizes[key], ""}, plan.settings.autotune.level);
  const ToyArgs args{in.data(), out.data(), kSizes[key]};
  CallReport report;
  const Status done = world.toy.tuner->execute(toy_key, args, {}, &report);
  ++board.calls;
  if (!done) {
    ++board.errors;
    const ErrorKind kind = done.error().kind;
    const bool lost = kind == ErrorKind::device_lost;
    if (lost ? !plan.may_lose && board.lose_called == 0 : plan.sound_fallback) {
      board.fault(board.failed, std::string(to_string(kind)) + ": " + done.error().text);
    }
    return;
  }
  if (report.tuned) ++board.tuned;
  if (report.origin == Origin::fallback) ++board.fallbacks;
  bool right = std::all_of(out.begin() + kSizes[key], out.end(), [](float x) { return x == -1; });
  for (std::size_t i = 0; i < size; ++i) right = right && out[i] == 2 * in[i];
  if (!right) {
    board.fault(board.wrong, fmt::format("{} gave a wrong result", report.candidate));
  }
  // Decisions of calls that are samples are written behind them, by who is not killed.
  if (!report.tuned || (plan.online && process != 0)) return;
  const auto decision = world.toy.tuner->decision(toy_key, args);
  // A warning: the store could not keep what it was given.
  if (decision && decision->storable && world.toy.warnings.empty()) ++board.decided[key];
}

// --- Processes ---------------------------------------------------------------------------------

// A process of its own on the same environment; it may be killed at any time. Never returns.
[[noreturn]] void live(const Plan& plan, const fs::path& folder, std::uint64_t seed,
                       FaultBoard& board) {
  Dice dice(seed);
  {
    World world(plan, folder);
    const int calls = dice.between(1, 4) * (plan.online ? kCallsForOne : 1);
    for (int c = 0; c < calls; ++c) call(world, dice.below(kMostKeys), plan, board);
  }
  _exit(0);
}

class Children {
 public:
  Children(const Plan& plan, const fs::path& folder, FaultBoard& board)
      : plan_(plan), folder_(folder), board_(board) {}
  ~Children() {
    while (!all_.empty()) end(true);
  }

  void start(std::uint64_t seed) {
    const int number = ++started_;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      process = number;
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a script that is given up takes its children along
      if (getppid() != parent) _exit(0);
      live(plan_, folder_, seed, board_);
    }
    if (child < 0) return;
    ++board_.processes;
    all_.push_back({child, number});
  }

  // The first of those that are left: killed, or waited for.
  void end(bool by_force) {
    if (all_.empty()) return;
    const auto [child, number] = all_.front();
    all_.erase(all_.begin());
    if (by_force) kill(child, SIGKILL);
    int status = 0;
    if (waitpid(child, &status, 0) != child) return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      board_.was_killed[number] = 1;
      if (by_force) ++board_.killed;
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      board_.fault(board_.unhealthy, fmt::format("a child ended with status {}", status));
    }
  }

 private:
  struct Child {
    pid_t id;
    int number;
  };
  const Plan& plan_;
  const fs::path& folder_;
  FaultBoard& board_;
  std::vector<Child> all_;
  int started_ = 0;
};

void pause_up_to(double seconds, Dice& dice) {
  std::this_thread::sleep_for(std::chrono::duration<double>(dice.unit() * seconds));
}

// --- Afterwards --------------------------------------------------------------------------------

// Whether a process can have died, or a device been lost, in the first launch of the candidate.
bool may_be_accused(int key, std::size_t candidate, const Plan& plan, const FaultBoard& board) {
  if (plan.flaws[candidate] == Flaw::loses_device || board.lose_called != 0) return true;
  // A hit of another thread may lose the device beside a first launch: nobody can tell them apart.
  if (plan.may_lose && plan.threads > 1) return true;
  for (int p = 1; p < kMostProcesses; ++p) {
    const FaultBoard::Cell& cell = board.cells[p][key][candidate];
    if (board.was_killed[p] != 0 && cell.prepared > 0 && cell.launched <= 1) return true;
  }
  return false;
}

void check_quarantines(Environment& environment, const Plan& plan, FaultBoard& board) {
  const auto entries = environment.list("quarantine");
  if (!entries) return;
  for (const Entry& entry : *entries) {
    const auto key = parse_json(entry.key);
    const auto rows = parse_json(entry.value);
    if (!key || !rows) {
      board.fault(board.unhealthy, "a quarantine that cannot be read: " + entry.value);
      continue;
    }
    const int number = key_of(integer_member(*key, "size").value_or(0));
    for (const Json& row : *rows) {
      ++board.quarantines;
      const std::string name = string_member(row, "candidate").value_or("");
      std::size_t c = 0;
      while (c < plan.candidates.size() && name_of(c) != name) ++c;
      if (number < kMostKeys && c < plan.candidates.size() &&
          may_be_accused(number, c, plan, board)) {
        continue;
      }
      board.fault(board.innocent, name + " is in quarantine for " + entry.key);
    }
  }
}

void look_at_what_is_left(const Plan& plan, const fs::path& folder, FaultBoard& board) {
  std::array<bool, kMostKeys> kept{};
  for (const fs::path& file : {folder / ".rooftune" / "default.db",
                               folder / "rooftune" / std::string(kOther) / "default.db"}) {
    if (!fs::exists(file)) continue;
    Environment environment({.path = file});
    for (const std::string& problem : environment.check()) {
      board.fault(board.unhealthy, problem);
    }
    check_quarantines(environment, plan, board);
    const auto entries = environment.list("autotune");
    if (!entries) continue;
    for (const Entry& entry : *entries) {
      const auto decision = decision_from_json(entry.value);
      const auto key = parse_json(entry.key);
      const int number = key ? key_of(integer_member(*key, "size").value_or(0)) : kMostKeys;
      if (decision && !decision->ranking.empty() && number < kMostKeys) kept[number] = true;
      if (decision && !decision->storable) board.fault(board.unhealthy, "stored: " + entry.value);
    }
  }
  for (int key = 0; key < kMostKeys; ++key) {
    if (board.decided[key] == 0) continue;
    ++board.finished;
    if (!kept[key]) board.fault(board.lost, fmt::format("the decision for key {}", key));
  }
}

}  // namespace

void FaultBoard::fault(Count& kind, const std::string& what) {
  ++kind;
  const std::uint32_t line = texts++;
  if (line < kTexts) std::strncpy(text[line].data(), what.c_str(), text[line].size() - 1);
}

void run_fault_script(std::uint64_t seed, const fs::path& folder, FaultBoard& board) {
  Dice dice(seed);
  const Plan plan = make_plan(dice, board);
  Children children(plan, folder, board);
  std::vector<std::unique_ptr<World>> worlds;
  // Children are copies of a process that has the environment open, or has not yet.
  const bool opened_first = dice.chance(0.5);
  if (opened_first) worlds.push_back(std::make_unique<World>(plan, folder));
  int left = plan.children;
  while (left > (plan.forks_late ? 1 : 0)) {
    children.start(dice.seed());
    --left;
  }
  while (static_cast<int>(worlds.size()) < plan.sessions) {
    worlds.push_back(std::make_unique<World>(plan, folder));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < plan.threads; ++t) {
    threads.emplace_back([&, own = Dice(dice.seed())]() mutable {
      for (int c = 0; c < plan.calls; ++c) {
        World& world = *worlds[static_cast<std::size_t>(own.below(plan.sessions))];
        if (plan.switches && own.chance(0.2)) {
          static_cast<void>(
              world.toy.context->use_environment(own.chance(0.5) ? std::string(kOther) : "local"));
        }
        if (own.chance(0.01)) {
          ++board.lose_called;
          world.toy.device->lose();
        }
        call(world, own.below(kMostKeys), plan, board);
      }
    });
  }
  if (left > 0) {
    pause_up_to(2e-3, dice);
    children.start(dice.seed());
  }
  for (int c = 0; c < plan.children; ++c) {
    const bool by_force = dice.chance(0.7);
    if (by_force) pause_up_to(8e-3, dice);
    children.end(by_force);
  }
  for (std::thread& thread : threads) thread.join();
  worlds.clear();
  look_at_what_is_left(plan, folder, board);
}

}  // namespace rooftune
