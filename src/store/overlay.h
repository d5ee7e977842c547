// What an environment knows and its file does not: everything in an environment without a file,
// new values beside a file that is only read, and values that wait for a file that is locked or
// full. Not thread-safe; its owner locks.
#ifndef ROOFTUNE_STORE_OVERLAY_H_
#define ROOFTUNE_STORE_OVERLAY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/environment.h"

namespace rooftune {

class Overlay {
 public:
  struct Value {
    std::optional<std::string> value;  // nullopt: erased
    std::int64_t updated_unix_s = 0;
  };
  struct Record {
    std::string ns, value;
    std::int64_t updated_unix_s = 0;
  };
  using Values = std::map<std::pair<std::string, std::string>, Value>;

  bool empty() const { return values_.empty() && records_.empty(); }
  std::size_t size() const { return values_.size() + records_.size(); }
  const Values& values() const { return values_; }
  const std::deque<Record>& records() const { return records_; }

  void set(std::string_view ns, std::string_view key, std::optional<std::string> value,
           std::int64_t updated_unix_s);
  const Value* find(std::string_view ns, std::string_view key) const;
  // Keeps the newest kRecordsKept records of each namespace.
  void append(std::string_view ns, std::string value, std::int64_t updated_unix_s);

  void clear();
  void clear(std::string_view prefix);

  // Lays what is known here over the `stored` entries of the same prefix; sorted by namespace and
  // key. Records continue the numbers of the stored ones.
  std::vector<Entry> over(std::vector<Entry> stored, std::string_view prefix) const;

 private:
  Values values_;
  std::deque<Record> records_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_STORE_OVERLAY_H_
