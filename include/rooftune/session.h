// A session owns a device, an environment and settings, and offers the operations. Several live in
// one process and know nothing of each other.
#ifndef ROOFTUNE_SESSION_H_
#define ROOFTUNE_SESSION_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rooftune/decision.h"
#include "rooftune/error.h"
#include "rooftune/matmul.h"
#include "rooftune/packed_matrix.h"
#include "rooftune/reduce.h"
#include "rooftune/settings.h"
#include "rooftune/tensor.h"
#include "rooftune/tune_context.h"

namespace rooftune {

// Everything has a default; what is given here wins over `settings`.
struct SessionOptions {
  std::string device = {};       // "cpu", "fake"; empty: settings.device
  std::string environment = {};  // empty: settings.environment
  // Absent: the nearest rooftune.toml from folders.current upward, or the defaults.
  std::optional<Settings> settings = {};
  // Empty fields: the process's current folder; ~/.cache of the user's entry in the password
  // database.
  Folders folders = {};
  Warn warn = {};  // told of a database that cannot be used, and the like; absent: nobody is told
};

// One device that this machine has or lacks.
struct DeviceStatus {
  std::string name;
  bool available = false;
  std::string reason;  // why not
};

// Thread-safe: all functions may be called from any thread at once.
class Session : public TuneContext {
 public:
  // Errors: unsupported for an unknown or unavailable device (the text lists those there are);
  // settings; invalid_argument for a bad environment name.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options = {});
  ~Session() override;

  // out = alpha * lhs x rhs + beta * out: see matmul.h. The first call for a key measures; every
  // later one runs the remembered candidate. On success out is written (CPU) or will be when the
  // stream is synchronised.
  // Errors: invalid_argument, shape_mismatch, overlap, unsupported, not_found and illegal (named
  // candidates), out_of_memory, no_candidate. On an error out may hold anything.
  Status matmul(const ConstView& lhs, const ConstView& rhs, const View& out,
                const MatmulOptions& options = {});

  // Packs a right operand [k, n], of any strides, for any number of products with it. Its memory is
  // read before the call returns, and not after. Types: f32, f64, bf16, f16, i8, u8.
  // Errors: shape_mismatch for another rank than 2; unsupported for other types, and on devices
  // with memory of their own; invalid_argument; out_of_memory.
  Result<PackedMatrix> pack_rhs(const ConstView& rhs, const PackOptions& options = {});

  // out = alpha * lhs x rhs + beta * out as above, with a right operand that was packed before: it
  // is shared by the whole batch of lhs. The product has a key of its own (storage_rhs=Panels).
  // A matrix that another session packed can be used where both have the same format.
  // Errors: as above; unsupported for a format that this session does not read; invalid_argument
  // for an empty PackedMatrix.
  Status matmul(const ConstView& lhs, const PackedMatrix& rhs, const View& out,
                const MatmulOptions& options = {});

  // out = sum of in over axes: see reduce.h. Errors as for matmul.
  Status sum(const ConstView& in, const View& out, std::span<const int> axes,
             const SumOptions& options = {});

  // The decision that a matmul of these operands uses, from memory or the store, without running
  // or measuring anything; nothing when there is none yet. Errors as for matmul.
  Result<std::optional<Decision>> matmul_decision(const ConstView& lhs, const ConstView& rhs,
                                                  const View& out,
                                                  const MatmulOptions& options = {});

  // Names of the candidates for matmul on this device, in declared order.
  std::vector<std::string> matmul_candidates() const;
  std::vector<std::string> sum_candidates() const;

 private:
  struct Operations;
  Session(std::shared_ptr<Client> client, Settings settings, Folders folders, Warn warn);
  std::unique_ptr<Operations> operations_;
};

// The devices this build knows, with why one is not available.
std::vector<DeviceStatus> list_devices();

}  // namespace rooftune

#endif  // ROOFTUNE_SESSION_H_
