// A device whose memory the host cannot touch, for tests of what drives one: its addresses are not
// valid on the host, and its kernels are functions of the test.
#ifndef ROOFTUNE_OPS_DISTANT_CLIENT_FOR_TEST_H_
#define ROOFTUNE_OPS_DISTANT_CLIENT_FOR_TEST_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "rooftune/device.h"

namespace rooftune {

class DistantClient final : public Client {
 public:
  // What a kernel is here: called at once with the arguments of the launch.
  using Entry = void (*)(const void* args);

  DistantClient() : Client("distant") {
    Capabilities capabilities;
    capabilities.host_memory = false;
    describe(std::move(capabilities),
             Fingerprint(std::map<std::string, std::string>{{"runtime", "distant"}}));
  }

  // Between an address of the device and the memory behind it: null stays null.
  template <class T>
  static T* here(T* distant) {
    return distant == nullptr ? nullptr : shifted(distant, -kDistance);
  }
  template <class T>
  static T* there(T* near) {
    return shifted(near, kDistance);
  }

  Status write(Stream, void* device, const void* source, std::uint64_t bytes) override {
    ++waits;
    std::memcpy(here(device), source, bytes);
    return {};
  }
  Status read(Stream, void* destination, const void* device, std::uint64_t bytes) override {
    ++waits;
    std::memcpy(destination, here(device), bytes);
    return {};
  }
  Status fill(Stream, void* device, std::span<const std::byte> pattern,
              std::uint64_t bytes) override {
    ++fills;
    auto* to = static_cast<std::byte*>(here(device));
    for (std::uint64_t i = 0; i < bytes; ++i) to[i] = pattern[i % pattern.size()];
    return {};
  }
  Result<Stream> create_stream() override { return Stream{}; }
  void destroy_stream(Stream) override {}
  Status synchronize(Stream) override {
    ++waits;
    return {};
  }
  Result<std::unique_ptr<Event>> record(Stream) override { return std::make_unique<Event>(); }
  Status wait(const Event&) override { return {}; }
  Status wait(Stream, const Event&) override { return {}; }
  Result<double> elapsed_s(const Event&, const Event&) override { return 1e-6; }
  double now_s() const override { return 0; }
  Result<ProbeKernel> probe_kernel(ProbeKind, DType) override {
    return fail(ErrorKind::unsupported, "no probes");
  }

  int launches = 0, fills = 0;
  int waits = 0;  // calls that return when the device is done

 protected:
  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override {
    void* memory = std::malloc(bytes);
    std::memset(memory, 0xff, bytes);  // NaN: what is not written first shows
    return std::shared_ptr<void>(there(memory), [](void* distant) { std::free(here(distant)); });
  }
  Status do_launch(Stream, const Launch& launch) override {
    ++launches;
    static_cast<const DistantKernel*>(launch.kernel)->entry(launch.args);
    return {};
  }
  Result<double> do_profile(Stream, FunctionRef<Status()> body, int repeats) override {
    for (int i = 0; i < repeats; ++i) {
      if (Status done = body(); !done) return std::unexpected(done.error());
    }
    return 1e-6;
  }
  Result<Built> do_build(const KernelSource& source) override {
    return Built{std::make_shared<DistantKernel>(source), "", true};
  }

 private:
  struct DistantKernel final : Kernel {
    explicit DistantKernel(const KernelSource& source)
        : Kernel(source.id), entry(reinterpret_cast<Entry>(source.entry)) {}
    Entry entry;
  };
  // Beyond what any process is given.
  static constexpr std::intptr_t kDistance = std::intptr_t{1} << 60;
  template <class T>
  static T* shifted(T* address, std::intptr_t by) {
    return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(address) + by);
  }
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_DISTANT_CLIENT_FOR_TEST_H_
