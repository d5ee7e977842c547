// The shortest way: one line multiplies, measures at first use, and remembers.
#include <rooftune/rooftune.h>

#include <cstdio>
#include <vector>

int main() {
  const int m = 300, n = 200, k = 100;
  std::vector<float> a(m * k, 2.0f), b(k * n, 0.5f), c(m * n);

  // Views over memory that you own: row-major here, any strides elsewhere.
  rooftune::matmul(rooftune::view(a.data(), {m, k}), rooftune::view(b.data(), {k, n}),
                   rooftune::view(c.data(), {m, n}));

  std::printf("c[0] = %g, c[last] = %g\n", double(c.front()), double(c.back()));
  return c.front() == 100 && c.back() == 100 ? 0 : 1;
}
