// How well a technique suits a key, inside the group `cpu`: 3 is measured first, 0 last, -1 never.
// A round should hold few candidates and the best one: the others are there for the day when all
// of a round fail, and for exhaustive search.
#ifndef ROOFTUNE_OPS_MATMUL_CPU_PRIORITY_H_
#define ROOFTUNE_OPS_MATMUL_CPU_PRIORITY_H_

namespace rooftune {

struct MatmulKey;

int naive_priority(const MatmulKey& key);
int gemv_priority(const MatmulKey& key);
int gemv_split_k_priority(const MatmulKey& key);
int skinny_priority(const MatmulKey& key);
int skinny_spare_priority(const MatmulKey& key);
int tile_priority(const MatmulKey& key);        // the shapes of tile that are best somewhere
int tile_spare_priority(const MatmulKey& key);  // those that rarely are
int packed_priority(const MatmulKey& key);
int packed_spare_priority(const MatmulKey& key);  // blockings for other caches
int packed_dot_priority(const MatmulKey& key);
int prepacked_priority(const MatmulKey& key);
int gram_priority(const MatmulKey& key);
int tiny_priority(const MatmulKey& key);
int split_k_priority(const MatmulKey& key);
int outer_priority(const MatmulKey& key);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CPU_PRIORITY_H_
