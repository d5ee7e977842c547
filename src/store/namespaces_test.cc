#include "store/namespaces.h"

#include "gtest/gtest.h"

namespace rooftune {
namespace {

TEST(Namespaces, ReadAsTheDesignWritesThem) {
  EXPECT_EQ(autotune_namespace("v1", "cpu-avx512", "matmul"), "autotune/v1/cpu-avx512/matmul");
  EXPECT_EQ(throughput_namespace("3", "cpu"), "throughput/3/cpu");
  EXPECT_EQ(compiled_namespace("v2", "cuda"), "compiled/v2/cuda");
  EXPECT_EQ(quarantine_namespace("cuda", "sum"), "quarantine/v1/cuda/sum");
  EXPECT_EQ(records_namespace(RecordKind::autotune), "records/v1/autotune");
  EXPECT_EQ(records_namespace(RecordKind::sessions), "records/v1/sessions");
  EXPECT_EQ(records_namespace(RecordKind::compilation), "records/v1/compilation");
}

TEST(Namespaces, SplitUndoesWhatWasBuiltFromHostileParts) {
  const std::string hostile[] = {"",
                                 "/",
                                 "a/b",
                                 "%",
                                 "%2F",
                                 "..",
                                 "\xff\xc3",
                                 "NVIDIA H100 80GB",
                                 std::string("nul\0nul", 7),
                                 "quote'\"\n",
                                 "\x7f",
                                 "/a/",
                                 "ü"};
  for (const std::string& fingerprint : hostile) {
    for (const std::string& tuner : hostile) {
      const std::string ns = autotune_namespace("v1", fingerprint, tuner);
      EXPECT_EQ(split_namespace(ns),
                (NamespaceParts{NamespaceKind::autotune, "v1", fingerprint, tuner}))
          << ns;
      EXPECT_EQ(split_namespace(quarantine_namespace(fingerprint, tuner)),
                (NamespaceParts{NamespaceKind::quarantine, "v1", fingerprint, tuner}));
    }
    EXPECT_EQ(split_namespace(throughput_namespace("v1", fingerprint)),
              (NamespaceParts{NamespaceKind::throughput, "v1", fingerprint, ""}));
    EXPECT_EQ(split_namespace(compiled_namespace(fingerprint, "x")),
              (NamespaceParts{NamespaceKind::compiled, fingerprint, "x", ""}));
  }
  EXPECT_EQ(split_namespace(records_namespace(RecordKind::autotune)),
            (NamespaceParts{NamespaceKind::records, "v1", "", "autotune"}));
}

TEST(Namespaces, PartsNeverReachIntoEachOther) {
  EXPECT_NE(autotune_namespace("v1", "a/b", "c"), autotune_namespace("v1", "a", "b/c"));
  EXPECT_NE(autotune_namespace("v1", "a%2Fb", "c"), autotune_namespace("v1", "a/b", "c"));
}

TEST(Namespaces, OtherTextIsRefused) {
  for (const char* text :
       {"", "/", "autotune", "autotune/v1/x", "autotune/v1/x/y/z", "records/v2/autotune",
        "records/v1/other", "records/v1", "Autotune/v1/x/y", "throughput/1", "compiled/1/2/3",
        "autotune/v1/%2/y", "autotune/v1/%zz/y", "autotune/v1/%61/y", "autotune/v1/%2f/y",
        "autotune/v1/a\nb/y", "quarantine/v2/x/y", "quarantine/v1/x", "autotune/v1/x/y%"}) {
    EXPECT_EQ(split_namespace(text), std::nullopt) << text;
  }
}

TEST(Namespaces, CoverByWholeParts) {
  EXPECT_TRUE(covers("", "autotune/v1"));
  EXPECT_TRUE(covers("/", "autotune/v1"));
  EXPECT_TRUE(covers("autotune/v1", "autotune/v1"));
  EXPECT_TRUE(covers("autotune/v1/", "autotune/v1"));
  EXPECT_TRUE(covers("autotune/v1", "autotune/v1/x/y"));
  EXPECT_FALSE(covers("autotune/v1", "autotune/v10/x/y"));
  EXPECT_FALSE(covers("autotune/v1/x", "autotune/v1"));
  EXPECT_FALSE(covers("auto", "autotune/v1"));
}

TEST(Namespaces, OnlyCompiledKernelsAreBinary) {
  EXPECT_TRUE(is_binary_namespace(compiled_namespace("v1", "x")));
  EXPECT_FALSE(is_binary_namespace(autotune_namespace("v1", "compiled", "compiled")));
  EXPECT_FALSE(is_binary_namespace("compiledx/v1"));
}

}  // namespace
}  // namespace rooftune
