#include <string_view>
#include <vector>

#include "base/hash.h"
#include "rooftune/device.h"

namespace rooftune {

std::string Fingerprint::digest() const {
  std::vector<std::string_view> words;
  words.reserve(2 * parts_.size());
  for (const auto& [name, value] : parts_) {
    words.push_back(name);
    words.push_back(value);
  }
  return rooftune::digest(words);
}

std::string Fingerprint::text() const {
  std::string text;
  for (const auto& [name, value] : parts_) {
    if (!text.empty()) text += ", ";
    text += name;
    text += '=';
    text += value;
  }
  return text;
}

std::string KernelId::digest() const { return rooftune::digest({name, source_hash, parameters}); }

}  // namespace rooftune
