#include "ops/matmul/rivals/library.h"

#include <fstream>

#include "base/temp_folder_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rooftune::rivals {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

void touch(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "no library";
}

TEST(Library, FilesAreFoundBelowAFolderByTheirNames) {
  const TempFolder temp;
  touch(temp.path() / "lib/python3.11/site-packages/scipy_openblas64/lib/libscipy_openblas64_.so");
  touch(temp.path() / "lib/libopenblas.so.0");
  touch(temp.path() / "lib/libopenblas.txt");
  touch(temp.path() / "lib/other.so");
  std::filesystem::create_symlink("libopenblas.so.0", temp.path() / "lib/libopenblas.so");
  const std::vector<std::filesystem::path> folders = {temp.path()};
  EXPECT_THAT(files_of({{"libopenblas", "libscipy_openblas"}, {}}, folders),
              ElementsAre(EndsWith("lib/libopenblas.so"), EndsWith("libscipy_openblas64_.so")));
}

TEST(Library, AFileCountsAsItsOwnFolder) {
  const TempFolder temp;
  touch(temp.path() / "libblis.so.4");
  const std::vector<std::filesystem::path> folders = {temp.path() / "libblis.so.4"};
  EXPECT_THAT(files_of({{"libblis.so"}, {}}, folders), ElementsAre(EndsWith("libblis.so.4")));
  EXPECT_THAT(files_of({{"libdnnl.so"}, {}}, folders), IsEmpty());
}

TEST(Library, FoldersThatAreNotThereHoldNothing) {
  const std::vector<std::filesystem::path> folders = {"/nowhere/at/all"};
  EXPECT_THAT(files_of({{"libblis.so"}, {"/nowhere/libblis.so", "libblis.so.4"}}, folders),
              ElementsAre("libblis.so.4"));
}

TEST(Library, AFileThatIsNoLibraryIsRefusedWithTheReason) {
  const TempFolder temp;
  touch(temp.path() / "libblis.so");
  const auto library = Library::load((temp.path() / "libblis.so").string(), {});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::not_found);
  EXPECT_THAT(library.error().text, testing::HasSubstr("libblis.so"));
}

TEST(Version, IsTheFirstNumberWithAPoint) {
  EXPECT_EQ(version_in("OpenBLAS 0.3.34.481.3  USE64BITINT"), (Version{{0, 3, 34}}));
  EXPECT_EQ(version_in("libopenblasp-r0.3.21.so"), (Version{{0, 3, 21}}));
  EXPECT_EQ(version_in("AOCL-BLIS 5.0"), (Version{{5, 0, 0}}));
  EXPECT_EQ(version_in("libscipy_openblas64_.so"), (Version{}));
  EXPECT_EQ(version_in("libopenblas.so.0"), (Version{}));
  EXPECT_EQ(version_in(""), (Version{}));
}

TEST(Version, ComparesNumbers) {
  EXPECT_LT(version_in("0.3.9"), version_in("0.3.21"));
  EXPECT_LT(version_in("3.2.0"), version_in("2026.1"));
}

}  // namespace
}  // namespace rooftune::rivals
