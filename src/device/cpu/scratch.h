// Scratch memory that each thread keeps from one launch to the next.
#ifndef ROOFTUNE_DEVICE_CPU_SCRATCH_H_
#define ROOFTUNE_DEVICE_CPU_SCRATCH_H_

#include <cstddef>

namespace rooftune {

// The scratch memory of one launch: taken from the calling thread at the first need, given back at
// the end. A launch inside another one (a candidate that calls matmul) so gets memory of its own.
// A launch that needs none costs nothing. Used by one thread.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() {
    if (block_ != nullptr) give_back();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `bytes`, kPageBytes-aligned. Null when there is not enough memory; what was given
  // before then stays valid, with its content.
  std::byte* get(std::size_t bytes);

 private:
  struct Block;
  class Kept;
  static Kept& kept();
  void give_back();
  bool grow(std::size_t bytes);

  Block* block_ = nullptr;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_SCRATCH_H_
