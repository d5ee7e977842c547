// For tests: a process that writes numbers as 1.234,5 for as long as this lives.
#ifndef ROOFTUNE_BASE_LOCALE_FOR_TEST_H_
#define ROOFTUNE_BASE_LOCALE_FOR_TEST_H_

#include <clocale>
#include <locale>
#include <string>

namespace rooftune {

class DecimalComma {
 public:
  DecimalComma() : old_c_(std::setlocale(LC_ALL, nullptr)), old_cpp_(std::locale()) {
    // The C locale only where the machine has one; the one of C++ streams always.
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
    std::locale::global(std::locale(std::locale::classic(), new Comma));
  }
  ~DecimalComma() {
    std::locale::global(old_cpp_);
    std::setlocale(LC_ALL, old_c_.c_str());
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::string old_c_;
  std::locale old_cpp_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_BASE_LOCALE_FOR_TEST_H_
