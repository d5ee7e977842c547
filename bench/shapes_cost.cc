// What `rooftune shapes 1024 768 1000 2048` costs in an empty environment and in a second process,
// and what `rooftune probe` costs, seen from outside.
//
//   bench_shapes_cost [--runs N]      3 without; every run begins with nothing remembered
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/load_of_others.h"
#include "cli/table.h"
#include "rooftune/error.h"
#include "tune/estimator.h"

namespace rooftune {
namespace {

constexpr const char* kShapes = "shapes 1024 768 1000 2048 --json";
enum Place : std::size_t { k1024, k768, k1000, k2048, kProducts };

// A folder of its own, gone with the object.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "rooftune-cost-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The lines of JSON that the command line prints, one for each product.
using Lines = std::vector<Json>;

Result<Lines> run_command(const Folder& folder, const std::string& arguments, std::size_t count) {
  // In the folder, so that no settings file of this tree counts.
  const std::string command = fmt::format("cd '{}' && '{}' {} --env ./environment",
                                          folder.path().native(), ROOFTUNE_COMMAND_LINE, arguments);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return fail(ErrorKind::io, "no process could be made for " + command);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text.push_back(char(c));
  if (pclose(pipe) != 0) return fail(ErrorKind::launch_failed, command + " failed");
  Lines lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    auto json = parse_json(std::string_view(text).substr(from, to - from));
    if (!json) return std::unexpected(json.error());
    lines.push_back(*std::move(json));
    from = to + 1;
  }
  if (lines.size() == count) return lines;
  return fail(ErrorKind::internal, fmt::format("{} printed {} lines", command, lines.size()));
}

// One line of the result: what it must not exceed, and what the runs showed.
struct Figure {
  std::string what, limit_text;
  double limit = 0;
  bool seconds = false;
  std::vector<double> values = {};

  std::string text(double value) const {
    return seconds ? fmt::format("{:.3f} s", value) : fmt::format("{:.4g}", value);
  }
};

struct Figures {
  Figure tuned_768{"768 tunes", "no", 0};
  Figure untuned_1000{"1000 does not tune", "no", 0};
  Figure first{"first call of 1024 / later median", "60", 60};
  Figure launches{"launches of all first calls", "< 2000", 1999};
  Figure second_launches{"second process: launches beyond one a product", "0", 0};
  Figure second_tunes{"second process: products that tune", "0", 0};
  Figure second_first{"second process: first / (1.5 median + 2 ms), worst", "1", 1};
  Figure probe_s{"probes", "< 0.3 s", 0.3, true};
  Figure probe_launches{"launches of the probes", "< 2000", 1999};

  std::vector<const Figure*> all() const {
    return {&tuned_768,    &untuned_1000, &first,   &launches,      &second_launches,
            &second_tunes, &second_first, &probe_s, &probe_launches};
  }
};

double number(const Json& json, std::string_view member) {
  return number_member(json, member).value_or(NAN);
}
bool tuned(const Json& json) { return bool_member(json, "tuned").value_or(true); }

double sum(const Lines& lines, std::string_view member) {
  double all = 0;
  for (const Json& line : lines) all += number(line, member);
  return all;
}

Status run_once(Figures& figures) {
  const Folder folder, other;
  if (folder.path().empty() || other.path().empty()) {
    return fail(ErrorKind::io, "no folder for temporary files can be made");
  }
  auto first = run_command(folder, kShapes, kProducts);
  if (!first) return std::unexpected(first.error());
  auto second = run_command(folder, kShapes, kProducts);
  if (!second) return std::unexpected(second.error());
  auto probe = run_command(other, "probe --json", 1);
  if (!probe) return std::unexpected(probe.error());

  figures.tuned_768.values.push_back(tuned((*first)[k768]));
  figures.untuned_1000.values.push_back(!tuned((*first)[k1000]));
  const Json& line = (*first)[k1024];
  figures.first.values.push_back(number(line, "first_s") / number(line, "next_median_s"));
  figures.launches.values.push_back(sum(*first, "launches_total"));
  figures.second_launches.values.push_back(sum(*second, "launches_total") - double(kProducts));
  double tunes = 0, worst = 0;
  for (const Json& again : *second) {
    tunes += tuned(again);
    worst =
        std::max(worst, number(again, "first_s") / (1.5 * number(again, "next_median_s") + 2e-3));
  }
  figures.second_tunes.values.push_back(tunes);
  figures.second_first.values.push_back(worst);
  figures.probe_s.values.push_back(number(probe->front(), "probe_s"));
  figures.probe_launches.values.push_back(number(probe->front(), "probe_launches"));
  return {};
}

int run(int runs) {
  const cli::LoadOfOthers others;
  Figures figures;
  for (int i = 0; i < runs; ++i) {
    if (Status done = run_once(figures); !done) {
      fmt::print(stderr, "{}\n", done.error().text);
      return 1;
    }
  }
  cli::Table table({{"what"},
                    {"at most"},
                    {"median", cli::Align::right},
                    {"worst", cli::Align::right},
                    {"median within it"}});
  bool within = true;
  for (const Figure* figure : figures.all()) {
    const double median = percentile(figure->values, 0.5).value();
    const double worst = *std::max_element(figure->values.begin(), figure->values.end());
    const bool good = median <= figure->limit;
    within = within && good;
    table.add({figure->what, figure->limit_text, figure->text(median), figure->text(worst),
               good ? "yes" : "NO"});
  }
  fmt::print("rooftune {}, {} runs, each from nothing\n\n{}\n\n{}\n", kShapes, runs, table.text(),
             others.text());
  return within ? 0 : 1;
}

}  // namespace
}  // namespace rooftune

int main(int argc, char** argv) {
  int runs = 3;
  if (argc > 1) {
    const std::string_view value = argc == 3 ? argv[2] : "";
    const auto [end, error] = std::from_chars(value.begin(), value.end(), runs);
    if (std::string_view(argv[1]) != "--runs" || error != std::errc() || end != value.end() ||
        runs < 1) {
      fmt::print(stderr, "usage: {} [--runs N]\n", argv[0]);
      return 2;
    }
  }
  return rooftune::run(runs);
}
