// The CPU as a device: kernels are functions linked into the program, launches run on the calling
// thread and the device's own threads, and are done when launch() returns.
#ifndef ROOFTUNE_DEVICE_CPU_CLIENT_H_
#define ROOFTUNE_DEVICE_CPU_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "device/cpu/isa.h"
#include "device/cpu/pool.h"
#include "device/cpu/topology.h"
#include "rooftune/device.h"
#include "rooftune/function_ref.h"

namespace rooftune {

struct CpuOptions {
  std::optional<std::int64_t> threads;  // absent: Topology::effective_processors
  std::optional<Isa> isa;               // a cap; absent: every level there is
};

// Wraps an entry function for KernelSource::entry, and back.
inline auto cpu_entry(CpuKernelFn kernel) { return reinterpret_cast<void (*)()>(kernel); }

class CpuClient final : public Client {
 public:
  // Errors: invalid_argument for a bad thread count; unsupported when the processor or operating
  // system lacks the level that was asked for (the text says which). Where the processor has AMX
  // and the cap allows it, the operating system is asked for the tile registers; when it refuses,
  // the client does without, and isa_report() has the reason.
  static Result<std::shared_ptr<CpuClient>> make(const CpuOptions& options = {});

  Isa isa() const { return isa_.level; }  // the vector level
  // What is usable under the cap, and why the rest is not.
  const IsaReport& isa_report() const { return isa_; }
  const Topology& topology() const { return topology_; }
  // What a user should know about how the request was met; mostly empty.
  const std::string& note() const { return executor_->note(); }

  // The library's own work on the threads of the device, which is no launch: calls task(index) for
  // every index in [0, count), as CpuContext::parallel_for does.
  void share_out(std::int64_t count, FunctionRef<void(std::int64_t index)> task);

  Status write(Stream, void* device, const void* source, std::uint64_t bytes) override;
  Status read(Stream, void* destination, const void* device, std::uint64_t bytes) override;
  Status fill(Stream, void* device, std::span<const std::byte> pattern,
              std::uint64_t bytes) override;
  Result<Stream> create_stream() override;
  void destroy_stream(Stream) override {}
  Status synchronize(Stream) override { return {}; }
  Result<std::unique_ptr<Event>> record(Stream) override;
  Status wait(const Event&) override { return {}; }
  Status wait(Stream, const Event&) override { return {}; }
  Result<double> elapsed_s(const Event& from, const Event& to) override;
  double now_s() const override;
  Result<ProbeKernel> probe_kernel(ProbeKind kind, DType dtype) override;

 protected:
  Result<std::shared_ptr<void>> do_allocate(std::uint64_t bytes) override;
  Result<double> do_profile(Stream, FunctionRef<Status()> body, int repeats) override;
  Status do_launch(Stream stream, const Launch& launch) override;
  Result<Built> do_build(const KernelSource& source) override;

 private:
  CpuClient(Topology topology, IsaReport isa, std::unique_ptr<CpuExecutor> executor);

  const Topology topology_;
  const IsaReport isa_;
  const std::unique_ptr<CpuExecutor> executor_;
  std::atomic<std::uintptr_t> streams_{0};
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_CLIENT_H_
