// A right operand that is packed once and multiplied with many times, as an inference does with its
// weights. Session::pack_rhs makes one; Session::matmul takes it in the place of the right operand.
#ifndef ROOFTUNE_PACKED_MATRIX_H_
#define ROOFTUNE_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rooftune/dtype.h"

namespace rooftune {

struct PackedPanels;

// A handle: copies share one matrix, which is never written again and lives as long as its last
// handle. It owns its memory and keeps nothing of what it was made from, nor of the session that
// made it. Any number of threads may multiply with it at once. A default or moved-from one is
// empty: [0, 0], and multiplying with it is an error.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(std::shared_ptr<const PackedPanels> panels) : panels_(std::move(panels)) {}

  // The matrix is [k, n], of elements of this type.
  std::int64_t k() const;
  std::int64_t n() const;
  DType dtype() const;
  // How it lies in memory, for people: "f32 in panels of 32 columns". Sessions whose matrices have
  // the same format can use each other's.
  std::string format() const;
  // Memory that it takes: about that of the plain matrix, twice as much for bytes on processors
  // without dot products of bytes.
  std::uint64_t bytes() const;

  // For the operations of a session.
  const PackedPanels* panels() const { return panels_.get(); }

 private:
  std::shared_ptr<const PackedPanels> panels_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_PACKED_MATRIX_H_
