#include "device/cpu/scratch.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "device/cpu/memory.h"

namespace rooftune {

struct Scratch::Block {
  AlignedMemory memory;
  std::size_t bytes = 0;
  Block* next = nullptr;
};

// The blocks of this thread that no launch uses, the last one given back first: with nested
// launches each depth meets its own block again.
class Scratch::Kept {
 public:
  Kept() = default;
  ~Kept() {
    while (Block* block = take()) delete block;
    gone_ = true;
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  Block* take() { return first_ == nullptr ? nullptr : std::exchange(first_, first_->next); }

  void keep(Block* block) {
    block->next = first_;
    first_ = block;
  }

  // Set for good when the thread has destroyed its list; a launch in the destructor of some other
  // object of the thread may still come.
  static constinit thread_local bool gone_;

 private:
  Block* first_ = nullptr;
};

constinit thread_local bool Scratch::Kept::gone_ = false;

Scratch::Kept& Scratch::kept() {
  static thread_local Kept list;
  return list;
}

std::byte* Scratch::get(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (block_ == nullptr) {
    if (!Kept::gone_) block_ = kept().take();
    if (block_ == nullptr) block_ = new (std::nothrow) Block;
    if (block_ == nullptr) return nullptr;
  }
  if (block_->bytes < bytes && !grow(bytes)) return nullptr;
  return block_->memory.get();
}

bool Scratch::grow(std::size_t bytes) {
  // Half as much again, so that a size that creeps up (k growing by one) does not allocate at each
  // launch; where that is not to be had, what was asked for.
  const std::size_t roomy = block_->bytes + block_->bytes / 2;
  for (std::size_t wanted : {std::max(bytes, roomy), bytes}) {
    const std::size_t pages = wanted / kPageBytes + (wanted % kPageBytes != 0);
    if (pages > std::numeric_limits<std::size_t>::max() / kPageBytes) continue;
    AlignedMemory memory = try_allocate(pages * kPageBytes, kPageBytes, HugePages::advised);
    if (memory == nullptr) continue;
    block_->memory = std::move(memory);
    block_->bytes = pages * kPageBytes;
    return true;
  }
  return false;
}

void Scratch::give_back() {
  if (Kept::gone_) {
    delete block_;
  } else {
    kept().keep(block_);
  }
  block_ = nullptr;
}

}  // namespace rooftune
