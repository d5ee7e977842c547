// What a way to multiply on a CUDA device is made of. A family is one .cu file, or a few, and a
// class that derives from CudaCandidate; its rows are objects of that class with other parameters.
#ifndef ROOFTUNE_OPS_MATMUL_CUDA_CANDIDATE_H_
#define ROOFTUNE_OPS_MATMUL_CUDA_CANDIDATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/tensor_map.h"
#include "ops/matmul/gemm_args.h"
#include "ops/matmul/key.h"
#include "rooftune/device.h"

namespace rooftune {

// One kernel: a .cu file of this folder, or with its path from src/, and what it is specialised by.
// The file defines
//   extern "C" __global__ void rooftune_kernel(const __grid_constant__ Args args)
// over a plain struct of its own, which the host side mirrors (a header that both include).
struct CudaKernelPlan {
  std::string_view file;  // "naive.cu"
  std::vector<std::string>
      defines;                // "TILE_M=128"; in a fixed order: they are part of the kernel's id
  std::uint32_t threads = 0;  // of a block
  std::uint32_t shared_bytes = 0;  // dynamic shared memory of a launch
  int registers = 255;  // the most that a thread may use; the tests hold the compiler to it
  int spill_bytes = 0;  // likewise
};

// What a candidate needs of the device. A device without it keeps the candidate with the lowest
// priority and never runs it.
enum class CudaNeeds : std::uint8_t {
  ampere,  // compute capability 8.0 or later: mma.sync, cp.async, ldmatrix
  ada,     // 8.9 or later: the former for f8
  tma,     // 9.0 or later: bulk tensor copies, clusters, mbarrier transactions
  hopper,  // exactly 9.0 (sm_90a): wgmma, setmaxnreg
};

// The limits that launches must respect.
struct CudaMachine {
  int capability = 0;  // 90 is 9.0
  int multiprocessors = 0;
  std::uint32_t shared_bytes = 0;  // of a block, at most (opt-in)
  std::uint64_t last_level_cache_bytes = 0;
};

// Runs the kernels of one call. Lives on the stack of that call; scratch memory is freed in the
// stream's order when it goes.
class CudaLauncher {
 public:
  virtual ~CudaLauncher() = default;
  virtual const CudaMachine& machine() const = 0;
  // `args` is copied before this returns. Errors: launch_failed.
  virtual Status launch(const Kernel& kernel, const void* args, std::size_t args_bytes, Dim3 blocks,
                        std::uint32_t threads, std::uint32_t shared_bytes) = 0;
  // Memory of the device, 256-byte aligned, uninitialised. Errors: out_of_memory.
  virtual Result<void*> scratch(std::uint64_t bytes) = 0;
  // Sets scratch or other device memory to zero bytes, in the stream's order.
  virtual Status clear(void* memory, std::uint64_t bytes) = 0;
  // Errors: launch_failed with the numbers.
  virtual Status encode(const TensorMapShape& shape, TensorMap& map) = 0;
};

// A specialisation of a candidate, in as many bits as the family likes to use.
using CudaVariant = std::uint64_t;

class CudaCandidate {
 public:
  CudaCandidate(std::string name, CudaNeeds needs) : name_(std::move(name)), needs_(needs) {}
  virtual ~CudaCandidate() = default;
  CudaCandidate(const CudaCandidate&) = delete;
  CudaCandidate& operator=(const CudaCandidate&) = delete;

  // The technique and then its sizes: "wgmma_coop_128x256_c2".
  const std::string& name() const { return name_; }
  CudaNeeds needs() const { return needs_; }

  // Whether this can run exactly this problem, apart from needs(): null, or why not (static text).
  // Called at every hit: no allocation, a few nanoseconds.
  virtual const char* illegal_because(const GemmArgs& args, const CudaMachine& machine) const = 0;

  // The specialisation that runs a legal problem. Depends only on what is in the key (types,
  // layouts, policy, beta or not) and on alignments, so that few are ever compiled; sizes are
  // arguments of kernels. Called at every hit.
  virtual CudaVariant variant(const GemmArgs& args) const = 0;
  // Its kernels, in the order in which run() gets them.
  virtual std::vector<CudaKernelPlan> plans(CudaVariant variant) const = 0;
  // Specialisations that stand for all that variant() can give: every form of code, and every type
  // in one of them. The tests compile them, and the candidate's version is made of them.
  virtual std::vector<CudaVariant> variants() const = 0;
  virtual Status run(CudaLauncher& launcher, std::span<const Kernel* const> kernels,
                     const GemmArgs& args) const = 0;

  // For a candidate that does something of its own before another one: that one, and the file of
  // what it does. Its version is made of both.
  struct Wrapped {
    const CudaCandidate* inner;
    std::string_view file;
  };
  virtual std::optional<Wrapped> wrapped() const { return std::nullopt; }

  // The groups that it joins for a key, each with its inner priority (SYSTEM section 4); none:
  // only when forced.
  struct Membership {
    std::string_view
        group;  // "accelerated", "unit", "tma", "gemv", "hopper", "stream", "tiny", "f64"
    int inner;  // 3 first ... 0 last; -1: not for this key
  };
  virtual std::vector<Membership> memberships(const MatmulKey& key) const = 0;

  // A guess of its seconds for a problem, to order a round: the best guess is compiled and
  // measured first, and only the best few of a family need to be measured at all. Relative
  // accuracy between the rows of a family is what counts.
  virtual double predicted_s(const GemmArgs& args, const CudaMachine& machine) const = 0;

 private:
  const std::string name_;
  const CudaNeeds needs_;
};

// A name without its numbers: "wgmma_coop_c" for "wgmma_coop_128x256_c2". Candidates of one
// technique differ in sizes, and their guesses are right or wrong alike. Those that are named after
// no size, as the reference system names its own, are taken for one: they share their tiles.
std::string technique_of(std::string_view name);

using CudaCandidates = std::vector<std::unique_ptr<CudaCandidate>>;

// --- Families. Each appends its rows. The first row of naive is the fallback.
void add_naive(CudaCandidates& rows);        // naive.cc
void add_unit(CudaCandidates& rows);         // unit.cc: thread tiles; f32 and f64 at full rate
void add_gemv(CudaCandidates& rows);         // gemv.cc: m or n of 1, the reference's four
void add_stream(CudaCandidates& rows);       // stream.cc: m or n up to 16, at the memory's rate
void add_tiny(CudaCandidates& rows);         // tiny.cc: many small products a block
void add_accelerated(CudaCandidates& rows);  // accelerated.cc: wmma and mma.sync, the reference's
void add_dmma(CudaCandidates& rows);         // dmma.cc: f64 on tensor cores
void add_wgmma(CudaCandidates& rows);        // wgmma.cc: Hopper
void add_repacked(CudaCandidates& rows);  // repacked.cc: Hopper, operands brought into form first

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_MATMUL_CUDA_CANDIDATE_H_
