#include "cli/command_line.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "device/cpu/isa.h"
#include "fmt/format.h"
#include "ops/matmul/rivals.h"

namespace rooftune::cli {
namespace {

constexpr std::array<std::string_view, 4> kLevelNames = {"minimal", "balanced", "extensive",
                                                         "full"};
constexpr std::array<std::string_view, 9> kTypeNames = {"f32", "f64", "f16",    "bf16",  "i8",
                                                        "u8",  "i32", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, 4> kPrecisionNames = {"highest", "split", "high", "medium"};
constexpr std::int64_t kMostThreads = 1024;

constexpr const char* kProductHelp =
    "products: N (square), MxNxK or BxMxNxK; T after one transposes the right operand, t before it "
    "the left";
constexpr const char* kListHelp =
    "CSV with the header id,batch,m,n,k,in,out,layout,precision,source";

CLI::Validator one_of(std::span<const std::string_view> names) {
  return CLI::Validator(
      [names](std::string& value) -> std::string {
        if (std::find(names.begin(), names.end(), value) != names.end()) return {};
        return fmt::format("{} is not one of {}{}", in_quotes(value), list_in_quotes(names),
                           did_you_mean(value, names));
      },
      fmt::format("{}", fmt::join(names, "|")));
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return CLI::Validator(
      [=](std::string& value) -> std::string {
        const auto number = parse_integer(value);
        if (number && *number >= least && *number <= most) return {};
        return fmt::format("{} is not a whole number from {} to {}", in_quotes(value), least, most);
      },
      fmt::format("{}..{}", least, most));
}

CLI::Validator number_within(double least, double most) {
  return CLI::Validator(
      [=](std::string& value) -> std::string {
        const auto number = parse_number(value);
        if (number && *number >= least && *number <= most) return {};
        return fmt::format("{} is not a number from {} to {}", in_quotes(value), least, most);
      },
      fmt::format("{}..{}", least, most));
}

class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", std::string("rooftune ") + ROOFTUNE_VERSION);
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n"
        "  rooftune shapes 1024 768 1000 2048    tune four products, and see what it cost\n"
        "  rooftune why 1024                     which kernel won, and why\n"
        "  rooftune tune list.csv                tune a whole list, ahead of time\n"
        "`rooftune COMMAND --help` tells what a command takes. Results go to standard output, "
        "everything\nelse to standard error. Exit status: 0 done, 1 failed, 2 wrong usage.");
    add_devices();
    add_probe();
    add_keys();
    add_shapes();
    add_tune();
    add_bench();
    add_audit();
    add_why();
    add_store();
  }

  Outcome<Exit> run(int argc, const char* const* argv) {
    // CLI11 would only say that a command is missing.
    if (argc > 1 && argv[1][0] != '-') {
      if (auto known = check_command(app_, argv[1]); !known) return std::unexpected(known.error());
      if (argc > 2 && argv[2][0] != '-' && std::string_view(argv[1]) == "store") {
        if (auto known = check_command(*app_.get_subcommand("store"), argv[2]); !known) {
          return std::unexpected(known.error());
        }
      }
    }
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) {
        app_.exit(error);  // prints the help or the version
        return Exit::done;
      }
      return stop(Exit::usage, error.what() + correction() +
                                   fmt::format(" (see `{} --help`)", path_of(deepest())));
    }
    return chosen_();
  }

 private:
  static Outcome<void> check_command(const CLI::App& parent, std::string_view name) {
    std::vector<std::string> names;
    for (const CLI::App* sub : parent.get_subcommands(nullptr)) names.push_back(sub->get_name());
    if (std::find(names.begin(), names.end(), name) != names.end()) return {};
    const std::vector<std::string_view> views(names.begin(), names.end());
    return stop(Exit::usage, fmt::format("unknown command {}; there are {}{}", in_quotes(name),
                                         fmt::join(names, ", "), did_you_mean(name, views)));
  }

  // The command that was being read when the fault appeared.
  const CLI::App& deepest() const {
    const CLI::App* app = &app_;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    return *app;
  }

  // "rooftune store show"
  static std::string path_of(const CLI::App& app) {
    const CLI::App* parent = app.get_parent();
    return (parent == nullptr ? "" : path_of(*parent) + " ") + app.get_name();
  }

  // "; did you mean ...?" for an option that does not exist.
  std::string correction() const {
    std::vector<std::string> names;
    for (const CLI::Option* option : deepest().get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    for (const std::string& rest : app_.remaining(true)) {
      if (rest.starts_with("-")) return did_you_mean(rest.substr(0, rest.find('=')), views);
    }
    return "";
  }

  CLI::App* command(CLI::App& parent, const char* name, const char* description, const char* footer,
                    std::function<Outcome<Exit>()> run) {
    CLI::App* sub = parent.add_subcommand(name, description);
    sub->footer(footer);
    sub->callback([this, run = std::move(run)] { chosen_ = run; });
    add_common(*sub);
    return sub;
  }

  void add_common(CLI::App& sub) {
    const auto option = [&](const char* name, auto& value, const char* help) {
      return sub.add_option(name, value, help)->group("Every command");
    };
    option("--device", common_.device, "the device, as `rooftune devices` names it");
    sub.add_flag("--json", common_.json, "the result as JSON")->group("Every command");
    option("--env", common_.environment,
           "the environment: project, local, global, a name, or a folder (with a slash)");
    option("--threads", common_.threads, "threads of the cpu")
        ->check(whole_number(1, kMostThreads));
    option("--isa", common_.isa, "best instruction set that the cpu may use")
        ->check(one_of(kIsaNames));
    option("--level", common_.level, "how fine sizes are told apart and when a search may end")
        ->check(one_of(kLevelNames));
    option("--settings", common_.settings,
           "settings file, instead of the nearest rooftune.toml upward from here");
    option("--rivals", common_.rivals,
           "a folder with other libraries, in it or below (`./dev rivals`); may be repeated");
    option("--trace", common_.trace, "writes what happened, as JSON for Chrome or Perfetto");
  }

  void add_types(CLI::App* sub, std::string& type, std::string& precision) {
    sub->add_option("--type", type,
                    "element type of the operands; the result has it too, but i32 for i8 and u8, "
                    "bf16 for f8e4m3 and f8e5m2")
        ->check(one_of(kTypeNames))
        ->capture_default_str();
    sub->add_option("--precision", precision, "how f32 products may be computed")
        ->check(one_of(kPrecisionNames))
        ->capture_default_str();
  }

  void add_devices() {
    command(app_, "devices", "what can run kernels here, and why something cannot",
            "Example:\n  rooftune devices --json", [this] { return run_devices(common_); });
  }

  void add_probe() {
    CLI::App* sub = command(app_, "probe", "the measured peaks: compute, memory, launch",
                            "Example:\n  rooftune probe --fresh",
                            [this] { return run_probe(common_, probe_); });
    sub->add_flag("--fresh", probe_.fresh, "measures again what is known");
  }

  void add_keys() {
    CLI::App* sub = command(app_, "keys", "the key of each product, and which keys are equal",
                            "Example:\n  rooftune keys 512 768 1000T 8x64x64x4096",
                            [this] { return run_keys(common_, products_); });
    sub->add_option("product", products_.products, kProductHelp)->required();
    add_types(sub, products_.type, products_.precision);
  }

  void add_shapes() {
    CLI::App* sub =
        command(app_, "shapes", "first call of each product, then 20 more: what tuning costs",
                "Example:\n  rooftune shapes 1024 768 1000 2048",
                [this] { return run_shapes(common_, products_); });
    sub->add_option("product", products_.products, kProductHelp)->required();
    add_types(sub, products_.type, products_.precision);
  }

  void add_list_options(CLI::App* sub) {
    sub->add_option("file", list_.file, kListHelp)->required();
    sub->add_flag("--keep-going", list_.keep_going, "runs the other lines when some are bad");
    sub->add_option("--precision", list_.precision,
                    "how f32 products may be computed, whatever the list says")
        ->check(one_of(kPrecisionNames));
  }

  void add_tune() {
    CLI::App* sub =
        command(app_, "tune", "tunes a list of products",
                "What is decided already costs nothing: run it again to go on after Ctrl-C.\n"
                "Example:\n  rooftune tune list.csv --env prod",
                [this] { return run_tune(common_, list_); });
    add_list_options(sub);
  }

  void add_bench() {
    CLI::App* sub = command(
        app_, "bench", "correctness, time, rate, share of the roofline, and other libraries",
        "Columns \"vs\": the time of that library divided by ours; above 1 ours is faster.\n"
        "On the cpu a sample is some calls with the operands as warm as the last one left them. On "
        "a "
        "GPU it\nis many launches in a row on the device's clock; where memory bounds a product "
        "they "
        "take turns among\nsets of operands that together exceed twice its cache (at most 256 sets "
        "and "
        "a quarter of its memory).\n"
        "Examples:\n  rooftune bench list.csv --vs openblas,blis,onednn\n"
        "  rooftune bench list.csv --device cuda:0 --vs cublaslt",
        [this] { return run_bench(common_, list_); });
    add_list_options(sub);
    sub->add_flag("--prepacked", list_.prepacked,
                  "the right operands are packed before (Session::pack_rhs); those of the "
                  "libraries are not");
    sub->add_option("--vs", list_.rivals, "libraries to compare with, with commas between them")
        ->delimiter(',')
        ->check(one_of(rival_names()));
  }

  void add_audit() {
    CLI::App* sub = command(
        app_, "audit", "how good the tuner's choices are, whether they repeat, what they cost",
        "Times all candidates of each product, tunes it several times from nothing (in memory: no "
        "environment\nis read or changed), and lets what was chosen meet the best once more.\n"
        "Regret: how much longer the choice takes than the best. In the columns: the worst of the "
        "tunes; flips:\nthose that chose otherwise than most, first of them those that matter; "
        "cost: of measuring, in times of\nthe chosen one; of: how many candidates.\n"
        "Example:\n  rooftune audit list.csv --tunes 5 --transfer --svg regret.svg",
        [this] { return run_audit(common_, list_, audit_); });
    add_list_options(sub);
    sub->add_option("--tunes", audit_.tunes, "times that each product is tuned")
        ->check(whole_number(1, 1000))
        ->capture_default_str();
    sub->add_option("--seconds", audit_.seconds,
                    "that all candidates of a product are timed, warm and cold each; at least")
        ->check(number_within(0, 3600))
        ->capture_default_str();
    sub->add_option("--margin", audit_.margin,
                    "times that differ by less are the same (0.02 is 2 %); default: that of the "
                    "settings")
        ->check(number_within(0, 1));
    sub->add_flag(
        "--transfer", audit_.transfer,
        "also other products that share the decision: smaller and larger ones, odd sizes, "
        "another pitch; at once, and later: when calls have led to a decision of their own where "
        "they need one");
    sub->add_option("--svg", audit_.svg, "draws the distribution of regret into this file");
  }

  void add_why() {
    CLI::App* sub = command(app_, "why", "which kernel a product uses, and how that was decided",
                            "Example:\n  rooftune why 1024x1024x1024",
                            [this] { return run_why(common_, why_); });
    sub->add_option("product", why_.product, kProductHelp)->required();
    sub->add_option("--op", why_.operation, "the operation")->capture_default_str();
    add_types(sub, why_.type, why_.precision);
  }

  void add_store() {
    CLI::App* store = app_.add_subcommand("store", "what an environment holds");
    store->require_subcommand(1);
    command(*store, "ls", "where it is, and how much of what it holds",
            "Example:\n  rooftune store ls --env prod",
            [this] { return run_store_ls(common_, store_); });
    CLI::App* show = command(*store, "show", "its entries, all or those of a namespace, or one",
                             "Example:\n  rooftune store show autotune",
                             [this] { return run_store_show(common_, store_); });
    show->add_option("namespace", store_.ns, "a namespace of `store ls`, or its first parts");
    show->add_option("key", store_.key, "one key in it");
    command(*store, "check", "looks for damage; exit status 1 when there is any",
            "Example:\n  rooftune store check",
            [this] { return run_store_check(common_, store_); });
    CLI::App* clear = command(*store, "clear", "removes entries, all or those of a namespace",
                              "Example:\n  rooftune store clear autotune --yes",
                              [this] { return run_store_clear(common_, store_); });
    clear->add_option("namespace", store_.ns, "a namespace of `store ls`, or its first parts");
    clear->add_flag("--yes", store_.yes, "removes them without asking");
  }

  CLI::App app_{
      "Rooftune finds the fastest kernel for a matrix product on this machine by "
      "measuring, and remembers it.",
      "rooftune"};
  CommonOptions common_;
  ProbeOptions probe_;
  ProductOptions products_;
  ListOptions list_;
  AuditOptions audit_;
  WhyOptions why_;
  StoreOptions store_;
  std::function<Outcome<Exit>()> chosen_;
};

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  Outcome<Exit> end = Exit::failed;
  try {
    end = CommandLine().run(argc, argv);
  } catch (const std::exception& exception) {
    // Of the standard library: memory ran out, most likely.
    end = stop(Exit::failed, exception.what());
  }
  if (!end) {
    note(end.error().text);
    return static_cast<int>(end.error().exit);
  }
  if (*end == Exit::done && !output_is_whole()) {
    note("not all of the result could be written");
    return static_cast<int>(Exit::failed);
  }
  return static_cast<int>(*end);
}

}  // namespace rooftune::cli
