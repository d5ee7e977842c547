// A libFuzzer target: any bytes as a settings file give an error or valid settings.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rooftune/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"rooftune.toml", "host.toml"}) {
    const auto settings = rooftune::parse_settings(text, name);
    if (settings && !rooftune::validate(*settings)) __builtin_trap();
  }
  return 0;
}
