#include "ops/matmul/cpu/guess.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ops/matmul/cpu/legality.h"
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
  // An element that is packed across the direction in which its operand lies; where nothing is
  // packed, one of C that is written so, or of the vectors that are copied.
  double turn = 0;
  double far = 0;  // a term of a tile for which A is found pages away from the one before
};

namespace {

// How a kernel differs from others of its technique.
enum class Form : std::uint8_t { usual, in_place, matrix_tiles };

// Least squares of the logarithms of errors over 14,400 times of 810 products, on two cores of a
// Sapphire Rapids with AMX, each kernel with both levels of vectors. The costs that a Zen 5 has,
// all longer by the same factor, were the beginning, from which few times draw them away less than
// many do. Kernels near the best weigh most, and guesses that are too low half as much again, since
// one of them may hide the best kernel.
struct Model {
  std::string_view technique;
  Form form;
  KernelCosts plain, half, dot;
};

// clang-format off
constexpr Model kModels[] = {
    {"tiny", Form::usual,
     {.fork = 230, .matrix = 21, .tile = 5.5, .fma = 0.11, .broadcast = 0.12, .load = 0.11, .pack_a = 0.035, .store = 0.076, .turn = 0.1},
     {.fork = 1900, .matrix = 23, .tile = 110, .load = 2.6, .pack_a = 0.039, .stream = 0.014, .store = 0.085},
     {}},
    {"tile", Form::usual,
     {.fork = 660, .matrix = 5.7, .tile = 0.78, .fma = 0.17, .broadcast = 0.12, .stream = 0.015, .store = 0.26, .turn = 0.34, .far = 2.1},
     {.fork = 930, .matrix = 22, .tile = 150, .fma = 0.029, .broadcast = 0.13, .load = 2.8, .stream = 0.0097, .store = 0.093, .turn = 0.026},
     {}},
    {"packed", Form::usual,
     {.fork = 9400, .fma = 0.13, .broadcast = 0.16, .pack_a = 0.55, .stream = 0.086, .store = 0.21},
     {.fork = 4600, .matrix = 70, .tile = 160, .broadcast = 0.1, .load = 1.6, .pack_a = 0.63, .pack_b = 0.23, .stream = 0.058, .store = 0.015},
     {}},
    {"strip", Form::usual,
     {.fork = 1700, .matrix = 16, .tile = 0.85, .fma = 0.17, .broadcast = 0.1, .pack_b = 0.015, .stream = 0.036, .store = 0.18, .turn = 0.039},
     {},
     {}},
    {"split_k", Form::usual,
     {.fork = 93, .matrix = 1300, .tile = 25, .broadcast = 0.29, .load = 0.026, .pack_a = 0.42, .stream = 0.063, .store = 1, .turn = 0.049},
     {.fork = 570, .matrix = 1200, .tile = 440, .broadcast = 0.24, .load = 0.29, .pack_a = 0.37, .pack_b = 0.27},
     {.fork = 580, .matrix = 820, .tile = 470, .load = 7.8, .pack_a = 0.23, .pack_b = 0.099, .stream = 0.075}},
    {"split_k", Form::in_place,
     {.fork = 35, .matrix = 140, .tile = 33, .fma = 0.078, .broadcast = 0.26, .load = 0.042, .stream = 0.022, .store = 1.1, .far = 0.13},
     {},
     {}},
    {"packed_dot", Form::usual,
     {},
     {},
     {.fork = 4000, .matrix = 95, .tile = 1.5, .fma = 0.51, .broadcast = 0.016, .load = 0.14, .pack_a = 0.38, .pack_b = 0.38, .store = 0.24}},
    {"packed_tiles", Form::matrix_tiles,
     {},
     {},
     {.fork = 6700, .matrix = 920, .tile = 2.6, .fma = 0.029, .broadcast = 0.015, .load = 0.75, .pack_a = 0.34, .pack_b = 0.27, .store = 0.31}},
    {"split_k", Form::matrix_tiles,
     {},
     {},
     {.fork = 1300, .matrix = 5100, .tile = 1.7, .fma = 0.021, .broadcast = 0.013, .load = 0.18, .pack_a = 0.33, .pack_b = 0.23, .store = 1.6}},
    {"skinny_cols", Form::usual,
     {.matrix = 68, .tile = 2.6, .fma = 0.53, .load = 0.2, .pack_b = 0.045, .store = 0.041, .turn = 0.41},
     {.matrix = 220, .tile = 77, .fma = 0.47, .load = 1, .pack_b = 0.016, .store = 0.45},
     {}},
    {"skinny_dot", Form::usual,
     {},
     {},
     {.matrix = 170, .broadcast = 1.6, .store = 0.18}},
    {"skinny_rows", Form::usual,
     {.fork = 550, .matrix = 66, .tile = 4.6, .fma = 0.19, .stream = 0.025, .turn = 1.2},
     {.fork = 8300, .matrix = 310, .tile = 8.2, .fma = 0.26, .stream = 0.04, .turn = 0.027},
     {.fork = 3300, .matrix = 95, .tile = 6.1, .fma = 0.51, .stream = 0.031, .turn = 0.028}},
    {"gemv_rows", Form::usual,
     {.fork = 490, .matrix = 82, .tile = 2.5, .fma = 0.15, .stream = 0.013},
     {.fork = 490, .matrix = 93, .tile = 3.1, .fma = 0.9, .stream = 0.016},
     {.fork = 490, .matrix = 93, .tile = 2.1, .fma = 0.43, .stream = 0.047}},
    {"gemv_cols", Form::usual,
     {.fork = 500, .matrix = 67, .fma = 0.051, .stream = 0.013},
     {.fork = 490, .matrix = 90, .fma = 0.97, .stream = 0.016},
     {}},
    {"gemv_split_k", Form::usual,
     {.fork = 390, .matrix = 160, .tile = 7.1, .fma = 0.075, .stream = 0.022},
     {.fork = 500, .matrix = 190, .tile = 1.3, .fma = 1.6, .stream = 0.032},
     {}},
    {"outer", Form::usual, {.matrix = 56, .store = 0.12}, {.matrix = 56, .store = 0.12}, {}},
};
// clang-format on

// Rows and columns of a matrix tile, and 32-bit lanes of each.
constexpr int kMatrixTile = 16;

// "..._14x2v...": rows and vectors of the tile; "..._32x32...": rows and columns, of which a vector
// has 16. 1 and 1 where the name has none.
void find_tile(std::string_view name, bool matrix_tiles, int& rows, int& vectors) {
  for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
    const char* const last = name.data() + name.size();
    const auto [x, row_error] = std::from_chars(name.data() + at + 1, last, rows);
    if (row_error != std::errc() || x == last || *x != 'x') continue;
    const auto [v, vector_error] = std::from_chars(x + 1, last, vectors);
    if (vector_error != std::errc()) continue;
    if (matrix_tiles) {
      vectors /= kMatrixTile;
      return;
    }
    if (v != last && *v == 'v') return;
  }
  rows = vectors = 1;
}

int vector_bytes(Isa isa) {
  if (isa == Isa::portable || isa == Isa::neon) return 16;
  return isa == Isa::avx2 ? 32 : 64;
}

// Products that one instruction adds in each 32-bit lane; 1 where it is a plain multiply-add.
int dot_length(Isa isa, TypeFamily family) {
  if (family == TypeFamily::int8) return isa == Isa::avx512_vnni || isa == Isa::amx ? 4 : 2;
  return family == TypeFamily::bf16 && (isa == Isa::avx512_bf16 || isa == Isa::amx) ? 2 : 1;
}

double divide_up(double a, double b) { return std::ceil(a / b); }

bool lies_along(std::int64_t stride, std::int64_t extent) { return stride == 1 || extent == 1; }

}  // namespace

std::optional<KernelGuess> KernelGuess::make(const CpuMatmulCandidate& row) {
  // What makes a product of f32 from parts of it is for the policies that allow that, where all are
  // measured.
  if (row.gives != Precision::highest) return std::nullopt;
  const bool in_place = row.name.ends_with("_in_place");
  const bool matrix_tiles = row.isa == Isa::amx;
  const Form form = in_place ? Form::in_place : matrix_tiles ? Form::matrix_tiles : Form::usual;
  const auto* model = std::ranges::find_if(kModels, [&](const Model& each) {
    return each.technique == row.source && each.form == form;
  });
  if (model == std::end(kModels)) return std::nullopt;
  KernelGuess guess;
  guess.isa_ = row.isa;
  find_tile(row.name, matrix_tiles, guess.rows_, guess.vectors_);
  const auto is = [&](auto... names) { return ((row.source == names) || ...); };
  if (is("gemv_rows", "skinny_rows")) guess.walk_ = Walk::dots;
  if (is("gemv_cols", "gemv_split_k")) guess.walk_ = Walk::columns;
  if (is("tile", "tiny") || in_place) guess.turning_ = Turning::for_columns;
  if (is("skinny_cols", "skinny_dot", "skinny_rows")) guess.turning_ = Turning::for_few_vectors;
  if (is("packed", "packed_dot", "packed_tiles") || (is("split_k") && !in_place)) {
    guess.packs_ = Packs::both;
  } else if (is("strip", "skinny_dot")) {
    guess.packs_ = Packs::columns;
  } else if (is("tiny")) {
    guess.packs_ = Packs::columns_that_lie_apart;
  }
  guess.one_tile_is_one_task_ = is("tile");
  guess.for_vectors_ = is("gemv_rows", "gemv_cols", "gemv_split_k", "outer");
  guess.whole_matrices_ = is("tiny");
  guess.always_forks_ = is("split_k", "gemv_split_k");
  if (is("skinny_cols")) {
    const bool half = row.name.ends_with("_half");
    guess.terms_ = row.name.ends_with("_k256") ? 256 : half ? 128 : 32;
  }
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
  const Sides sides = sides_of(args);
  const double tiles = divide_up(sides.m, rows_) * divide_up(sides.n, lanes * vectors_);
  double ns = walk_ == Walk::tiles ? tiles_ns(sides, double(args.k), costs, lanes, dot)
                                   : vector_ns(args, costs, lanes, dot);
  if (ns == 0) return 0;
  const double batch = double(args.batch);
  ns = batch * (ns + costs.matrix);
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
  const bool shares = whole_matrices_         ? args.batch > 1
                      : one_tile_is_one_task_ ? tiles * batch > 1
                                              : true;
  const double work = batch * double(args.m) * double(args.n) * double(args.k);
  if (threads > 1 && shares && (always_forks_ || work >= 2 * kWorthThreads))
    ns = ns / threads + costs.fork;
  return ns * 1e-9;
}

KernelGuess::Sides KernelGuess::sides_of(const GemmArgs& args) const {
  Sides sides;
  sides.m = double(args.m);
  sides.n = double(args.n);
  sides.a_bytes = double(size_of(args.a_type));
  sides.b_bytes = double(size_of(args.b_type));
  sides.a_along_m = lies_along(args.a_row, args.m);
  sides.a_along_k = lies_along(args.a_col, args.k);
  sides.b_along_n = lies_along(args.b_col, args.n);
  sides.b_along_k = lies_along(args.b_row, args.k);
  sides.a_step = double(std::abs(args.a_col)) * sides.a_bytes;
  if (turning_ == Turning::for_columns) {
    sides.turned = !sides.b_along_n && sides.a_along_m;
  } else if (turning_ == Turning::for_few_vectors) {
    // The few vectors are rows for a walk along columns, and columns for dot products.
    const bool dots = walk_ == Walk::dots;
    const auto few = dots ? args.n : args.m, other = dots ? args.m : args.n;
    sides.turned =
        few > kMaxSkinny || (other <= kMaxSkinny && !(dots ? sides.a_along_k : sides.b_along_n));
  }
  if (sides.turned) {
    sides.a_step = double(std::abs(args.b_row)) * sides.b_bytes;
    std::swap(sides.m, sides.n);
    std::swap(sides.a_bytes, sides.b_bytes);
    std::swap(sides.a_along_m, sides.b_along_n);
    std::swap(sides.a_along_k, sides.b_along_k);
  }
  return sides;
}

// Elements of one matrix that take the cost of turning.
double KernelGuess::turned_elements(const Sides& sides, double k) const {
  const double a = sides.a_along_k ? sides.m * k : 0, b = sides.b_along_n ? 0 : k * sides.n;
  switch (packs_) {
    case Packs::both:
      return a + b;
    case Packs::columns:
      // Rows of A are copied where they lie in neither way.
      return b + (sides.a_along_k || sides.a_along_m ? 0 : sides.m * k);
    case Packs::columns_that_lie_apart:
      return b;
    case Packs::nothing:
      return sides.turned ? sides.m * sides.n : 0;
  }
  return 0;
}

double KernelGuess::tiles_ns(const Sides& sides, double k, const KernelCosts& costs, double lanes,
                             int dot) const {
  // The last rows run in smaller tiles, which keep the units less busy; matrix tiles are whole.
  constexpr double kLeastTail = 0.3, kPage = 4096;
  const bool matrix_tiles = isa_ == Isa::amx;
  const double m = sides.m, n = sides.n;
  const double row_tiles = divide_up(m, rows_), tail = m - std::floor(m / rows_) * rows_;
  const double rows = matrix_tiles ? divide_up(m, kMatrixTile) * kMatrixTile
                                   : m - tail + (tail > 0 ? std::max(tail, kLeastTail * rows_) : 0);
  const double col_tiles = divide_up(n, lanes * vectors_);
  const bool whole_panels = packs_ == Packs::both || packs_ == Packs::columns;
  const double vectors = whole_panels ? col_tiles * vectors_ : divide_up(n, lanes);
  const double steps =
      matrix_tiles ? divide_up(k, kMatrixTile * dot) * kMatrixTile : divide_up(k, dot);
  const bool far = sides.a_along_m && !sides.a_along_k && sides.a_step >= kPage;
  // Partial sums are written after so many terms.
  const double stores = terms_ > 0 ? divide_up(k, terms_) : 1;
  return costs.fma * rows * vectors * steps + costs.broadcast * rows * col_tiles * steps +
         costs.load * row_tiles * vectors * steps + costs.tile * row_tiles * col_tiles +
         costs.pack_a * row_tiles * rows_ * k + costs.pack_b * vectors * lanes * k +
         costs.stream * k * n * sides.b_bytes + costs.store * m * n * stores +
         costs.turn * turned_elements(sides, k) + (far ? costs.far * row_tiles * col_tiles * k : 0);
}

double KernelGuess::vector_ns(const GemmArgs& args, const KernelCosts& costs, double lanes,
                              int dot) const {
  const double m = double(args.m), n = double(args.n), k = double(args.k);
  const bool dots = walk_ == Walk::dots;
  // A vector that meets rows whose terms lie side by side makes dot products, whoever does it.
  const bool sums = dots || (always_forks_ && ((n == 1 && lies_along(args.a_col, args.k)) ||
                                               (m == 1 && lies_along(args.b_row, args.k))));
  const double vectors =
      dots ? m * n * divide_up(k, lanes * dot) : divide_up(std::max(m, n), lanes) * k;
  const double bytes = k * (m * double(size_of(args.a_type)) + n * double(size_of(args.b_type)));
  const Sides sides = sides_of(args);
  // The few vectors are copied where their terms lie apart.
  const double copied = turning_ == Turning::for_few_vectors && !sides.b_along_k ? k * sides.n : 0;
  return costs.fma * vectors + costs.tile * (sums ? m * n : 0) + costs.stream * bytes +
         costs.store * m * n + costs.turn * copied;
}

}  // namespace rooftune
