#include "ops/kernel_hashes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

namespace rooftune {
namespace {

namespace fs = std::filesystem;

TEST(KernelHashes, EveryKernelFileHasItsOwn) {
  std::map<std::string, std::string> file_of_hash;
  int files = 0;
  for (const fs::directory_entry& op : fs::directory_iterator(ROOFTUNE_OPS_FOLDER)) {
    if (!fs::is_directory(op.path() / "cpu")) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(op.path() / "cpu")) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with("-inl.h")) continue;
      const std::string source = name.substr(0, name.size() - 6);
      const std::string hash{kernel_source_hash(op.path().filename().string(), source)};
      EXPECT_EQ(hash.size(), 16u) << file.path();
      EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << hash;
      const auto [other, fresh] = file_of_hash.emplace(hash, file.path().string());
      EXPECT_TRUE(fresh) << file.path() << " has the hash of " << other->second;
      ++files;
    }
  }
  EXPECT_GE(files, 8);
}

TEST(KernelHashes, UnknownNamesHaveNone) {
  EXPECT_EQ(kernel_source_hash("matmul", "no_such_kernel"), "");
  EXPECT_EQ(kernel_source_hash("no_such_operation", "naive"), "");
  EXPECT_EQ(kernel_source_hash("", ""), "");
  EXPECT_EQ(kernel_source_hash("matmul/naive", ""), "");
  EXPECT_NE(kernel_source_hash("matmul", "naive"), "");
}

}  // namespace
}  // namespace rooftune
