// The one-line use, from outside of the project.
#include <rooftune/rooftune.h>

#include <array>
#include <cstdio>

int main() {
  const std::array<float, 6> a = {1, 2, 3, 4, 5, 6};      // [2, 3]
  const std::array<float, 6> b = {7, 8, 9, 10, 11, 12};   // [3, 2]
  const std::array<float, 4> right = {58, 64, 139, 154};  // their product
  std::array<float, 4> c{};
  rooftune::matmul(rooftune::view(a.data(), {2, 3}), rooftune::view(b.data(), {3, 2}),
                   rooftune::view(c.data(), {2, 2}));
  std::printf("%g %g\n%g %g\n", c[0], c[1], c[2], c[3]);
  return c == right ? 0 : 1;
}
