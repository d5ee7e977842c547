// The inner priority of a technique in the group `cpu`: 3 is measured first, 0 last, -1 never.
// What could win for some size that stands behind the anchored key is at 3.
#ifndef ROOFTUNE_OPS_REDUCE_CPU_PRIORITY_H_
#define ROOFTUNE_OPS_REDUCE_CPU_PRIORITY_H_

namespace rooftune {

struct SumKey;

int naive_sum_priority(const SumKey& key);
int lanes_priority(const SumKey& key);
int rows_priority(const SumKey& key);
int short_rows_priority(const SumKey& key);
int columns_priority(const SumKey& key);
int sweep_priority(const SumKey& key);
int wrap_priority(const SumKey& key);
int split_priority(const SumKey& key);

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CPU_PRIORITY_H_
