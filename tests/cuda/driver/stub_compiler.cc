// A libnvrtc.so.13 that compiles everything at once, to something that only the stub driver takes.
// It keeps tests from depending on the toolkit that is installed, and from compiling real kernels.
// Each compilation adds a line to the file that the variable STUB_NVRTC_LOG names.
#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>

struct _nvrtcProgram {
  std::string name;
};

namespace {

// The least that may be an ELF file: its header.
constexpr char kBinary[64] = {'\x7f', 'E', 'L', 'F'};

std::mutex log_mutex;

}  // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult) { return "NVRTC_ERROR_OF_THE_STUB"; }
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char* name, int,
                               const char* const*, const char* const*) {
  *program = new _nvrtcProgram{name};
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int, const char* const*) {
  if (const char* const log = std::getenv("STUB_NVRTC_LOG")) {
    const std::lock_guard lock(log_mutex);
    std::ofstream(log, std::ios::app) << program->name << '\n';
  }
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t* size) {
  *size = 1;  // the final zero
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  *log = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t* size) {
  *size = sizeof kBinary;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* binary) {
  std::memcpy(binary, kBinary, sizeof kBinary);
  return NVRTC_SUCCESS;
}

}  // extern "C"
