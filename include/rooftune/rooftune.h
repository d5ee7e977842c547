// Rooftune: the fastest kernel for this problem on this device, found by measuring at first use.
//
//   #include <rooftune/rooftune.h>
//   rooftune::matmul(a, b, c);   // tensors or views over your memory, any strides
//
// The functions here use one default session per process (the CPU, the settings of the nearest
// rooftune.toml from the current folder upward), opened at the first call, and throw
// rooftune::Exception. Session gives errors as values and everything else.
#ifndef ROOFTUNE_ROOFTUNE_H_
#define ROOFTUNE_ROOFTUNE_H_

#include <span>
#include <stdexcept>

#include "rooftune/decision.h"
#include "rooftune/device.h"
#include "rooftune/dtype.h"
#include "rooftune/error.h"
#include "rooftune/events.h"
#include "rooftune/key.h"
#include "rooftune/matmul.h"
#include "rooftune/packed_matrix.h"
#include "rooftune/reduce.h"
#include "rooftune/session.h"
#include "rooftune/settings.h"
#include "rooftune/tensor.h"
#include "rooftune/tuner.h"

namespace rooftune {

// An Error as an exception; what() is the text.
class Exception : public std::runtime_error {
 public:
  explicit Exception(Error error) : std::runtime_error(error.text), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// The session behind the functions below. Throws Exception when it cannot be opened.
Session& default_session();

void matmul(const ConstView& lhs, const ConstView& rhs, const View& out,
            const MatmulOptions& options = {});
void sum(const ConstView& in, const View& out, std::span<const int> axes,
         const SumOptions& options = {});

}  // namespace rooftune

#endif  // ROOFTUNE_ROOFTUNE_H_
