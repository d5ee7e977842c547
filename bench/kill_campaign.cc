// Eight processes on twenty keys each with one database, one of them killed (-9) and started again
// every 0.2 s: nothing may be corrupt, every finished decision must be present, later runs only
// hit.
//
//   bench_kill_campaign [--seconds N]      60 without
#include "kill_campaign.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace rooftune {
namespace {

int run(double seconds) {
  std::string name = std::filesystem::temp_directory_path() / "rooftune-campaign-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    fmt::print(stderr, "no folder can be made in {}\n",
               std::filesystem::temp_directory_path().native());
    return 1;
  }
  const KillCampaignOptions options{.folder = name, .seconds = seconds};
  const auto report = run_kill_campaign(options);
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.folder / "default.db", ignored);
  if (report && report->right()) {
    std::filesystem::remove_all(options.folder, ignored);
  } else {
    fmt::print(stderr, "the environment is kept in {}\n", name);
  }
  if (!report) {
    fmt::print(stderr, "{}\n", report.error().text);
    return 1;
  }
  fmt::print("{} processes for {} s, one killed every {} s\n\n", options.processes, seconds,
             options.kill_every_s);
  const auto line = [](std::string_view what, std::size_t count) {
    fmt::print("{:<52} {:>7}\n", what, count);
  };
  line("processes killed", report->kills);
  line("  of them in the middle of a call", report->killed_in_a_call);
  line("calls that measured", report->tuned);
  line("calls that found a decision", report->hits);
  line("keys finished", report->finished);
  line("keys begun and never finished", report->interrupted);
  line("bytes in the database", std::size_t(size));
  fmt::print("\n");
  line("must be 0: finished keys that were measured again", report->measured_twice);
  line("must be 0: finished keys without a decision", report->missing);
  line("must be 0: later calls that were no hits", report->later_tunes);
  line("must be 0: faults of the file, warnings, errors", report->faults.size());
  for (const std::string& fault : report->faults) fmt::print("  {}\n", fault);
  fmt::print("\n{}\n", report->right() ? "nothing was lost" : "NOT RIGHT");
  return report->right() ? 0 : 1;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  double seconds = 60;
  for (int i = 1; i < argc; ++i) {
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    const auto [end, error] = std::from_chars(value.begin(), value.end(), seconds);
    if (std::string_view(argv[i]) != "--seconds" || error != std::errc() || end != value.end() ||
        !(seconds > 0)) {
      fmt::print(stderr, "usage: {} [--seconds N]\n", argv[0]);
      return 2;
    }
    ++i;
  }
  return rooftune::run(seconds);
}
