#include "device/cpu/cgroup.h"

#include <algorithm>
#include <cstdint>

#include "device/cpu/text_file.h"

namespace rooftune {
namespace {

constexpr std::int64_t kDefaultPeriodUs = 100000;
// Version 1 writes the largest multiple of the page size (4 KiB to 64 KiB) below 2^63.
constexpr std::int64_t kNoMemoryLimit = INT64_MAX - (1 << 20);

std::optional<double> processors(std::optional<std::int64_t> quota,
                                 std::optional<std::int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return double(*quota) / double(*period);
}

template <class T>
void take_smaller(std::optional<T>& least, std::optional<T> other) {
  if (other && (!least || *other < *least)) least = other;
}

bool contains(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes space, tab, newline and backslash as \040 and so on.
std::string unescaped(std::string_view text) {
  const auto is_octal = [](char digit) { return digit >= '0' && digit <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      plain += char((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

struct ProcFiles {
  std::string cgroup, mountinfo;
};

std::vector<std::string> folders_of(const ProcFiles& files, std::string_view controller) {
  const auto mount = parse_cgroup_mount(files.mountinfo, controller);
  const auto path = parse_cgroup_path(files.cgroup, controller);
  if (!mount) return {};
  return cgroup_folders(*mount, path.value_or("/"));
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  std::vector<std::string_view> words = split(trimmed(text), ' ');
  std::erase(words, std::string_view());
  if (words.empty() || words.size() > 2) return std::nullopt;
  return processors(parse_whole(words[0]),
                    words.size() == 2 ? parse_whole(words[1]) : kDefaultPeriodUs);
}

std::optional<double> parse_cfs(std::string_view quota_us, std::string_view period_us) {
  return processors(parse_whole(trimmed(quota_us)), parse_whole(trimmed(period_us)));
}

std::optional<std::int64_t> parse_memory_limit(std::string_view text) {
  const auto bytes = parse_whole(trimmed(text));
  if (!bytes || *bytes <= 0 || *bytes >= kNoMemoryLimit) return std::nullopt;
  return bytes;
}

std::optional<std::string> parse_cgroup_path(std::string_view proc_self_cgroup,
                                             std::string_view controller) {
  for (std::string_view line : split(proc_self_cgroup, '\n')) {
    // hierarchy:controllers:path, and the path may hold colons.
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool matches = controller.empty() ? line.substr(0, first) == "0" && controllers.empty()
                                            : contains(controllers, controller);
    if (matches) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::optional<CgroupMount> parse_cgroup_mount(std::string_view proc_self_mountinfo,
                                              std::string_view controller) {
  for (std::string_view line : split(proc_self_mountinfo, '\n')) {
    // id parent device root point options [tags] - type source super-options
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool matches = controller.empty()
                             ? right[0] == "cgroup2"
                             : right[0] == "cgroup" && contains(right[2], controller);
    if (matches) return CgroupMount{.point = unescaped(left[4]), .root = unescaped(left[3])};
  }
  return std::nullopt;
}

std::vector<std::string> cgroup_folders(const CgroupMount& mount, std::string_view path) {
  const std::string_view point = without_trailing_slashes(mount.point);
  const std::string_view root = without_trailing_slashes(mount.root);
  // Seen from inside a container, the path may be that of the host, or climb out with "..".
  const bool below = path.starts_with(root) &&
                     (path.size() == root.size() || path[root.size()] == '/') &&
                     path.find("/..") == path.npos;
  std::string_view rest = below ? without_trailing_slashes(path.substr(root.size())) : "";
  std::vector<std::string> folders;
  while (!rest.empty()) {
    folders.push_back(std::string(point) + std::string(rest));
    rest = without_trailing_slashes(rest.substr(0, rest.rfind('/')));
  }
  folders.emplace_back(point);
  return folders;
}

CgroupLimits read_cgroup_limits(const std::string& root) {
  const ProcFiles files = {read_text_file(root + "/proc/self/cgroup").value_or(""),
                           read_text_file(root + "/proc/self/mountinfo").value_or("")};
  const auto read = [&root](const std::string& folder, const char* name) {
    return read_text_file(root + folder + name).value_or("");
  };
  CgroupLimits limits;
  for (const std::string& folder : folders_of(files, "")) {
    take_smaller(limits.cpu_quota, parse_cpu_max(read(folder, "/cpu.max")));
    take_smaller(limits.memory_bytes, parse_memory_limit(read(folder, "/memory.max")));
  }
  for (const std::string& folder : folders_of(files, "cpu")) {
    take_smaller(limits.cpu_quota,
                 parse_cfs(read(folder, "/cpu.cfs_quota_us"), read(folder, "/cpu.cfs_period_us")));
  }
  for (const std::string& folder : folders_of(files, "memory")) {
    take_smaller(limits.memory_bytes, parse_memory_limit(read(folder, "/memory.limit_in_bytes")));
  }
  return limits;
}

}  // namespace rooftune
