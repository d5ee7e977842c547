#include "ops/matmul/packed_matrix.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "device/cpu/client.h"
#include "ops/matmul/problem.h"

namespace rooftune {
namespace {

struct PackArgs {
  const PackedRhs* rhs;
  PlainRhs from;
  std::byte* memory;
};

std::int64_t panel_count(const PackedRhs& rhs) {
  return (rhs.n + rhs.format.columns - 1) / rhs.format.columns;
}

// Panels of at least a page each, about eight tasks a thread.
KernelOutcome pack_on_all_threads(const void* raw, CpuContext& context) {
  const auto& args = *static_cast<const PackArgs*>(raw);
  const std::int64_t panels = panel_count(*args.rhs);
  const std::int64_t least = 65536 / std::max<std::int64_t>(args.rhs->panel_bytes, 1) + 1;
  const std::int64_t each = std::max(least, panels / (8 * context.threads()));
  context.parallel_for((panels + each - 1) / each, [&](std::int64_t task, int) {
    pack_panels(*args.rhs, args.from, task * each, std::min(panels, (task + 1) * each),
                args.memory);
  });
  return KernelOutcome::done;
}

bool is_cpu(const Client& client) {
  const auto& parts = client.fingerprint().parts();
  const auto runtime = parts.find("runtime");
  return runtime != parts.end() && runtime->second == "cpu";
}

Status pack(Client& client, const PackArgs& args, Stream stream) {
  if (!is_cpu(client)) {
    if (Status ready = client.synchronize(stream); !ready) return ready;
    pack_panels(*args.rhs, args.from, 0, panel_count(*args.rhs), args.memory);
    return {};
  }
  KernelSource source;
  source.id = {"pack_rhs", "1", ""};
  source.entry = cpu_entry(pack_on_all_threads);
  const auto kernel = client.compile(source);
  if (!kernel) return std::unexpected(kernel.error());
  const Status launched = client.launch(stream, {kernel->get(), &args, sizeof args, {}, {}, 0, {}});
  if (!launched) return launched;
  return client.synchronize(stream);
}

// The family of products that have this type on the right.
std::optional<TypeFamily> family_of(DType dtype) {
  const bool bytes = dtype == DType::i8 || dtype == DType::u8;
  return type_family(dtype, dtype, bytes ? DType::i32 : dtype);
}

}  // namespace

std::int64_t PackedMatrix::k() const { return panels_ == nullptr ? 0 : panels_->rhs.k; }
std::int64_t PackedMatrix::n() const { return panels_ == nullptr ? 0 : panels_->rhs.n; }
DType PackedMatrix::dtype() const { return panels_ == nullptr ? DType::f32 : panels_->rhs.dtype; }
std::uint64_t PackedMatrix::bytes() const { return panels_ == nullptr ? 0 : panels_->bytes; }
std::string PackedMatrix::format() const {
  return panels_ == nullptr ? "empty" : to_string(panels_->rhs.format, panels_->rhs.dtype);
}

PanelFormats panel_formats(const Client& client) {
  std::vector<Isa> levels;
  for (std::size_t i = 0; i < kIsaNames.size(); ++i) {
    if (client.capabilities().has_feature("isa:" + std::string(kIsaNames[i]))) {
      levels.push_back(static_cast<Isa>(i));
    }
  }
  PanelFormats formats;
  for (std::size_t family = 0; family < formats.size(); ++family) {
    formats[family] = best_panel_format(levels, static_cast<TypeFamily>(family));
  }
  return formats;
}

Result<PackedMatrix> make_packed_matrix(Client& client, const PanelFormats& formats,
                                        const ConstView& rhs, Stream stream) {
  if (!client.capabilities().host_memory) {
    return fail(ErrorKind::unsupported,
                client.name() + " packs no operands: its kernels read matrices as they lie");
  }
  if (Status valid = check(rhs.layout); !valid) {
    return fail(valid.error().kind, "rhs: " + valid.error().text);
  }
  if (rhs.layout.rank != 2) {
    return fail(ErrorKind::shape_mismatch,
                "a right operand to pack is one matrix [k, n], not " + rhs.to_string());
  }
  const auto family = family_of(rhs.dtype);
  if (!family) {
    return fail(ErrorKind::unsupported, "there is no matmul of " +
                                            std::string(to_string(rhs.dtype)) +
                                            ": f32, f64, bf16, f16, i8 and u8 can be packed");
  }
  const std::int64_t k = rhs.layout.extents[0], n = rhs.layout.extents[1];
  if (rhs.data == nullptr && k != 0 && n != 0) {
    return fail(ErrorKind::invalid_argument, "an operand with elements has no memory (null)");
  }
  const PanelFormat& format = formats[static_cast<std::size_t>(*family)];
  const auto bytes = panels_bytes(format, rhs.dtype, k, n);
  if (!bytes) {
    return fail(ErrorKind::out_of_memory, "the panels of " + rhs.to_string() + " fit no memory");
  }
  try {
    auto made = std::make_shared<PackedPanels>();
    auto memory =
        allocate_aligned(static_cast<std::size_t>(*bytes), kPageBytes, HugePages::advised);
    if (!memory) return std::unexpected(memory.error());
    made->memory = *std::move(memory);
    made->bytes = static_cast<std::uint64_t>(*bytes);
    made->rhs = packed_rhs(format, rhs.dtype, k, n);
    made->rhs.memory = made->memory.get();
    if (k != 0 && n != 0) {
      const PackArgs args = {
          &made->rhs, {rhs.data, rhs.layout.strides[0], rhs.layout.strides[1]}, made->memory.get()};
      if (Status packed = pack(client, args, stream); !packed) {
        return std::unexpected(packed.error());
      }
    }
    return PackedMatrix(std::move(made));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "no memory for a packed matrix");
  }
}

}  // namespace rooftune
