// With everything in hand: a session of one's own, errors as values, and why it chose.
#include <rooftune/rooftune.h>

#include <cstdio>
#include <random>

namespace {

int report(const rooftune::Error& error) {
  std::fprintf(stderr, "%s\n", error.text.c_str());
  return 1;
}

rooftune::Result<rooftune::Tensor> random_matrix(std::int64_t rows, std::int64_t cols) {
  auto tensor = rooftune::Tensor::make(rooftune::DType::f32, {rows, cols});
  if (!tensor) return tensor;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < tensor->elements(); ++i) tensor->as<float>()[i] = normal(random);
  return tensor;
}

}  // namespace

int main() {
  rooftune::SessionOptions options;
  options.environment = "local";  // .rooftune/ in the current folder
  options.warn = [](const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); };
  auto session = rooftune::Session::open(options);
  if (!session) return report(session.error());

  auto a = random_matrix(512, 384), b = random_matrix(256, 384), c = random_matrix(512, 256);
  if (!a || !b || !c) return report((!a ? a : !b ? b : c).error());

  // c = 2 * a x b^T + c; b is used through a transposed view, nothing is copied.
  rooftune::CallReport call;
  const rooftune::Status done =
      (*session)->matmul(*a, b->view().transposed(), *c, {.alpha = 2, .beta = 1, .report = &call});
  if (!done) return report(done.error());
  std::printf("ran %.*s (%s)\n", int(call.candidate.size()), call.candidate.data(),
              std::string(to_string(call.origin)).c_str());

  for (const rooftune::Decision& decision : (*session)->decisions("matmul")) {
    std::printf("%s\n", to_json(decision).c_str());
  }

  // Mistakes are values with the numbers in them.
  const rooftune::Status wrong = (*session)->matmul(*a, *b, *c);
  if (wrong) return 1;
  std::printf("as expected: %s\n", wrong.error().text.c_str());
  return 0;
}
