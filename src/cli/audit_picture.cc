#include "cli/audit_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "fmt/format.h"

namespace rooftune::cli {
namespace {

constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 70, kRight = 20, kTop = 50, kBottom = 60;
constexpr double kLeast = 0.1;  // percent
// Colours that those who see few of them can tell apart, and so can printers by the dashes.
//   M. Okabe, K. Ito, Color Universal Design, 2008.
struct Style {
  std::string_view colour, dashes;
  std::string stroke() const {
    return fmt::format("stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"", colour, dashes);
  }
};
constexpr std::array<Style, 5> kStyles = {{{"#0072b2", "none"},
                                           {"#d55e00", "8 4"},
                                           {"#555555", "2 4"},
                                           {"#009e73", "12 4 2 4"},
                                           {"#cc79a7", "6 2"}}};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// 1, 2 and 5 of every power of ten.
std::vector<double> ticks(double most) {
  std::vector<double> all;
  for (double power = kLeast;; power *= 10) {
    for (const double digit : {1, 2, 5}) {
      all.push_back(power * digit);
      if (all.back() * (1 + 1e-9) >= most) return all;
    }
  }
}

class Axes {
 public:
  explicit Axes(double most_percent) : most_(most_percent) {}
  double x(double percent) const {
    const double share = std::log(std::max(percent, kLeast) / kLeast) / std::log(most_ / kLeast);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  static double y(double share) { return kHeight - kBottom - share * (kHeight - kTop - kBottom); }

 private:
  double most_;
};

std::string line(double x1, double y1, double x2, double y2, std::string_view rest) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, rest);
}

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(words));
}

std::string grid(const Axes& axes, const std::vector<double>& at, double margin) {
  constexpr std::string_view kFaint = "stroke=\"#dddddd\"";
  std::string svg;
  for (const double percent : at) {
    const double x = axes.x(percent);
    svg += line(x, Axes::y(0), x, Axes::y(1), kFaint);
    svg += text(x, Axes::y(0) + 18, "middle", fmt::format("{:g}", percent));
  }
  for (int percent = 0; percent <= 100; percent += 20) {
    const double y = Axes::y(percent / 100.0);
    svg += line(kLeft, y, kWidth - kRight, y, kFaint);
    svg += text(kLeft - 8, y + 4, "end", fmt::format("{}", percent));
  }
  if (margin * 100 > kLeast && margin * 100 <= at.back()) {
    const double x = axes.x(margin * 100);
    svg += line(x, Axes::y(0), x, Axes::y(1), "stroke=\"#999999\" stroke-dasharray=\"4 3\"");
    svg += text(x + 4, Axes::y(1) - 4, "start", "margin");
  }
  svg += text((kLeft + kWidth - kRight) / 2, kHeight - 16, "middle",
              "regret in %: time of the choice above that of the best");
  const double middle = (Axes::y(0) + Axes::y(1)) / 2;
  svg += fmt::format(
      "<text x=\"20\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {0:.1f})\">"
      "share of choices in % with at most that regret</text>\n",
      middle);
  return svg;
}

// Steps up at every value.
std::string path(const Axes& axes, std::vector<double> regrets, const Style& style) {
  std::sort(regrets.begin(), regrets.end());
  std::string steps = fmt::format("M{:.1f} {:.1f}", axes.x(0), Axes::y(0));
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    steps += fmt::format(" H{:.1f} V{:.1f}", axes.x(100 * regrets[i]),
                         Axes::y(double(i + 1) / double(regrets.size())));
  }
  steps += fmt::format(" H{:.1f}", kWidth - kRight);
  return fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", steps, style.stroke());
}

struct Entry {
  std::string words;
  const Style* style;
};

// In the lower right corner, where no curve of good choices goes.
std::string to_svg(const std::vector<Entry>& legend) {
  constexpr double kStep = 18, kAcross = 230;
  const double x = kWidth - kRight - kAcross;
  double y = Axes::y(0) - 8 - kStep * double(legend.size());
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#ffffff\"/>\n",
      x - 8, y, kAcross, kStep * double(legend.size()) + 4);
  for (const Entry& entry : legend) {
    y += kStep;
    svg += line(x, y - 4, x + 36, y - 4, entry.style->stroke());
    svg += text(x + 44, y, "start", entry.words);
  }
  return svg;
}

}  // namespace

std::string regret_picture(const std::string& title, std::span<const Curve> curves, double margin) {
  double most = 0;
  for (const Curve& curve : curves) {
    for (const double regret : curve.regrets) most = std::max(most, 100 * regret);
  }
  const std::vector<double> at = ticks(std::max(most, 10.0));
  const Axes axes(at.back());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  svg += text(kLeft, 24, "start", title);
  svg += grid(axes, at, margin);
  std::vector<Entry> legend;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& curve = curves[i];
    if (curve.regrets.empty()) continue;
    const Style& style = kStyles[i % kStyles.size()];
    svg += path(axes, curve.regrets, style);
    legend.push_back({fmt::format("{} ({})", curve.label, curve.regrets.size()), &style});
  }
  svg += to_svg(legend);
  return svg + "</svg>\n";
}

}  // namespace rooftune::cli
