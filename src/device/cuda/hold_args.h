// The arguments of the kernel that holds a stream back: see stream_holder.h.
#ifndef ROOFTUNE_DEVICE_CUDA_HOLD_ARGS_H_
#define ROOFTUNE_DEVICE_CUDA_HOLD_ARGS_H_

namespace rooftune {

// Two words of the host's memory, which the device sees.
struct HoldWords {
  unsigned open;  // the last ticket that was let go: written by the host
  unsigned late;  // the last ticket whose time was over before that: written by the kernel
};

struct HoldArgs {
  HoldWords* words;
  unsigned ticket;
  long long most_cycles;  // of a multiprocessor's clock
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CUDA_HOLD_ARGS_H_
