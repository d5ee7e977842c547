// Runs a libFuzzer target without libFuzzer: on the same inputs every time, made of the pieces that
// the texts Rooftune reads consist of, and of bytes that none should hold.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPieces[] = {
    "\n"sv,
    "\r\n"sv,
    ","sv,
    "\""sv,
    "\"\""sv,
    "="sv,
    " "sv,
    "\t"sv,
    "#"sv,
    "["sv,
    "]"sv,
    "{"sv,
    "}"sv,
    ":"sv,
    "[rooftune]"sv,
    "[autotune]"sv,
    "level"sv,
    "device"sv,
    "cpu"sv,
    "threads"sv,
    "true"sv,
    "balanced"sv,
    "environment"sv,
    "0"sv,
    "-1"sv,
    "1e999"sv,
    "nan"sv,
    "0x10"sv,
    "9223372036854775807"sv,
    "99999999999999999999"sv,
    "id,batch,m,n,k"sv,
    "f32"sv,
    "NT"sv,
    "\0"sv,
    "\xff"sv,
    "\xc3\xa4"sv,
    "\xef\xbb\xbf"sv,
    "'"sv,
    "\\"sv,
    "null"sv,
};
constexpr int kInputs = 20000;
constexpr int kMostPieces = 40;

void run(std::string_view text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main() {
  run("");
  for (const std::string_view piece : kPieces) run(piece);
  std::mt19937 random(2026);
  std::string text;
  for (int i = 0; i < kInputs; ++i) {
    text.clear();
    const auto pieces = random() % kMostPieces;
    for (unsigned piece = 0; piece < pieces; ++piece) {
      text += kPieces[random() % std::size(kPieces)];
      // A change of one bit now and then leaves most of the structure whole.
      if (random() % 16 == 0) text.back() = static_cast<char>(text.back() ^ (1 << random() % 8));
    }
    run(text);
  }
}
