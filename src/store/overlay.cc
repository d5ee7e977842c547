#include "store/overlay.h"

#include <algorithm>
#include <tuple>

#include "store/database.h"
#include "store/namespaces.h"

namespace rooftune {

void Overlay::set(std::string_view ns, std::string_view key, std::optional<std::string> value,
                  std::int64_t updated_unix_s) {
  values_.insert_or_assign({std::string(ns), std::string(key)},
                           Value{std::move(value), updated_unix_s});
}

const Overlay::Value* Overlay::find(std::string_view ns, std::string_view key) const {
  const auto found = values_.find({std::string(ns), std::string(key)});
  return found == values_.end() ? nullptr : &found->second;
}

void Overlay::append(std::string_view ns, std::string value, std::int64_t updated_unix_s) {
  const auto same = [&](const Record& record) { return record.ns == ns; };
  if (std::ranges::count_if(records_, same) >= kRecordsKept) {
    records_.erase(std::ranges::find_if(records_, same));
  }
  records_.push_back({std::string(ns), std::move(value), updated_unix_s});
}

void Overlay::clear() {
  values_.clear();
  records_.clear();
}

void Overlay::clear(std::string_view prefix) {
  std::erase_if(values_, [&](const auto& entry) { return covers(prefix, entry.first.first); });
  std::erase_if(records_, [&](const Record& record) { return covers(prefix, record.ns); });
}

std::vector<Entry> Overlay::over(std::vector<Entry> stored, std::string_view prefix) const {
  std::erase_if(stored, [&](const Entry& entry) { return find(entry.ns, entry.key) != nullptr; });
  for (const auto& [name, value] : values_) {
    if (value.value && covers(prefix, name.first)) {
      stored.push_back({name.first, name.second, *value.value, value.updated_unix_s});
    }
  }
  std::map<std::string_view, std::int64_t> last;
  for (const Record& record : records_) {
    if (!covers(prefix, record.ns)) continue;
    auto [at, first] = last.try_emplace(record.ns, 0);
    if (first) {
      for (const Entry& entry : stored) {
        if (entry.ns == record.ns) at->second = std::max(at->second, record_number(entry.key));
      }
    }
    stored.push_back({record.ns, record_key(++at->second), record.value, record.updated_unix_s});
  }
  std::ranges::sort(stored, {}, [](const Entry& entry) { return std::tie(entry.ns, entry.key); });
  return stored;
}

}  // namespace rooftune
