// An NVIDIA GPU as a device. Works in the primary context of the device, which is that of the CUDA
// run time and of everything built on it: the host program's pointers and streams are ours.
//
// Streams are CUstreams; 0 is the legacy default stream. A launch during stream capture becomes
// part of the graph, which needs the client for as long as it is replayed. After a fault in a
// kernel (an illegal address, say) the driver refuses everything in the process: every call then
// gives device_lost with the driver's words.
#ifndef ROOFTUNE_DEVICE_CUDA_CLIENT_H_
#define ROOFTUNE_DEVICE_CUDA_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/tensor_map.h"
#include "rooftune/device.h"

namespace rooftune {

struct CudaDevice {
  std::string name;          // of the product
  int capability = 0;        // 90 is 9.0
  std::string refusal = {};  // why make() would refuse it; empty where it would try
};

class CudaClient : public Client {
 public:
  // Errors: unsupported, with the reason: built without CUDA, no driver, no such device, a device
  // older than compute capability 8.0.
  static Result<std::shared_ptr<CudaClient>> make(int index);
  // What the driver shows, by index. Errors: unsupported: built without CUDA, no driver, no device.
  static Result<std::vector<CudaDevice>> list();

  virtual int capability() const = 0;
  // Dynamic shared memory that a block can have.
  virtual std::uint32_t most_shared_bytes() const = 0;

  // Memory that is there for work enqueued on the stream between the two calls; both are part of
  // the graph while the stream is captured. Errors: out_of_memory.
  virtual Result<void*> allocate_on(Stream stream, std::uint64_t bytes) = 0;
  virtual void free_on(Stream stream, void* memory) = 0;
  // Copies on the device, in the stream's order.
  virtual Status copy(Stream stream, void* to, const void* from, std::uint64_t bytes) = 0;

  // Errors: launch_failed with the numbers.
  virtual Status encode(const TensorMapShape& shape, TensorMap& map) const = 0;

 protected:
  using Client::Client;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_CLIENT_H_
