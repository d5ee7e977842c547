// Random scripts of faults on the fake device: candidates that fail, are wrong, hang or take their
// process along, lost devices, clocks that stand, several threads, sessions and processes, and
// kills. No wrong result, no dead-lock, no lost finished decision.
//
//   bench_fault_campaign [--scripts N] [--seed S]      10000 from seed 1 on without
#include "fault_campaign.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace rooftune {
namespace {

int run(FaultCampaignOptions options) {
  std::string name = std::filesystem::temp_directory_path() / "rooftune-campaign-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    fmt::print(stderr, "no folder can be made in {}\n",
               std::filesystem::temp_directory_path().native());
    return 1;
  }
  options.folder = name;
  options.progress = [&](std::size_t done) {
    if (done % 1000 == 0) fmt::print(stderr, "{} of {} scripts\n", done, options.scripts);
  };
  const double begin = steady_now_s();
  const auto report = run_fault_campaign(options);
  const double seconds = steady_now_s() - begin;
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  if (!report) {
    fmt::print(stderr, "{}\n", report.error().text);
    return 1;
  }
  fmt::print("{} scripts, seeds {} to {}, {:.0f} s\n\n", report->scripts, options.seed,
             options.seed + options.scripts - 1, seconds);
  const auto line = [](std::string_view what, std::size_t count) {
    fmt::print("{:<60} {:>7}\n", what, count);
  };
  line("calls", report->calls);
  line("  of them measured", report->tuned);
  line("  ran the fallback", report->fallbacks);
  line("  gave an error (device lost, fallback broken)", report->errors);
  line("more processes", report->processes);
  line("  of them killed at a random moment", report->killed);
  line("  died of a candidate", report->died);
  line("quarantines", report->quarantines);
  line("keys with a finished decision", report->finished);
  fmt::print("\n");
  line("must be 0: wrong results", report->wrong);
  line("must be 0: scripts that did not end", report->stuck);
  line("must be 0: crashes", report->crashed);
  line("must be 0: finished decisions that are not in the store", report->lost);
  line("must be 0: quarantines of the innocent", report->innocent);
  line("must be 0: processes that died of what another had died of", report->repeated);
  line("must be 0: calls that failed although the fallback was well", report->failed);
  line("must be 0: what checks of the store say", report->unhealthy);
  for (const std::string& fault : report->faults) fmt::print("  {}\n", fault);
  fmt::print("\n{}\n", report->right() ? "nothing went wrong" : "NOT RIGHT");
  return report->right() ? 0 : 1;
}

bool parse(std::string_view text, auto& into) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), into);
  return error == std::errc() && end == text.end();
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  rooftune::FaultCampaignOptions options;
  bool right = argc % 2 == 1;
  for (int i = 1; i + 1 < argc && right; i += 2) {
    const std::string_view name = argv[i], value = argv[i + 1];
    right = (name == "--scripts" && rooftune::parse(value, options.scripts)) ||
            (name == "--seed" && rooftune::parse(value, options.seed));
  }
  if (!right) {
    fmt::print(stderr, "usage: {} [--scripts N] [--seed S]\n", argv[0]);
    return 2;
  }
  return rooftune::run(options);
}
