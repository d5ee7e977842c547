// A non-owning reference to something callable: two words, no allocation. Valid only as long as
// the callable it was made from, which for an argument means: until the call returns.
#ifndef ROOFTUNE_FUNCTION_REF_H_
#define ROOFTUNE_FUNCTION_REF_H_

#include <memory>
#include <type_traits>
#include <utility>

namespace rooftune {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& callable)  // NOLINT(google-explicit-constructor): an argument type
  {
    using Callable = std::remove_reference_t<F>;
    if constexpr (std::is_function_v<Callable>) {
      object_ = reinterpret_cast<void*>(&callable);
    } else {
      object_ = const_cast<void*>(static_cast<const void*>(std::addressof(callable)));
    }
    // The types are those of the signature.
    // NOLINTNEXTLINE(performance-unnecessary-value-param)
    call_ = [](void* object, Args... args) -> R {
      if constexpr (std::is_function_v<Callable>) {
        return reinterpret_cast<Callable*>(object)(std::forward<Args>(args)...);
      } else {
        return (*static_cast<Callable*>(object))(std::forward<Args>(args)...);
      }
    };
  }

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace rooftune

#endif  // ROOFTUNE_FUNCTION_REF_H_
