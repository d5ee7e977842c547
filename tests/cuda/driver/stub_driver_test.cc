// What a user reads when the NVIDIA driver, the device, its memory or a kernel is not as it should
// be. A driver is loaded once in a process: every case is a run of the program, on a stub.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/program.h"

namespace rooftune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::filesystem::path kWhole = std::filesystem::path(STUB_FOLDER) / "whole";
const std::filesystem::path kLacking = std::filesystem::path(STUB_FOLDER) / "lacking";

class StubDriver : public testing::Test {
 protected:
  // The program finds its libraries in `folder` first, and the stub there does as it is told.
  void use(const std::filesystem::path& folder, const std::string& behaviour = "works") {
    program_.variables = {{"LD_LIBRARY_PATH", folder.string()},
                          {"STUB_CUDA", behaviour},
                          {"STUB_NVRTC_LOG", (program_.folder() / kLog).string()}};
  }

  Ended shapes() { return program_.run({"shapes", "64", "--device", "cuda:0"}); }

  // The device cannot be used at all, and every command says why.
  void expect_refused(const testing::Matcher<std::string>& reason) {
    const Ended product = shapes();
    EXPECT_EQ(product.exit, 1);
    EXPECT_THAT(product.err,
                AllOf(StartsWith("rooftune: device 'cuda:0' is not available: "), reason));
    EXPECT_THAT(product.err, Not(HasSubstr("cpu fake cuda:0"))) << "it is not to be recommended";
    // Saying why something is not there is what this command is for: it has not failed.
    const Ended one = program_.run({"devices", "--device", "cuda:0"});
    EXPECT_EQ(one.exit, 0) << one.err;
    EXPECT_THAT(one.out, AllOf(StartsWith("cuda:0: not available: "), reason));
    const Ended all = program_.run({"devices"});
    EXPECT_EQ(all.exit, 0) << all.err;
    EXPECT_THAT(all.out, AllOf(HasSubstr("cpu: available"), HasSubstr("cuda:0: not available: "),
                               reason, HasSubstr("fake: available")));
    EXPECT_THAT(compiled(), IsEmpty());
  }

  // The names of the kernels, one for each run of the compiler.
  std::vector<std::string> compiled() const {
    std::ifstream log(program_.folder() / kLog);
    std::vector<std::string> names;
    for (std::string name; std::getline(log, name);) names.push_back(name);
    return names;
  }

  static constexpr const char* kLog = "compiled.txt";
  Program program_;
};

// --- The driver ----------------------------------------------------------------------------------

TEST_F(StubDriver, NoneThatCanBeLoaded) {
  // As good as none, and found before the driver that this machine may have.
  program_.write("libcuda.so.1", "this is no library");
  use(program_.folder());
  expect_refused(HasSubstr("no NVIDIA driver: libcuda.so.1 cannot be loaded"));
}

TEST_F(StubDriver, AnotherLibraryOfItsName) {
  std::filesystem::copy_file(kWhole / "libnvrtc.so.13", program_.folder() / "libcuda.so.1");
  use(program_.folder());
  expect_refused(HasSubstr("libcuda.so.1 is no NVIDIA driver: it lacks cuInit cuDriverGetVersion"));
}

TEST_F(StubDriver, TooOld) {
  use(kWhole, "old");
  expect_refused(HasSubstr("too old: it is one of CUDA 11.4, and 12.0 is the oldest"));
}

TEST_F(StubDriver, FunctionsAreMissing) {
  use(kLacking);
  expect_refused(HasSubstr("the NVIDIA driver lacks cuStreamIsCapturing cuGraphUpload"));
}

TEST_F(StubDriver, DoesNotStart) {
  use(kWhole, "no_init");
  expect_refused(AllOf(HasSubstr("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
                       HasSubstr("unsupported display driver / cuda driver combination")));
}

// --- The device ----------------------------------------------------------------------------------

TEST_F(StubDriver, NoDevice) {
  use(kWhole, "no_device");
  expect_refused(HasSubstr("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"));
  use(kWhole, "empty");
  expect_refused(HasSubstr("the NVIDIA driver shows no device"));
}

TEST_F(StubDriver, TooOldADevice) {
  use(kWhole, "old_gpu");
  expect_refused(HasSubstr("Stub GPU has compute capability 7.5; 8.0 is the least"));
}

TEST_F(StubDriver, ADeviceThatIsTaken) {
  use(kWhole, "no_context");
  expect_refused(AllOf(HasSubstr("the device cannot be used"),
                       HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are "
                                 "busy or unavailable")));
}

TEST_F(StubDriver, AnIndexBeyondTheLastDevice) {
  use(kWhole);
  const Ended ended = program_.run({"shapes", "64", "--device", "cuda:1"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("there is no device cuda:1: the driver shows 1"));
}

TEST_F(StubDriver, ADeviceThatWorksIsDescribed) {
  use(kWhole);
  const Ended ended = program_.run({"devices", "--device", "cuda:0"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(StartsWith("cuda:0: available"), HasSubstr("nvrtc, sm_90"),
                               HasSubstr("Stub GPU"), HasSubstr("wgmma")));
  EXPECT_THAT(compiled(), IsEmpty()) << "a description needs no kernel";
}

// --- Memory --------------------------------------------------------------------------------------

TEST_F(StubDriver, NoMemory) {
  use(kWhole, "no_memory");
  const Ended ended = shapes();
  EXPECT_EQ(ended.exit, 1);
  // A matrix of 64 x 64 in f32.
  EXPECT_THAT(ended.err, HasSubstr("cuda:0: cannot allocate 16384 bytes: "
                                   "CUDA_ERROR_OUT_OF_MEMORY: out of memory"));
}

TEST_F(StubDriver, NoMemoryForMeasuring) {
  // The operands take three quarters of what there is: the call runs without having measured.
  use(kWhole, "little");
  const Ended ended = program_.run({"shapes", "64", "--device", "cuda:0", "--json"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("\"tuned\":false"), HasSubstr("\"origin\":\"fallback\"")));
}

// --- Kernels -------------------------------------------------------------------------------------

TEST_F(StubDriver, KernelsThatDoNotLoad) {
  use(kWhole, "no_image");
  const Ended ended = shapes();
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err,
              HasSubstr("naive: cuda:0: kernel naive: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel "
                        "image is available for execution on the device"));
}

TEST_F(StubDriver, KernelsThatAreNotLaunched) {
  use(kWhole, "refuses");
  Ended ended = shapes();
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("no candidate of matmul could run"),
                               HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources "
                                         "requested for launch")));
  // The same again in a second process, which finds the fallback compiled. (How many others are
  // begun before a search gives up is up to its threads.)
  ended = shapes();
  EXPECT_EQ(ended.exit, 1);
  EXPECT_EQ(std::ranges::count(compiled(), "naive.cu"), 1);
}

TEST_F(StubDriver, AKernelThatFaults) {
  use(kWhole, "faults");
  const Ended ended = shapes();
  EXPECT_EQ(ended.exit, 1);
  // The driver refuses everything from now on: the call ends there, in the driver's words.
  EXPECT_THAT(ended.err, AllOf(Not(HasSubstr("no candidate of matmul could run")),
                               HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access "
                                         "was encountered")));
}

TEST_F(StubDriver, AFaultEndsAListOfProducts) {
  use(kWhole, "faults");
  const Ended ended = program_.run({"shapes", "64", "96", "--device", "cuda:0"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("rooftune: 96: cuda:0: cannot allocate"));
}

}  // namespace
}  // namespace rooftune
