#include "cli/audit_picture.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string picture(std::vector<Curve> curves) { return regret_picture("a < b & c", curves, 0.02); }

TEST(AuditPicture, IsOneDocumentWithACurveForEachThatHasValues) {
  const std::string svg = picture({{"one", {0.01, 0.05}}, {"none", {}}, {"two", {0}}});
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  EXPECT_EQ(count(svg, "<path "), 2);
  EXPECT_THAT(svg, HasSubstr("one (2)"));
  EXPECT_THAT(svg, HasSubstr("two (1)"));
  EXPECT_THAT(svg, Not(HasSubstr("none (")));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_THAT(svg, HasSubstr("regret in %"));
  EXPECT_THAT(svg, HasSubstr("share of choices in %"));
  EXPECT_THAT(svg, HasSubstr("margin"));
}

TEST(AuditPicture, StepsUpAtEveryValueInOrder) {
  // The scale ends at 10 %: two decades, of which 1 % is the middle.
  const std::string svg = picture({{"one", {0.10, 0.01, 0, 0.01}}});
  EXPECT_THAT(svg, HasSubstr("d=\"M70.0 380.0 H70.0 V297.5 H385.0 V215.0 H385.0 V132.5 "
                             "H700.0 V50.0 H700.0\""));
}

TEST(AuditPicture, TheScaleReachesTheLargestValue) {
  EXPECT_THAT(picture({{"one", {0.01}}}), Not(HasSubstr(">50</text>")));
  const std::string svg = picture({{"one", {0.01}}, {"two", {1.2}}});
  EXPECT_THAT(svg, HasSubstr(">200</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">500</text>")));
}

TEST(AuditPicture, OfNothingIsStillAPicture) { EXPECT_THAT(picture({}), EndsWith("</svg>\n")); }

}  // namespace
}  // namespace rooftune::cli
