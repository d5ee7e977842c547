// One script of the fault campaign: what is made of its seed, and how it runs.
#ifndef ROOFTUNE_TESTS_CAMPAIGN_FAULT_SCRIPT_H_
#define ROOFTUNE_TESTS_CAMPAIGN_FAULT_SCRIPT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace rooftune {

inline constexpr int kMostProcesses = 4;  // the script's own, and those that it forks
inline constexpr int kMostKeys = 3;
inline constexpr int kMostCandidates = 6;

// What all processes of a script write, in memory that they share. Zero bytes are a fresh one.
struct FaultBoard {
  using Count = std::atomic<std::uint32_t>;
  static_assert(Count::is_always_lock_free, "it lies between processes");

  Count calls, tuned, fallbacks, errors;
  Count processes, killed, died, quarantines, finished;
  Count wrong, lost, innocent, repeated, failed, unhealthy;

  // What happened to a candidate for a key in one process.
  struct Cell {
    Count prepared;  // times
    Count launched;  // since it was prepared last
  };
  std::array<std::array<std::array<Cell, kMostCandidates>, kMostKeys>, kMostProcesses> cells;
  std::array<std::array<Count, kMostCandidates>, kMostKeys> deaths;
  std::array<Count, kMostProcesses> was_killed;
  std::array<Count, kMostKeys> decided;  // calls that returned with a decision that is to be kept
  Count lose_called;                     // a device was lost from outside

  // The first few faults, each a line.
  static constexpr std::size_t kTexts = 4;
  Count texts;
  std::array<std::array<char, 300>, kTexts> text;

  void fault(Count& kind, const std::string& what);
};

// Runs the script in this process, which is to have no other threads, with a folder of its own.
void run_fault_script(std::uint64_t seed, const std::filesystem::path& folder, FaultBoard& board);

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_CAMPAIGN_FAULT_SCRIPT_H_
