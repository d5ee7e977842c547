// rooftune probe: the peaks that limits are made from.
#include <string>
#include <utility>

#include "base/json.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/opened.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "fmt/format.h"
#include "throughput/prober.h"
#include "tune/context_internals.h"

namespace rooftune::cli {
namespace {

Json to_json(const ProbeReport& report, const std::string& device) {
  Json compute = Json::array(), memory = Json::array();
  for (const ComputePeak& peak : report.compute) {
    compute.push_back({{"type", to_string(peak.dtype)},
                       {"matrix_units", peak.matrix_units},
                       {"ops_per_s", peak.ops_per_s}});
  }
  for (const MemoryPoint& point : report.memory) {
    memory.push_back({{"working_set_bytes", point.working_set_bytes},
                      {"copy_bytes_per_s", point.copy},
                      {"read_bytes_per_s", point.read},
                      {"write_bytes_per_s", point.write}});
  }
  return {{"device", device},
          {"compute", std::move(compute)},
          {"memory", std::move(memory)},
          {"launch_overhead_s", report.launch_overhead_s},
          {"probe_s", report.seconds},
          {"probe_launches", report.launches}};
}

void print_report(const ProbeReport& report, const std::string& device) {
  Table compute({{"type"}, {"units"}, {"peak", Align::right}});
  for (const ComputePeak& peak : report.compute) {
    compute.add({std::string(to_string(peak.dtype)), peak.matrix_units ? "matrix" : "plain",
                 format_ops_rate(peak.ops_per_s)});
  }
  Table memory({{"working set", Align::right},
                {"copy", Align::right},
                {"read", Align::right},
                {"write", Align::right}});
  for (const MemoryPoint& point : report.memory) {
    memory.add({format_quantity(point.working_set_bytes, "B"), format_bytes_rate(point.copy),
                format_bytes_rate(point.read), format_bytes_rate(point.write)});
  }
  print_line(fmt::format("{}: compute", device));
  print_line(compute.text());
  print_line(fmt::format("\n{}: memory, by working set", device));
  print_line(memory.text());
  print_line(fmt::format("\nlaunch overhead: {}", format_seconds(report.launch_overhead_s)));
  if (report.launches == 0) {
    print_line("all of it was known already (--fresh measures again)");
  } else {
    print_line(fmt::format("measured in {} with {} launches", format_seconds(report.seconds),
                           report.launches));
  }
}

}  // namespace

Outcome<Exit> run_probe(const CommonOptions& common, const ProbeOptions& options) {
  auto opened = open_session(common, Disk::used);
  if (!opened) return std::unexpected(opened.error());
  Session& session = (*opened)->session();
  const auto prober = session.internals().prober();
  Result<ProbeReport> report = [&] {
    const Progress progress("probing", 1);
    return prober->all(options.fresh);
  }();
  if (!report) return stop(report.error());
  const std::string& device = session.client().name();
  common.json ? print_json(to_json(*report, device)) : print_report(*report, device);
  return Exit::done;
}

}  // namespace rooftune::cli
