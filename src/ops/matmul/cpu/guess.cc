#include "ops/matmul/cpu/guess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ops/matmul/cpu/product.h"

namespace rooftune {

// Nanoseconds of one thread.
struct KernelCosts {
  double fork = 0;                // once, where the work is shared out
  double matrix = 0;              // of a batch
  double tile = 0;                // or each dot product
  double fma = 0;                 // a vector of multiply-adds
  double broadcast = 0;           // an element of A, for a row of a tile
  double load = 0;                // a vector of B, for a tile
  double pack_a = 0, pack_b = 0;  // an element, edges of panels included
  double stream = 0;              // a byte of B, or of both for dot products and vectors
  double store = 0;               // an element of C
};

namespace {

// Least squares of relative errors over 3,900 times of 160 products, on two cores of a Zen 5 with
// AVX-512, each kernel with both levels of vectors; guesses that are too low weigh half as much
// again, since one of them may hide the best kernel. Those of few samples are rounded by
// hand, and forks cost what they do between those of a program that forks all the time and others.
struct Model {
  std::string_view technique;
  bool in_place;
  KernelCosts plain, half, dot;
};

// clang-format off
constexpr Model kModels[] = {
    {"tiny", false,
     {.fork = 120, .matrix = 8, .tile = 2.1, .fma = 0.057, .broadcast = 0.045, .load = 0.2, .pack_a = 0.029, .stream = 0.015, .store = 0.047},
     {.fork = 1700, .matrix = 19, .tile = 5.3, .load = 1.3, .pack_a = 0.029, .stream = 0.016, .store = 0.13},
     {}},
    {"tile", false,
     {.fork = 700, .matrix = 17, .tile = 2.8, .fma = 0.087, .broadcast = 0.059, .load = 0.14, .stream = 0.0027, .store = 0.041},
     {.fork = 700, .matrix = 17, .tile = 2.8, .fma = 0.022, .broadcast = 0.14, .load = 0.51, .stream = 0.22, .store = 0.1},
     {}},
    {"packed", false,
     {.fork = 620, .matrix = 66, .tile = 2.4, .fma = 0.12, .broadcast = 0.039, .load = 0.016, .pack_a = 0.069, .stream = 0.028, .store = 0.043},
     {.fork = 620, .matrix = 66, .tile = 19, .broadcast = 0.25, .load = 0.31, .pack_a = 0.035, .pack_b = 0.2, .stream = 0.086, .store = 0.062},
     {}},
    {"strip", false,
     {.fork = 700, .matrix = 20, .tile = 1, .fma = 0.099, .broadcast = 0.091, .stream = 0.018, .store = 0.047},
     {}, {}},
    {"split_k", false,
     {.fork = 700, .matrix = 370, .tile = 24, .broadcast = 0.27, .load = 0.01, .pack_a = 0.064, .stream = 0.022, .store = 0.079},
     {.fork = 700, .matrix = 570, .tile = 70, .broadcast = 0.23, .load = 0.14, .pack_a = 0.094, .pack_b = 0.27},
     {.fork = 700, .matrix = 790, .tile = 140, .load = 1.8, .pack_a = 0.089, .pack_b = 0.044, .stream = 0.043}},
    {"split_k", true,
     {.fork = 700, .matrix = 91, .tile = 37, .fma = 0.11, .broadcast = 0.014, .load = 0.17, .stream = 0.002, .store = 0.14},
     {}, {}},
    {"packed_dot", false, {}, {},
     {.fork = 1000, .matrix = 350, .tile = 1, .fma = 0.13, .broadcast = 0.007, .load = 0.12, .pack_a = 0.13, .pack_b = 0.11, .store = 0.072}},
    {"skinny_cols", false,
     {.matrix = 24, .tile = 30, .fma = 0.14, .load = 0.26, .pack_b = 0.011, .store = 0.57},
     {.matrix = 24, .tile = 30, .fma = 0.14, .load = 0.53, .pack_b = 0.011, .store = 0.57},
     {}},
    {"skinny_dot", false, {}, {}, {.matrix = 380, .broadcast = 0.11, .store = 0.1}},
    {"skinny_rows", false,
     {.fork = 280, .matrix = 50, .tile = 2.7, .fma = 0.1, .stream = 0.016},
     {.fork = 1200, .matrix = 470, .tile = 0.8, .fma = 0.23, .stream = 0.026},
     {.fork = 1200, .matrix = 55, .tile = 2.4, .fma = 0.089, .stream = 0.023}},
    {"gemv_rows", false,
     {.fork = 300, .matrix = 55, .tile = 0.5, .fma = 0.09, .stream = 0.0085},
     {.fork = 300, .matrix = 55, .tile = 0.5, .fma = 0.4, .stream = 0.0085},
     {.fork = 300, .matrix = 55, .tile = 0.5, .fma = 0.2, .stream = 0.016}},
    {"gemv_cols", false,
     {.fork = 300, .matrix = 55, .fma = 0.03, .stream = 0.009},
     {.fork = 300, .matrix = 55, .fma = 0.5, .stream = 0.02},
     {}},
    {"gemv_split_k", false,
     {.fork = 300, .matrix = 106, .fma = 0.045, .stream = 0.0095},
     {.fork = 300, .matrix = 106, .fma = 1, .stream = 0.045},
     {}},
    {"outer", false, {.matrix = 34, .store = 0.07}, {.matrix = 34, .store = 0.07}, {}},
};
// clang-format on

// "..._14x2v...": rows and vectors of the tile; 1 and 1 where the name has none.
void find_tile(std::string_view name, int& rows, int& vectors) {
  for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
    const char* const last = name.data() + name.size();
    const auto [x, row_error] = std::from_chars(name.data() + at + 1, last, rows);
    if (row_error != std::errc() || x == last || *x != 'x') continue;
    const auto [v, vector_error] = std::from_chars(x + 1, last, vectors);
    if (vector_error == std::errc() && v != last && *v == 'v') return;
  }
  rows = vectors = 1;
}

int vector_bytes(Isa isa) {
  if (isa == Isa::portable || isa == Isa::neon) return 16;
  return isa == Isa::avx2 ? 32 : 64;
}

// Products that one instruction adds in each 32-bit lane; 1 where it is a plain multiply-add.
int dot_length(Isa isa, TypeFamily family) {
  if (family == TypeFamily::int8) return isa == Isa::avx512_vnni ? 4 : 2;
  return family == TypeFamily::bf16 && isa == Isa::avx512_bf16 ? 2 : 1;
}

double divide_up(double a, double b) { return std::ceil(a / b); }

}  // namespace

std::optional<KernelGuess> KernelGuess::make(const CpuMatmulCandidate& row) {
  // Matrix tiles are another kind of unit.
  if (row.isa == Isa::amx) return std::nullopt;
  const bool in_place = row.name.ends_with("_in_place");
  const auto* model = std::ranges::find_if(kModels, [&](const Model& each) {
    return each.technique == row.source && each.in_place == in_place;
  });
  if (model == std::end(kModels)) return std::nullopt;
  KernelGuess guess;
  guess.isa_ = row.isa;
  find_tile(row.name, guess.rows_, guess.vectors_);
  const auto is = [&](auto... names) { return ((row.source == names) || ...); };
  if (is("gemv_rows", "skinny_rows")) guess.walk_ = Walk::dots;
  if (is("gemv_cols", "gemv_split_k")) guess.walk_ = Walk::columns;
  guess.whole_panels_ = !in_place && is("packed", "packed_dot", "strip", "split_k", "skinny_dot");
  guess.for_vectors_ = is("gemv_rows", "gemv_cols", "gemv_split_k", "outer");
  guess.whole_matrices_ = is("tiny");
  guess.always_forks_ = is("split_k", "gemv_split_k");
  guess.plain_ = &model->plain;
  guess.half_ = &model->half;
  guess.dot_ = &model->dot;
  return guess;
}

double KernelGuess::seconds(const GemmArgs& args, int threads) const {
  const bool half = args.family == TypeFamily::bf16 || args.family == TypeFamily::f16;
  const int dot = dot_length(isa_, args.family);
  const KernelCosts& costs = dot > 1 ? *dot_ : half ? *half_ : *plain_;
  const double lanes = vector_bytes(isa_) / (args.family == TypeFamily::f64 ? 8.0 : 4.0);
  double ns =
      walk_ == Walk::tiles ? tiles_ns(args, costs, lanes, dot) : vector_ns(args, costs, lanes, dot);
  if (ns == 0) return 0;
  const double batch = double(args.batch);
  ns += costs.matrix * batch;
  // No kernel is faster than its operands come from the last cache; and one that is made to use
  // them several times takes them in pieces that suit a single use badly.
  constexpr double kByte = 0.0085, kSingleUse = 2;
  const double bytes = batch * double(args.k) *
                       (double(args.m) * double(size_of(args.a_type)) +
                        double(args.n) * double(size_of(args.b_type)));
  ns = std::max(ns, kByte * bytes);
  if (!for_vectors_ && std::min(args.m, args.n) == 1) ns *= kSingleUse;
  // Compilers make two instructions of a portable multiply-add.
  constexpr double kPortable = 1.9;
  if (isa_ == Isa::portable) ns *= kPortable;
  const bool shares = !whole_matrices_ || args.batch > 1;
  const double work = batch * double(args.m) * double(args.n) * double(args.k);
  if (threads > 1 && shares && (always_forks_ || work >= 2 * kWorthThreads))
    ns = ns / threads + costs.fork;
  return ns * 1e-9;
}

double KernelGuess::tiles_ns(const GemmArgs& args, const KernelCosts& costs, double lanes,
                             int dot) const {
  // The last rows run in smaller tiles, which keep the units less busy.
  constexpr double kLeastTail = 0.3;
  const double m = double(args.m), n = double(args.n), k = double(args.k);
  const double row_tiles = divide_up(m, rows_), tail = m - std::floor(m / rows_) * rows_;
  const double rows = m - tail + (tail > 0 ? std::max(tail, kLeastTail * rows_) : 0);
  const double col_tiles = divide_up(n, lanes * vectors_);
  const double vectors = whole_panels_ ? col_tiles * vectors_ : divide_up(n, lanes);
  const double steps = divide_up(k, dot);
  return double(args.batch) *
         (costs.fma * rows * vectors * steps + costs.broadcast * rows * col_tiles * steps +
          costs.load * row_tiles * vectors * steps + costs.tile * row_tiles * col_tiles +
          costs.pack_a * row_tiles * rows_ * k + costs.pack_b * vectors * lanes * k +
          costs.stream * k * n * double(size_of(args.b_type)) + costs.store * m * n);
}

double KernelGuess::vector_ns(const GemmArgs& args, const KernelCosts& costs, double lanes,
                              int dot) const {
  const double m = double(args.m), n = double(args.n), k = double(args.k);
  const bool dots = walk_ == Walk::dots;
  const double vectors =
      dots ? m * n * divide_up(k, lanes * dot) : divide_up(std::max(m, n), lanes) * k;
  const double bytes = k * (m * double(size_of(args.a_type)) + n * double(size_of(args.b_type)));
  return double(args.batch) * (costs.fma * vectors + costs.tile * (dots ? m * n : 0) +
                               costs.stream * bytes + costs.store * m * n);
}

}  // namespace rooftune
