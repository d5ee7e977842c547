// The tuners of a session's own operations.
#ifndef ROOFTUNE_OPS_SESSION_OPERATIONS_H_
#define ROOFTUNE_OPS_SESSION_OPERATIONS_H_

#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"
#include "ops/matmul/packed_matrix.h"
#include "ops/reduce/key.h"
#include "ops/reduce/sum_args.h"
#include "rooftune/session.h"
#include "rooftune/tuner.h"

namespace rooftune {

// Owned by the context's registry; kept here so that a call need not look them up.
struct Session::Operations {
  Tuner<MatmulKey, GemmArgs>* matmul = nullptr;
  Tuner<SumKey, SumArgs>* sum = nullptr;
  PanelFormats panel_formats;
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_SESSION_OPERATIONS_H_
