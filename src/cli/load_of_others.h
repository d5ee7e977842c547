// What else ran meanwhile: a figure from a machine that was busy with something else says little.
#ifndef ROOFTUNE_CLI_LOAD_OF_OTHERS_H_
#define ROOFTUNE_CLI_LOAD_OF_OTHERS_H_

#include <fmt/format.h>
#include <sys/times.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace rooftune::cli {

// Counts, from its making on, the processor time that neither this process nor the children it has
// waited for used. Linux only; elsewhere text() is empty.
class LoadOfOthers {
 public:
  // How many processors others kept busy, in the mean; nothing where that cannot be known.
  std::optional<double> processors() const {
    const double all = all_s();
    if (all < 0 || start_all_s_ < 0) return std::nullopt;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start_;
    const double others = (all - start_all_s_) - (own_s() - start_own_s_);
    return others > 0 ? others / wall.count() : 0;
  }
  // "other processes kept 0.02 processors busy meanwhile"
  std::string text() const {
    const auto busy = processors();
    return busy ? fmt::format("other processes kept {:.2f} processors busy meanwhile", *busy) : "";
  }

 private:
  static double ticks_per_s() { return double(sysconf(_SC_CLK_TCK)); }
  static double own_s() {
    tms used{};
    times(&used);
    return double(used.tms_utime + used.tms_stime + used.tms_cutime + used.tms_cstime) /
           ticks_per_s();
  }
  // User, nice and system time of all processors.
  static double all_s() {
    std::FILE* file = std::fopen("/proc/stat", "r");
    if (file == nullptr) return -1;
    unsigned long long user = 0, nice = 0, system = 0;
    const int found = std::fscanf(file, "cpu %llu %llu %llu", &user, &nice, &system);
    std::fclose(file);
    return found == 3 ? double(user + nice + system) / ticks_per_s() : -1;
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const double start_all_s_ = all_s(), start_own_s_ = own_s();
};

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_LOAD_OF_OTHERS_H_
