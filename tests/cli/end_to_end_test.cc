// The command line as a user meets it: exit status, output, and what a second process remembers.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/program.h"

namespace rooftune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kHeader = "id,batch,m,n,k,in,out,layout,precision,source\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Every line of the output as strict JSON.
std::vector<Json> json_of(const Ended& ended) {
  std::vector<Json> all;
  EXPECT_FALSE(ended.out.empty()) << ended.err;
  for (const std::string& line : lines_of(ended.out)) {
    auto json = parse_json(line);
    EXPECT_TRUE(json) << line;
    if (json) all.push_back(*std::move(json));
  }
  return all;
}

std::vector<std::string> names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

class CommandLine : public testing::Test {
 protected:
  Program program_;
};

// --- The form of keys, pinned ------------------------------------------------------------------

TEST_F(CommandLine, KeysAreWrittenAsPromised) {
  const Ended ended = program_.run({"keys", "512", "768", "1000", "1024", "1025", "2048", "1024T"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(
      ended.out,
      StartsWith(" 512  -> m=512 n=512 k=512 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
                 "layout_rhs=Contiguous scale=Medium kind=General\n"
                 " 768  -> m=1024 n=1024 k=1024 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
                 "layout_rhs=Contiguous scale=Medium kind=General\n"
                 "1000  -> m=1024 n=1024 k=1024 lhs_pow2=4 lhs_stride=5 rhs_pow2=4 rhs_stride=5 "
                 "layout_rhs=Contiguous scale=Medium kind=General\n"
                 "1024  -> m=1024 n=1024 k=1024 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
                 "layout_rhs=Contiguous scale=Medium kind=General\n"
                 "1025  -> m=2048 n=2048 k=2048 lhs_pow2=4 lhs_stride=2 rhs_pow2=4 rhs_stride=2 "
                 "layout_rhs=Contiguous scale=Large kind=General\n"
                 "2048  -> m=2048 n=2048 k=2048 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
                 "layout_rhs=Contiguous scale=Large kind=General\n"
                 "1024T -> m=1024 n=1024 k=1024 lhs_pow2=4 lhs_stride=10 rhs_pow2=4 rhs_stride=10 "
                 "layout_rhs=MildlyPermuted { transposed: true, batch_swap: false } scale=Medium "
                 "kind=General\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nkey(768) == key(1024): true\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nkey(1000) == key(1024): false\n"));
}

TEST_F(CommandLine, KeysLeaveNothingBehind) {
  EXPECT_EQ(program_.run({"keys", "512"}).exit, 0);
  EXPECT_FALSE(std::filesystem::exists(program_.folder() / ".rooftune"));
}

// --- Exit status -------------------------------------------------------------------------------

struct Asked {
  std::vector<std::string> arguments;
  int exit;
  std::string err;
};

class ExitStatus : public testing::TestWithParam<Asked> {};

TEST_P(ExitStatus, IsAsPromised) {
  Program program;
  const Ended ended = program.run(GetParam().arguments);
  EXPECT_EQ(ended.exit, GetParam().exit) << ended.out << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(GetParam().err));
  if (ended.exit != 0) {
    EXPECT_EQ(ended.out, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ExitStatus,
    testing::Values(
        Asked{{"--help"}, 0, ""}, Asked{{"--version"}, 0, ""}, Asked{{"keys", "--help"}, 0, ""},
        Asked{{"devices"}, 0, ""}, Asked{{"store", "ls"}, 0, ""}, Asked{{"store", "check"}, 0, ""},
        Asked{{"store", "clear"}, 0, ""}, Asked{{}, 2, "--help"},
        Asked{{"shape", "8"}, 2, "did you mean \"shapes\""},
        Asked{{"store", "sho"}, 2, "did you mean \"show\""}, Asked{{"store"}, 2, "--help"},
        Asked{{"keys"}, 2, "required"}, Asked{{"keys", "12a"}, 2, "position 3"},
        Asked{{"keys", "9223372036854775807"}, 2, "too large"},
        Asked{{"keys", "8", "--jsno"}, 2, "did you mean \"--json\""},
        Asked{{"keys", "8", "--threads", "4O"}, 2, "\"4O\""},
        Asked{{"keys", "8", "--threads", "0"}, 2, "from 1 to 1024"},
        Asked{{"keys", "8", "--threads", "-1"}, 2, "threads"},
        Asked{{"keys", "8", "--isa", "avx22"}, 2, "did you mean \"avx2\""},
        Asked{{"keys", "8", "--level", "ful"}, 2, "did you mean \"full\""},
        Asked{{"keys", "8", "--type", "f23"}, 2, "did you mean \"f32\""},
        Asked{{"keys", "8", "--device", "cpux"}, 2, "did you mean \"cpu\""},
        Asked{{"keys", "8", "--device", "cuda:99"}, 1, "not available"},
        Asked{{"shapes", "8", "--device", "cuda:99"}, 1, "cuda:99"},
        Asked{{"probe", "--device", "cuda:99"}, 1, "not available"},
        Asked{{"why", "8", "--device", "cuda:99"}, 1, "not available"},
        Asked{{"keys", "8", "--env", ".."}, 2, ".."},
        Asked{{"keys", "8", "--settings", "nosuch.toml"}, 2, "nosuch.toml"},
        Asked{{"keys", "8", "--type", "i32"}, 1, "i32"},
        Asked{{"keys", "8", "--type", "f8e4m3"}, 0, ""},
        Asked{{"keys", "8", "--precision", "hi"}, 2, "highest"},
        Asked{{"tune", "nosuch.csv"}, 2, "nosuch.csv"},
        Asked{{"audit", "nosuch.csv"}, 2, "nosuch.csv"}, Asked{{"audit"}, 2, "required"},
        Asked{{"audit", "a.csv", "--tunes", "0"}, 2, "from 1 to 1000"},
        Asked{{"audit", "a.csv", "--tunes", "2x"}, 2, "\"2x\""},
        Asked{{"audit", "a.csv", "--seconds", "-1"}, 2, "seconds"},
        Asked{{"audit", "a.csv", "--margin", "2"}, 2, "from 0 to 1"},
        Asked{{"audit", "a.csv", "--svg"}, 2, "svg"},
        Asked{{"bench", "nosuch.csv", "--vs", "blsi"}, 2, "did you mean \"blis\""},
        Asked{{"why", "64", "--op", "matmull"}, 2, "did you mean \"matmul\""},
        Asked{{"why", "64", "--device", "fake"}, 1, "rooftune shapes 64"},
        Asked{{"store", "show", "nosuch"}, 1, "store ls"}));

TEST_F(CommandLine, AFullDiskIsNoSuccess) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(program_.run_into({"keys", "8"}, "/dev/full").exit, 1);
}

// --- Variables, settings file, options -----------------------------------------------------------

TEST_F(CommandLine, BadVariablesAreNamedWithWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"ROOFTUNE_THREADS", "abc"},      {"ROOFTUNE_THREADS", "40 "},
      {"ROOFTUNE_THREADS", "4O"},       {"ROOFTUNE_THREADS", "-1"},
      {"ROOFTUNE_THREADS", "0"},        {"ROOFTUNE_THREADS", "1e3"},
      {"ROOFTUNE_THREADS", "nan"},      {"ROOFTUNE_THREADS", "18446744073709551616"},
      {"ROOFTUNE_THREADS", "\xff"},     {"ROOFTUNE_AUTOTUNE_CACHE", "yes"},
      {"ROOFTUNE_AUTOTUNE_LEVEL", "9"}, {"ROOFTUNE_DEVICE", "cpux"},
      {"ROOFTUNE_ENVIRONMENT", ".."}};
  for (const auto& [name, value] : bad) {
    program_.variables = {{name, value}};
    const Ended ended = program_.run({"keys", "8"});
    EXPECT_EQ(ended.exit, 2) << name << "=" << value;
    EXPECT_EQ(ended.out, "");
    if (name.ends_with("THREADS") || name.ends_with("CACHE") || name.ends_with("LEVEL")) {
      EXPECT_THAT(ended.err, HasSubstr(name));
      EXPECT_THAT(ended.err, HasSubstr("allowed"));
    }
  }
}

TEST_F(CommandLine, EmptyVariablesCountAsUnset) {
  for (const char* name : {"ROOFTUNE_THREADS", "ROOFTUNE_AUTOTUNE_LEVEL", "ROOFTUNE_DEVICE"}) {
    program_.variables[name] = "";
  }
  EXPECT_EQ(program_.run({"keys", "8"}).exit, 0);
}

TEST_F(CommandLine, AMisspeltVariableIsNoted) {
  program_.variables["ROOFTUNE_THREDS"] = "4";
  const Ended ended = program_.run({"keys", "8"});
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.err, HasSubstr("did you mean \"ROOFTUNE_THREADS\""));
}

TEST_F(CommandLine, OptionsBeatVariablesBeatTheFile) {
  const auto threads = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"keys", "8", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto json = json_of(program_.run(arguments));
    return json.empty() ? -1 : json[0]["key"]["threads"].get<int>();
  };
  program_.write("rooftune.toml", "threads = 2\n");
  EXPECT_EQ(threads({}), 2);
  program_.variables["ROOFTUNE_THREADS"] = "3";
  EXPECT_EQ(threads({}), 3);
  EXPECT_EQ(threads({"--threads", "1"}), 1);
}

TEST_F(CommandLine, ABrokenSettingsFileIsNamedWithItsLine) {
  program_.write("rooftune.toml", "threads = 2\nthraeds = 3\n");
  const Ended ended = program_.run({"keys", "8"});
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("rooftune.toml"));
  EXPECT_THAT(ended.err, HasSubstr("2"));
  EXPECT_THAT(ended.err, HasSubstr("thraeds"));
}

TEST_F(CommandLine, NumbersDoNotDependOnTheLocale) {
  const std::vector<std::string> arguments = {"devices", "--device", "fake"};
  const std::string plain = program_.run(arguments).out;
  program_.variables = {{"LC_ALL", "de_DE.UTF-8"}, {"LANG", "de_DE.UTF-8"}};
  EXPECT_EQ(program_.run(arguments).out, plain);
  EXPECT_THAT(plain, HasSubstr("4.3 GB"));
  json_of(program_.run({"shapes", "--device", "fake", "--json", "64"}));
  program_.write("rooftune.toml", "[autotune]\nbudget_s = 0.5\n");
  EXPECT_EQ(program_.run({"keys", "8"}).exit, 0);
}

// --- Memory between processes -------------------------------------------------------------------

TEST_F(CommandLine, ASecondProcessRemembers) {
  const std::vector<std::string> arguments = {"shapes", "--device", "fake", "--json", "64", "60"};
  const auto first = json_of(program_.run(arguments));
  ASSERT_EQ(first.size(), 2u);
  EXPECT_THAT(names_in(first[0]),
              ElementsAre("product", "device", "first_s", "next_min_s", "next_median_s", "launches",
                          "launches_total", "compilations", "tuned", "origin", "winner"));
  EXPECT_EQ(first[0]["tuned"], true);
  EXPECT_EQ(first[0]["origin"], "measured");
  EXPECT_GT(first[0]["compilations"], 0);

  const auto second = json_of(program_.run(arguments));
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0]["tuned"], false);
  EXPECT_EQ(second[0]["origin"], "store");
  EXPECT_EQ(second[0]["winner"], first[0]["winner"]);
  EXPECT_EQ(second[0]["launches_total"], 1);
  EXPECT_EQ(second[0]["launches"].size(), 1u);
}

TEST_F(CommandLine, WhyExplainsWhatWasDecided) {
  ASSERT_EQ(program_.run({"shapes", "--device", "fake", "64"}).exit, 0);
  const Ended words = program_.run({"why", "--device", "fake", "64"});
  EXPECT_EQ(words.exit, 0) << words.err;
  for (const char* part : {" won: ", "The limit is ", "launches of candidates", "verdict"}) {
    EXPECT_THAT(words.out, HasSubstr(part));
  }
  const auto json = json_of(program_.run({"why", "--device", "fake", "--json", "64"}));
  ASSERT_EQ(json.size(), 1u);
  for (const char* name : {"key", "device", "origin", "winner", "partial", "limit_s", "bound",
                           "short_circuit", "rounds", "cost", "candidates"}) {
    EXPECT_TRUE(json[0].contains(name)) << name;
  }
  for (const Json& candidate : json[0]["candidates"]) {
    for (const char* name :
         {"name", "version", "verdict", "reason", "min_s", "median_s", "samples", "error"}) {
      EXPECT_TRUE(candidate.contains(name)) << name;
    }
  }
}

TEST_F(CommandLine, AnUnusableStoreCostsAWarningOnly) {
  program_.write(".rooftune", "a file where the folder belongs");
  const Ended ended = program_.run({"shapes", "--device", "fake", "--json", "64"});
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.err, HasSubstr("rooftune: "));
  EXPECT_EQ(json_of(ended).size(), 1u);
}

TEST_F(CommandLine, TheStoreIsShownAndCleared) {
  ASSERT_EQ(program_.run({"shapes", "--device", "fake", "64"}).exit, 0);
  EXPECT_THAT(program_.run({"store", "ls"}).out, HasSubstr("autotune/v2/"));
  json_of(program_.run({"store", "ls", "--json"}));
  json_of(program_.run({"store", "show", "--json"}));
  json_of(program_.run({"store", "check", "--json"}));
  const Ended refused = program_.run({"store", "clear", "autotune"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("--yes"));
  const Ended cleared = program_.run({"store", "clear", "autotune", "--yes"});
  EXPECT_EQ(cleared.exit, 0) << cleared.err;
  EXPECT_THAT(cleared.out, StartsWith("removed 1 entry"));
  EXPECT_THAT(program_.run({"store", "ls"}).out, Not(HasSubstr("autotune/v2/")));
  EXPECT_EQ(program_.run({"why", "--device", "fake", "64"}).exit, 1);
}

// --- Lists
// ----------------------------------------------------------------------------------------

TEST_F(CommandLine, ABadLineStopsTheListBeforeAnythingRuns) {
  program_.write("list.csv", std::string(kHeader) + "1,1,64,64,64,f32,f32,NN,highest,a\n" +
                                 "2,1,64,6O,64,f32,f32,NN,highest,b\n");
  for (const char* command : {"tune", "bench"}) {
    const Ended ended = program_.run({command, "--device", "fake", "list.csv"});
    EXPECT_EQ(ended.exit, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr("line 3"));
    EXPECT_THAT(ended.err, HasSubstr("\"6O\""));
    EXPECT_THAT(ended.err, HasSubstr("--keep-going"));
  }
}

TEST_F(CommandLine, KeepGoingRunsTheOtherLines) {
  program_.write("list.csv", std::string(kHeader) + "2,1,64,6O,64,f32,f32,NN,highest,b\n" +
                                 "1,1,64,64,64,f32,f32,NN,highest,a\n" +
                                 "3,1,64,64,64,f8e4m3,f8e4m3,NN,highest,c\n" +
                                 "4,1,0,64,64,f32,f32,NN,highest,d\n");
  const std::vector<std::string> arguments = {"tune",   "--device",     "fake",
                                              "--json", "--keep-going", "list.csv"};
  const Ended ended = program_.run(arguments);
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("line 2"));
  const auto json = json_of(ended);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["state"], "tuned");
  EXPECT_EQ(json[1]["state"], "skipped");
  EXPECT_THAT(json[1]["reason"].get<std::string>(), StartsWith("unsupported: "));
  EXPECT_EQ(json[2]["state"], "skipped");
  EXPECT_EQ(json[3]["summary"]["bad_lines"], 1);

  const auto again = json_of(program_.run(arguments));
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(again[0]["state"], "known");
}

TEST_F(CommandLine, SkippedProductsAreNoFailure) {
  program_.write("list.csv", std::string(kHeader) + "3,1,8,8,8,f8e4m3,f8e4m3,NN,highest,c\n" +
                                 "4,1,8,8,8,f32,f64,NN,highest,d\n");
  for (const char* command : {"tune", "bench"}) {
    const Ended ended = program_.run({command, "--device", "fake", "list.csv"});
    EXPECT_EQ(ended.exit, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("2 skipped"));
  }
}

TEST_F(CommandLine, AProductTooLargeForTheMachineFailsAlone) {
  program_.write("list.csv", std::string(kHeader) +
                                 "1,1,9000000,9000000,1,f32,f32,NN,highest,huge\n" +
                                 "2,1,64,64,64,f32,f32,NN,highest,a\n");
  const Ended ended = program_.run({"tune", "--device", "fake", "--json", "list.csv"});
  EXPECT_EQ(ended.exit, 1);
  const auto json = json_of(ended);
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["state"], "failed");
  EXPECT_THAT(json[0]["reason"].get<std::string>(), HasSubstr("free"));
  EXPECT_EQ(json[1]["state"], "tuned");
}

TEST_F(CommandLine, BenchPacksRightOperandsWhenAsked) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,300,200,f32,f32,NT,highest,a\n" +
                                 "2,3,16,16,16,f32,f32,NN,highest,b\n");
  const Ended ended = program_.run({"bench", "--json", "--prepacked", "list.csv"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const auto json = json_of(ended);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_THAT(json[0]["winner"].get<std::string>(), HasSubstr("prepacked"));
  EXPECT_EQ(json[0]["correct"], true);
  EXPECT_THAT(json[1]["skipped"].get<std::string>(), HasSubstr("batch"));
}

TEST_F(CommandLine, RivalsOfAnotherKindOfDeviceAreRefused) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,16,16,f32,f32,NN,highest,a\n");
  for (const char* device : {"cpu", "fake"}) {
    const Ended ended =
        program_.run({"bench", "list.csv", "--device", device, "--vs", "openblas,cublaslt"});
    EXPECT_EQ(ended.exit, 2) << device;
    EXPECT_THAT(ended.err, HasSubstr("cublaslt: it works on a CUDA device"));
    EXPECT_EQ(ended.out, "");
  }
}

TEST_F(CommandLine, BenchTakesAnotherPrecisionThanTheListFor32Bits) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,16,16,f32,f32,NN,highest,a\n" +
                                 "2,1,16,16,16,f64,f64,NN,highest,b\n");
  const auto json = json_of(
      program_.run({"bench", "--json", "--device", "fake", "list.csv", "--precision", "medium"}));
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["precision"], "medium");
  EXPECT_EQ(json[1]["precision"], "highest");
  for (const Json& line : json) {
    EXPECT_EQ(line["correct"], true);
    EXPECT_GT(line["median_s"], 0.0);
  }
}

// --- audit -------------------------------------------------------------------------------------

TEST_F(CommandLine, AuditTellsOfEveryTuneAndSumsUp) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,24,40,f32,f32,NN,highest,a\n" +
                                 "2,1,8,8,8,f8e4m3,f8e4m3,NN,highest,b\n" +
                                 "3,1,33,9,17,f64,f64,NT,highest,c\n");
  for (const char* device : {"cpu", "fake"}) {
    const Ended ended =
        program_.run({"audit", "list.csv", "--device", device, "--json", "--tunes", "2",
                      "--seconds", "0.01", "--margin", "0.5", "--transfer", "--svg", "regret.svg"});
    EXPECT_EQ(ended.exit, 0) << ended.err;
    const auto json = json_of(ended);
    ASSERT_EQ(json.size(), 4u);
    EXPECT_EQ(json[0]["product"], "16x24x40");
    EXPECT_EQ(json[0]["operands"], "warm");
    ASSERT_EQ(json[0]["tunes"].size(), 2u);
    for (const Json& tune : json[0]["tunes"]) {
      EXPECT_GT(tune["cost"]["launches"], 0);
      EXPECT_GE(tune["regret"], 0.0);
      EXPECT_GT(tune["multiple"], 0.0);
      EXPECT_TRUE(json[0]["warm"]["times_s"].contains(tune["chosen"].get<std::string>()));
      EXPECT_TRUE(json[0]["cold"]["times_s"].contains(tune["chosen"].get<std::string>()));
    }
    ASSERT_EQ(json[0]["transfer"].size(), 4u);
    for (const Json& member : json[0]["transfer"]) {
      EXPECT_GE(member["regret"], 0.0);
      EXPECT_GE(member["later"]["regret"], 0.0);
      EXPECT_THAT(names_in(member["later"]),
                  ElementsAre("chosen", "regret", "split", "settled", "calls", "seconds"));
    }
    EXPECT_THAT(json[1]["skipped"].get<std::string>(), HasSubstr("f8e4m3"));
    const Json& summary = json[3]["summary"];
    EXPECT_EQ(summary["products"], 2);
    EXPECT_EQ(summary["tunes"], 4);
    EXPECT_EQ(summary["skipped"], 1);
    EXPECT_EQ(summary["margin"], 0.5);
    EXPECT_THAT(names_in(summary["regret"]), ElementsAre("mean", "median", "p95", "worst"));
    EXPECT_GE(summary["members"], 4);
    EXPECT_LE(summary["transfer_regret_later"]["mean"], summary["transfer_regret_later"]["worst"]);
    EXPECT_THAT(names_in(summary["multiples"]),
                ElementsAre("probe", "compile", "measure", "verify", "store"));
    std::ifstream picture(program_.folder() / "regret.svg");
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(picture), {}), HasSubstr("</svg>"));
  }
}

TEST_F(CommandLine, AuditPrintsATableAndLeavesTheEnvironmentAlone) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,24,40,f32,f32,NN,highest,a\n");
  const Ended ended =
      program_.run({"audit", "list.csv", "--device", "fake", "--tunes", "1", "--seconds", "0"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("16x24x40"));
  for (const char* part :
       {"\nregret:", "cold operands:", "\nuntuned:", "\nflips:", "\ncost of a tune:", "probes "}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
  EXPECT_THAT(ended.out, Not(HasSubstr("\ntransfer:")));
  EXPECT_FALSE(std::filesystem::exists(program_.folder() / ".rooftune"));
}

TEST_F(CommandLine, AuditRefusesWhatItCannotDoBeforeItBegins) {
  program_.write("list.csv", std::string(kHeader) + "1,1,16,24,40,f32,f32,NN,highest,a\n");
  const Ended picture = program_.run({"audit", "list.csv", "--svg", "no/such/folder.svg"});
  EXPECT_EQ(picture.exit, 2);
  EXPECT_THAT(picture.err, HasSubstr("no/such/folder.svg"));
  EXPECT_EQ(picture.out, "");
  const Ended device = program_.run({"audit", "list.csv", "--device", "cpux"});
  EXPECT_EQ(device.exit, 2);
  EXPECT_THAT(device.err, HasSubstr("did you mean \"cpu\""));
  EXPECT_EQ(program_.run({"audit", "list.csv", "--device", "cuda:99"}).exit, 1);
}

TEST_F(CommandLine, BenchHasTheFieldsThatProgramsRead) {
  program_.write("list.csv",
                 std::string(kHeader) + "1,2,16,24,8,f32,f32,TN,highest,\"a \"\"b\"\"\"\n");
  const Ended ended =
      program_.run({"bench", "--json", "--threads", "1", "list.csv", "--vs", "openblas"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  const auto json = json_of(ended);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_THAT(names_in(json[0]), ElementsAre("product", "in", "out", "layout", "precision",
                                             "winner", "median_s", "min_s", "ops_per_s",
                                             "bytes_per_s", "share", "correct", "error", "rivals"));
  EXPECT_EQ(json[0]["product"], "t2x16x24x8");
  EXPECT_EQ(json[0]["layout"], "TN");
  EXPECT_EQ(json[0]["correct"], true);
  EXPECT_GT(json[0]["median_s"], 0.0);
  EXPECT_LE(json[0]["min_s"], json[0]["median_s"]);
  EXPECT_GT(json[0]["share"], 0.0);
}

TEST_F(CommandLine, CtrlCKeepsWhatIsDone) {
  std::string list = kHeader;
  for (int i = 0; i < 300; ++i) {
    // Sizes of their own level, so that every line is a key.
    const std::string size = std::to_string(33 + i);
    list += size + ",1," + size + ",16,16,f32,f32,NN,highest,x\n";
  }
  program_.write("list.csv", list);
  const std::vector<std::string> arguments = {"tune",    "--device", "fake",    "--json",
                                              "--level", "full",     "list.csv"};
  const Ended ended = program_.run_and_signal(arguments, SIGINT);
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("interrupted"));
  const auto json = json_of(ended);
  ASSERT_GE(json.size(), 2u);
  const Json& summary = json.back()["summary"];
  EXPECT_GT(summary["not_reached"], 0);
  const auto tuned = summary["tuned"].get<std::size_t>();
  EXPECT_EQ(tuned, json.size() - 1);

  const auto again = json_of(program_.run(arguments));
  ASSERT_EQ(again.size(), 301u);
  EXPECT_EQ(again.back()["summary"]["known"].get<std::size_t>(), tuned);
}

// --- Other output
// -----------------------------------------------------------------------------------

TEST_F(CommandLine, ProbeAndDevicesAreJson) {
  const auto probe = json_of(program_.run({"probe", "--device", "fake", "--json"}));
  ASSERT_EQ(probe.size(), 1u);
  EXPECT_GT(probe[0]["launch_overhead_s"], 0.0);
  const auto again = json_of(program_.run({"probe", "--device", "fake", "--json"}));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0]["probe_launches"], 0);
  const auto devices = json_of(program_.run({"devices", "--json"}));
  EXPECT_GE(devices.size(), 2u);
  for (const Json& device : devices) {
    EXPECT_TRUE(device["available"] == true || device["reason"].is_string());
  }
}

TEST_F(CommandLine, ATraceThatCannotBeWrittenIsNoSuccess) {
  const Ended ended = program_.run({"keys", "8", "--trace", "/nonexistent/trace.json"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_THAT(ended.err, HasSubstr("/nonexistent/trace.json"));
}

TEST_F(CommandLine, ATraceIsWrittenAtTheEnd) {
  const Ended ended = program_.run({"shapes", "--device", "fake", "64", "--trace", "trace.json"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  std::ifstream file(program_.folder() / "trace.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto trace = parse_json(text);
  ASSERT_TRUE(trace) << text.substr(0, 200);
  ASSERT_TRUE(trace->contains("traceEvents"));
  EXPECT_GT((*trace)["traceEvents"].size(), 10u);
}

}  // namespace
}  // namespace rooftune
