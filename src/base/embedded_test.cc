#include "base/embedded.h"

#include <gtest/gtest.h>

namespace rooftune {
namespace {

constexpr EmbeddedFile kFiles[] = {
    {"a/main.cu", "#include \"a/one.h\"\n  # include \"a/two.h\"\nint main;\n#include <cstdint>\n"},
    {"a/one.h", "#include \"a/two.h\"\nint one;\n"},
    {"a/two.h", "int two;\n"},
    {"a/lost.cu", "#include \"a/none.h\"\n"},
    {"a/circle.cu", "#include \"a/circle.cu\"\nint circle;"},
};

TEST(WithIncludesTest, PutsEachFileInItsPlaceOnce) {
  EXPECT_EQ(*with_includes(kFiles, "a/main.cu"),
            "int two;\nint one;\nint main;\n#include <cstdint>\n");
}

TEST(WithIncludesTest, AFileMayIncludeItself) {
  EXPECT_EQ(*with_includes(kFiles, "a/circle.cu"), "int circle;");
}

TEST(WithIncludesTest, WhatIsNotHereStays) {
  EXPECT_EQ(*with_includes(kFiles, "a/lost.cu"), "#include \"a/none.h\"\n");
}

TEST(WithIncludesTest, NamesWhatIsMissing) {
  const auto text = with_includes(kFiles, "a/none.h");
  ASSERT_FALSE(text.has_value());
  EXPECT_NE(text.error().text.find("a/none.h"), std::string::npos) << text.error().text;
}

}  // namespace
}  // namespace rooftune
