#include "rooftune/function_ref.h"

#include <gtest/gtest.h>

#include <memory>

namespace rooftune {
namespace {

int twice(int x) { return 2 * x; }

int call(FunctionRef<int(int)> function, int x) { return function(x); }

TEST(FunctionRefTest, RefersToWhateverCanBeCalled) {
  int calls = 0;
  auto counting = [&](int x) { return ++calls, x + 1; };
  EXPECT_EQ(call(counting, 1), 2);
  EXPECT_EQ(call([](int x) { return -x; }, 1), -1);
  EXPECT_EQ(call(twice, 4), 8);
  EXPECT_EQ(call(&twice, 4), 8);
  EXPECT_EQ(calls, 1) << "the callable itself is called, not a copy";
}

TEST(FunctionRefTest, ArgumentsAreForwarded) {
  const auto take = [](std::unique_ptr<int> value) { return *value; };
  const FunctionRef<int(std::unique_ptr<int>)> function = take;
  EXPECT_EQ(function(std::make_unique<int>(7)), 7);
}

}  // namespace
}  // namespace rooftune
