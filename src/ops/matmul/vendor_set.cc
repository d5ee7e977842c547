// Other libraries as candidates.
#include <memory>
#include <string>

#include "ops/matmul/matmul_set.h"
#include "ops/matmul/rivals.h"
#include "rooftune/settings.h"

namespace rooftune {

void add_vendor_candidates(TunableSet<MatmulKey, GemmArgs>& set, const Settings& settings) {
  const auto& parts = set.client().fingerprint().parts();
  const auto runtime = parts.find("runtime");
  if (!settings.vendor || runtime == parts.end() || runtime->second != "cpu") return;
  RivalOptions options;
  options.threads = set.client().capabilities().threads;
  options.folders = split_folders(settings.vendor_path);
  constexpr int kBesideTheBestOfOurs = 3;
  set.group("vendor", [](const MatmulKey&) { return kBesideTheBestOfOurs; });
  for (const std::string_view name : rival_names()) {
    auto loaded = load_rival(name, options);
    if (!loaded) continue;  // not installed: nothing to choose from
    const auto rival = std::make_shared<const Rival>(*std::move(loaded));
    // They compute before they return, as everything on the cpu does: there is no stream to wait
    // for.
    set.add("vendor_" + rival->name,
            [rival](const GemmArgs& args, Stream) { return rival->run(args); })
        .version(rival->version)
        .illegal_because([rival](const GemmArgs& args) {
          return args.packed != nullptr ? "rhs is packed" : rival->unsupported(args);
        })
        .group("vendor", kBesideTheBestOfOurs);
  }
}

}  // namespace rooftune
