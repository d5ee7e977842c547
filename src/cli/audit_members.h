// Other problems that share the decision of a product: where a bucket is too wide, they show it.
#ifndef ROOFTUNE_CLI_AUDIT_MEMBERS_H_
#define ROOFTUNE_CLI_AUDIT_MEMBERS_H_

#include <string>
#include <vector>

#include "cli/operands.h"
#include "cli/product.h"
#include "rooftune/settings.h"

namespace rooftune::cli {

struct BucketMember {
  std::string name;  // "low", "high", "odd", "pitch"
  Product product;
  // As large or larger, of the same types and layout: the member is its upper left corner in every
  // operand, so that strides are as aligned as those of the product that was tuned.
  Product memory;
};

// Members of the bucket of a product: just above its lower edge ("low"), just below its upper edge
// ("high"), odd sizes between them ("odd"), and the same sizes at another pitch ("pitch"). What
// would be another problem twice, or the product itself, is left out. Sizes are at least 1.
std::vector<BucketMember> bucket_members(const Product& product, Level level);

// The operands of the member, in those of its memory.
void narrow(Operands& operands, const Product& member);

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_AUDIT_MEMBERS_H_
