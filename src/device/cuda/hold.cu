// Holds a stream back, for one thread: until the host says that it may go on, or time is over.
#include "device/cuda/hold_args.h"

extern "C" __global__ void __launch_bounds__(32)
    rooftune_kernel(const __grid_constant__ rooftune::HoldArgs args) {
  const long long begin = clock64();
  do {
    unsigned open;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
                 : "=r"(open)
                 : "l"(&args.words->open)
                 : "memory");
    // Tickets are counted on for ever, and wrap.
    if (int(open - args.ticket) >= 0) return;
  } while (clock64() - begin < args.most_cycles);
  *static_cast<volatile unsigned*>(&args.words->late) = args.ticket;
  __threadfence_system();
}
