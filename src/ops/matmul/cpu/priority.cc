#include "ops/matmul/cpu/priority.h"

#include <algorithm>

#include "ops/matmul/cpu/legality.h"
#include "ops/matmul/key.h"

namespace rooftune {
namespace {

bool is_vector(const MatmulKey& key) { return key.m == 1 || key.n == 1; }

// The key holds anchored sizes, which are at least the real ones: a candidate is called unfit only
// where the smallest size that could stand behind the key is.
bool may_be_skinny(const MatmulKey& key) { return std::min(key.m, key.n) <= 2 * kMaxSkinny; }

bool may_be_tiny(const MatmulKey& key) { return std::max({key.m, key.n, key.k}) <= 2 * kMaxTiny; }

// A result so small that it cannot occupy the threads, from a sum that can.
bool long_sum(const MatmulKey& key) { return key.k >= 2048 && key.k >= 8 * std::max(key.m, key.n); }

}  // namespace

int naive_priority(const MatmulKey&) { return 0; }

int gemv_rows_priority(const MatmulKey& key) { return is_vector(key) ? 3 : -1; }

int gemv_cols_priority(const MatmulKey& key) { return is_vector(key) ? 3 : -1; }

int gemv_split_k_priority(const MatmulKey& key) {
  if (!is_vector(key)) return -1;
  return key.threads > 1 ? 3 : 1;
}

int skinny_rows_priority(const MatmulKey& key) {
  if (!may_be_skinny(key)) return -1;
  return is_vector(key) ? 1 : 3;
}

int skinny_cols_priority(const MatmulKey& key) { return skinny_rows_priority(key); }

int tile_priority(const MatmulKey& key) {
  if (is_vector(key)) return 1;
  return key.scale == MatmulScale::small ? 3 : 1;
}

int small_tile_priority(const MatmulKey& key) { return std::min(2, tile_priority(key)); }

int packed_priority(const MatmulKey& key) {
  if (is_vector(key)) return 0;
  return may_be_tiny(key) ? 2 : 3;
}

int packed_spare_priority(const MatmulKey& key) { return std::min(2, packed_priority(key)); }

int tiny_priority(const MatmulKey& key) { return may_be_tiny(key) ? 3 : -1; }

int split_k_priority(const MatmulKey& key) {
  if (!long_sum(key) || is_vector(key)) return 0;
  return 3;
}

int outer_priority(const MatmulKey& key) { return key.k == 1 ? 3 : -1; }

}  // namespace rooftune
