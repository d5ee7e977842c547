// The commands, one file each; what they may be told is in these structs, which command_line.cc
// fills from the arguments.
#ifndef ROOFTUNE_CLI_COMMANDS_H_
#define ROOFTUNE_CLI_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "rooftune/dtype.h"

namespace rooftune::cli {

// Every command takes these. An absent one leaves the word to the environment variables, then to
// the settings file, then to the defaults.
struct CommonOptions {
  std::optional<std::string> device;       // --device
  std::optional<std::string> environment;  // --env
  std::optional<int> threads;              // --threads
  std::optional<std::string> isa;          // --isa
  std::optional<std::string> level;        // --level
  std::optional<std::string> settings;     // --settings FILE
  std::optional<std::string> trace;        // --trace FILE
  std::vector<std::string> rivals;         // --rivals FOLDER
  bool json = false;                       // --json
};

struct ProbeOptions {
  bool fresh = false;
};

// keys and shapes.
struct ProductOptions {
  std::vector<std::string> products;
  std::string type = "f32";           // of the operands
  std::string precision = "highest";  // of f32 products
};

// tune, bench and audit.
struct ListOptions {
  std::string file;
  bool keep_going = false;
  std::vector<std::string> rivals;  // bench only
  bool prepacked = false;           // bench only
  // --precision, instead of what the list says; for its f32 products.
  std::optional<std::string> precision;
};

struct AuditOptions {
  int tunes = 3;                 // of each product
  double seconds = 1.5;          // that all candidates of a product are timed, in each regime
  std::optional<double> margin;  // absent: autotune.margin
  bool transfer = false;         // also other members of the bucket
  std::optional<std::string> svg;
};

struct WhyOptions {
  std::string product;
  std::string operation = "matmul";
  std::string type = "f32";
  std::string precision = "highest";
};

struct StoreOptions {
  std::optional<std::string> ns, key;  // show, clear
  bool yes = false;                    // clear
};

Outcome<Exit> run_devices(const CommonOptions& common);
Outcome<Exit> run_probe(const CommonOptions& common, const ProbeOptions& options);
Outcome<Exit> run_keys(const CommonOptions& common, const ProductOptions& options);
Outcome<Exit> run_shapes(const CommonOptions& common, const ProductOptions& options);
Outcome<Exit> run_tune(const CommonOptions& common, const ListOptions& options);
Outcome<Exit> run_bench(const CommonOptions& common, const ListOptions& options);
Outcome<Exit> run_audit(const CommonOptions& common, const ListOptions& options,
                        const AuditOptions& audit);
Outcome<Exit> run_why(const CommonOptions& common, const WhyOptions& options);
Outcome<Exit> run_store_ls(const CommonOptions& common, const StoreOptions& options);
Outcome<Exit> run_store_show(const CommonOptions& common, const StoreOptions& options);
Outcome<Exit> run_store_check(const CommonOptions& common, const StoreOptions& options);
Outcome<Exit> run_store_clear(const CommonOptions& common, const StoreOptions& options);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_COMMANDS_H_
