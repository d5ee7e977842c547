// A device whose memory the host can touch through its client alone, as that of a GPU.
#ifndef ROOFTUNE_CLI_HIDDEN_MEMORY_FOR_TEST_H_
#define ROOFTUNE_CLI_HIDDEN_MEMORY_FOR_TEST_H_

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "device/fake/fake_client.h"

namespace rooftune::cli {

// Pages that fault outside of write, read and fill. For one thread.
class HiddenMemoryClient final : public FakeClient {
 public:
  HiddenMemoryClient() : FakeClient({}, "hidden:0") {}

  Status write(Stream stream, void* device, const void* source, std::uint64_t bytes) override {
    const Open open(*pieces_);
    return FakeClient::write(stream, device, source, bytes);
  }
  Status read(Stream stream, void* destination, const void* device, std::uint64_t bytes) override {
    const Open open(*pieces_);
    return FakeClient::read(stream, destination, device, bytes);
  }
  Status fill(Stream stream, void* device, std::span<const std::byte> pattern,
              std::uint64_t bytes) override {
    const Open open(*pieces_);
    return FakeClient::fill(stream, device, pattern, bytes);
  }

 protected:
  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return fail(ErrorKind::out_of_memory, "mmap");
    pieces_->emplace(memory, bytes);
    return std::shared_ptr<void>(memory, [pieces = pieces_](void* piece) {
      ::munmap(piece, pieces->at(piece));
      pieces->erase(piece);
    });
  }

 private:
  using Pieces = std::map<void*, std::uint64_t>;
  class Open {
   public:
    explicit Open(const Pieces& pieces) : pieces_(pieces) { protect(PROT_READ | PROT_WRITE); }
    ~Open() { protect(PROT_NONE); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

   private:
    void protect(int how) {
      for (const auto& [memory, bytes] : pieces_) ::mprotect(memory, bytes, how);
    }
    const Pieces& pieces_;
  };

  const std::shared_ptr<Pieces> pieces_ = std::make_shared<Pieces>();
};

}  // namespace rooftune::cli

#endif  // ROOFTUNE_CLI_HIDDEN_MEMORY_FOR_TEST_H_
