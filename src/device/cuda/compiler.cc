#include "device/cuda/compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include "device/cuda/driver.h"

namespace rooftune {

struct CudaCompiler::Functions {
  decltype(&::nvrtcVersion) version;
  decltype(&::nvrtcGetErrorString) error_string;
  decltype(&::nvrtcGetNumSupportedArchs) architecture_count;
  decltype(&::nvrtcGetSupportedArchs) architectures;
  decltype(&::nvrtcCreateProgram) create;
  decltype(&::nvrtcDestroyProgram) destroy;
  decltype(&::nvrtcCompileProgram) compile;
  decltype(&::nvrtcGetProgramLogSize) log_size;
  decltype(&::nvrtcGetProgramLog) log;
  decltype(&::nvrtcGetCUBINSize) binary_size;
  decltype(&::nvrtcGetCUBIN) binary;
};

Result<CudaCompiler> CudaCompiler::load() {
  // By the linker's own search first, then where the toolkit is installed without being told to it.
  std::vector<std::string> names;
  // Code of a newer compiler than the driver may not load.
  const auto driver = cuda_driver();
  const bool old = driver && (*driver)->version < 13000;
  for (const char* version : {old ? "12" : "13", old ? "13" : "12"}) {
    for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
      names.push_back(fmt::format("{}libnvrtc.so.{}", folder, version));
    }
  }
  void* library = nullptr;
  for (const std::string& name : names) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return fail(ErrorKind::unsupported,
                fmt::format("no run-time compiler: none of {} can be loaded; it comes with the "
                            "CUDA toolkit, and is found in LD_LIBRARY_PATH",
                            fmt::join(names, ", ")));
  }
  static Functions functions;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(functions.version, "nvrtcVersion");
  find(functions.error_string, "nvrtcGetErrorString");
  find(functions.architecture_count, "nvrtcGetNumSupportedArchs");
  find(functions.architectures, "nvrtcGetSupportedArchs");
  find(functions.create, "nvrtcCreateProgram");
  find(functions.destroy, "nvrtcDestroyProgram");
  find(functions.compile, "nvrtcCompileProgram");
  find(functions.log_size, "nvrtcGetProgramLogSize");
  find(functions.log, "nvrtcGetProgramLog");
  find(functions.binary_size, "nvrtcGetCUBINSize");
  find(functions.binary, "nvrtcGetCUBIN");
  if (!complete)
    return fail(ErrorKind::unsupported, "libnvrtc lacks functions that it should have");

  CudaCompiler compiler;
  compiler.functions_ = &functions;
  int major = 0, minor = 0, count = 0;
  functions.version(&major, &minor);
  compiler.version_ = fmt::format("{}.{}", major, minor);
  if (functions.architecture_count(&count) == NVRTC_SUCCESS && count > 0) {
    compiler.architectures_.resize(static_cast<std::size_t>(count));
    functions.architectures(compiler.architectures_.data());
  }
  return compiler;
}

Result<const CudaCompiler*> CudaCompiler::get() {
  static const Result<CudaCompiler> compiler = load();
  if (!compiler) return std::unexpected(compiler.error());
  return &*compiler;
}

Result<CudaCompiler::Output> CudaCompiler::compile(const std::string& text, const std::string& name,
                                                   std::span<const std::string> defines,
                                                   std::string_view architecture) const {
  std::vector<std::string> options = {fmt::format("--gpu-architecture={}", architecture),
                                      "-std=c++17", "-default-device", "--ptxas-options=-v"};
  for (const std::string& define : defines) options.push_back("-D" + define);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());

  nvrtcProgram program = nullptr;
  nvrtcResult done = functions_->create(&program, text.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (done != NVRTC_SUCCESS) {
    return fail(ErrorKind::build_failed, functions_->error_string(done));
  }
  done = functions_->compile(program, static_cast<int>(pointers.size()), pointers.data());
  Output output;
  std::size_t size = 0;
  if (functions_->log_size(program, &size) == NVRTC_SUCCESS && size > 1) {
    output.log.resize(size);
    functions_->log(program, output.log.data());
    output.log.resize(size - 1);  // without the final zero
  }
  if (done == NVRTC_SUCCESS) done = functions_->binary_size(program, &size);
  if (done == NVRTC_SUCCESS) {
    output.binary.resize(size);
    done = functions_->binary(program, output.binary.data());
  }
  functions_->destroy(&program);
  if (done != NVRTC_SUCCESS) {
    constexpr std::size_t kEnough = 2000;  // of a log: the first errors are those that matter
    return fail(ErrorKind::build_failed,
                fmt::format("{} for {}: {}", functions_->error_string(done), architecture,
                            std::string_view(output.log).substr(0, kEnough)));
  }
  if (output.binary.empty()) {
    return fail(ErrorKind::build_failed, fmt::format("no code for {}", architecture));
  }
  return output;
}

std::string cuda_architecture(int capability) {
  return fmt::format("sm_{}{}", capability, capability >= 90 ? "a" : "");
}

}  // namespace rooftune
