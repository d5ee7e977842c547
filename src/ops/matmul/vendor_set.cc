// Other libraries as candidates.
#include <memory>
#include <string>

#include "ops/matmul/matmul_set.h"
#include "ops/matmul/rivals.h"
#include "rooftune/settings.h"

namespace rooftune {

void add_vendor_candidates(TunableSet<MatmulKey, GemmArgs>& set, const Settings& settings) {
  if (!settings.vendor) return;
  RivalOptions options;
  options.threads = set.client().capabilities().threads;
  options.client = &set.client();
  options.folders = split_folders(settings.vendor_path);
  // Beside the best of ours: on CUDA those are in the group best_guesses.
  const int priority = runtime_of(set.client()) == "cuda" ? 4 : 3;
  constexpr int kFirst = 3;
  set.group("vendor", [priority](const MatmulKey&) { return priority; });
  for (const std::string_view name : rival_names()) {
    if (runtime_of_rival(name) != runtime_of(set.client())) continue;
    auto loaded = load_rival(name, options);
    if (!loaded) continue;  // not installed: nothing to choose from
    const auto rival = std::make_shared<const Rival>(*std::move(loaded));
    // Never rival->choose: that measures, and a candidate may not know whether it runs in a search.
    set.add("vendor_" + rival->name,
            [rival](const GemmArgs& args, Stream stream) { return rival->run(args, stream); })
        .version(rival->version)
        .illegal_because([rival](const GemmArgs& args) {
          return args.packed != nullptr ? "rhs is packed" : rival->unsupported(args);
        })
        .group("vendor", kFirst);
  }
}

}  // namespace rooftune
