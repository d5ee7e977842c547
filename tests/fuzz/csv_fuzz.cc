// A libFuzzer target: any bytes as CSV end, with lines that go up and no row without fields.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rooftune::CsvReader reader({reinterpret_cast<const char*>(data), size});
  std::size_t last = 0;
  while (const auto row = reader.next()) {
    if (reader.line() <= last) __builtin_trap();
    last = reader.line();
    if (*row && ((*row)->fields.empty() || (*row)->line != last)) __builtin_trap();
  }
  return 0;
}
