// The calling thread's rules of floating-point arithmetic: rounding, flushing of subnormals, traps.
#ifndef ROOFTUNE_DEVICE_CPU_FP_ENVIRONMENT_H_
#define ROOFTUNE_DEVICE_CPU_FP_ENVIRONMENT_H_

#include <cstdint>

#if defined(__x86_64__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace rooftune {

// The control bits alone. The sticky exception flags are what arithmetic leaves behind, not a rule.
#if defined(__x86_64__) || defined(__SSE2__)
using FpControl = std::uint32_t;
inline constexpr FpControl kStickyFlags = 0x3f;
inline FpControl fp_control() { return _mm_getcsr() & ~kStickyFlags; }
inline void set_fp_control(FpControl control) {
  _mm_setcsr((_mm_getcsr() & kStickyFlags) | control);
}
#elif defined(__aarch64__)
using FpControl = std::uint64_t;
inline FpControl fp_control() {
  FpControl control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
inline void set_fp_control(FpControl control) { asm volatile("msr fpcr, %0" : : "r"(control)); }
#else
#error "Say how the floating-point control register of this architecture is read and set."
#endif

// Follows the rules of another thread as long as it lives.
class ScopedFpControl {
 public:
  explicit ScopedFpControl(FpControl control) : before_(fp_control()), same_(control == before_) {
    if (!same_) set_fp_control(control);
  }
  ~ScopedFpControl() {
    if (!same_) set_fp_control(before_);
  }
  ScopedFpControl(const ScopedFpControl&) = delete;
  ScopedFpControl& operator=(const ScopedFpControl&) = delete;

 private:
  FpControl before_;
  bool same_;
};

}  // namespace rooftune

#endif  // ROOFTUNE_DEVICE_CPU_FP_ENVIRONMENT_H_
