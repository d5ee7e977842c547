// A small operation on the fake device, for tests of the tuner: out[i] = 2 * in[i]. Each candidate
// is a kernel of the device's script under the candidate's name.
#ifndef ROOFTUNE_TESTS_SYSTEM_TOY_OPERATION_H_
#define ROOFTUNE_TESTS_SYSTEM_TOY_OPERATION_H_

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/temp_folder_for_test.h"
#include "device/fake/fake_client.h"
#include "rooftune/tune_context.h"
#include "rooftune/tuner.h"

namespace rooftune {

struct ToyKey {
  std::int64_t size = 0;
  std::string tag;
  ROOFTUNE_KEY(anchored(size), tag)
};

struct ToyArgs {
  const float* in = nullptr;
  float* out = nullptr;
  std::int64_t size = 0;
};

inline Status toy_kernel(const void* args) {
  const auto& toy = *static_cast<const ToyArgs*>(args);
  for (std::int64_t i = 0; i < toy.size; ++i) toy.out[i] = 2 * toy.in[i];
  return {};
}

inline std::span<std::byte> toy_output(const void* args) {
  const auto& toy = *static_cast<const ToyArgs*>(args);
  return std::as_writable_bytes(std::span(toy.out, static_cast<std::size_t>(toy.size)));
}

// A kernel that computes the right thing in `seconds`; everything else can be changed after.
inline FakeBehaviour toy(double seconds) {
  FakeBehaviour behaviour;
  behaviour.seconds = seconds;
  behaviour.entry = toy_kernel;
  behaviour.output = toy_output;
  return behaviour;
}

// The scratch output has two guard elements behind it, so that writing outside is seen.
class ToyTrial final : public Trial<ToyArgs> {
 public:
  static constexpr std::int64_t kGuard = 4;
  static constexpr float kPoison = -12345.5f;

  static Result<std::unique_ptr<Trial<ToyArgs>>> make(Client& client, const ToyArgs& args) {
    auto trial = std::make_unique<ToyTrial>();
    auto buffer = client.allocate(static_cast<std::uint64_t>(args.size + kGuard) * sizeof(float));
    if (!buffer) return std::unexpected(buffer.error());
    trial->buffer_ = *std::move(buffer);
    trial->args_ = args;
    trial->args_.out = static_cast<float*>(trial->buffer_.address());
    return trial;
  }
  // Without a look at the caller's input.
  static Result<std::unique_ptr<Trial<ToyArgs>>> make_with_own_input(Client& client,
                                                                     const ToyArgs& args) {
    auto own = std::make_unique<std::vector<float>>(static_cast<std::size_t>(args.size));
    for (std::size_t i = 0; i < own->size(); ++i) (*own)[i] = float(i % 89) - 43.5f;
    auto trial = make(client, {own->data(), args.out, args.size});
    if (trial) static_cast<ToyTrial&>(**trial).own_ = std::move(own);
    return trial;
  }
  const ToyArgs& args() const override { return args_; }
  Status poison(Stream) override {
    std::fill_n(args_.out, args_.size + kGuard, kPoison);
    return {};
  }
  Result<Check> check(Stream) override {
    Check check;
    check.error_bound = 1e-6;
    for (std::int64_t i = 0; i < args_.size; ++i) {
      if (args_.out[i] == kPoison) check.complete = false;
      check.error = std::max(check.error, double(std::abs(args_.out[i] - 2 * args_.in[i])));
    }
    for (std::int64_t i = args_.size; i < args_.size + kGuard; ++i) {
      if (args_.out[i] != kPoison) check.contained = false;
    }
    return check;
  }
  Result<std::vector<ToyArgs>> copies(std::size_t count, Stream,
                                      std::uint64_t most_bytes) override {
    const auto bytes = static_cast<std::uint64_t>(args_.size) * sizeof(float);
    if (scratch_bytes() + count * bytes > most_bytes) {
      return fail(ErrorKind::out_of_memory, "no room for copies");
    }
    std::vector<ToyArgs> problems(count, args_);
    for (ToyArgs& problem : problems) {
      auto& numbers = copies_.emplace_back(args_.in, args_.in + args_.size);
      problem.in = numbers.data();
    }
    return problems;
  }
  std::uint64_t scratch_bytes() const override {
    return buffer_.bytes() +
           copies_.size() * static_cast<std::uint64_t>(args_.size) * sizeof(float);
  }

 private:
  std::unique_ptr<std::vector<float>> own_;  // null: the input is the caller's
  std::vector<std::vector<float>> copies_;
  Buffer buffer_;
  ToyArgs args_;
};

// Of the caller's own output. A check takes `seconds` of the device's time.
class ToyResultCheck final : public ResultCheck {
 public:
  ToyResultCheck(FakeClient& device, const ToyArgs& args, double seconds)
      : device_(device), args_(args), seconds_(seconds) {
    static_cast<void>(ToyResultCheck::restore({}));
  }
  Result<Check> check(Stream) override {
    device_.advance(seconds_);
    Check check;
    check.error_bound = 1e-6;
    check.conclusive = false;
    for (std::int64_t i = 0; i < args_.size; ++i) {
      if (args_.in[i] != 0) check.conclusive = true;
      if (args_.out[i] == ToyTrial::kPoison) check.complete = false;
      check.error = std::max(check.error, double(std::abs(args_.out[i] - 2 * args_.in[i])));
    }
    return check;
  }
  Status restore(Stream) override {
    std::fill_n(args_.out, args_.size, ToyTrial::kPoison);
    return {};
  }

 private:
  FakeClient& device_;
  const ToyArgs args_;
  const double seconds_;
};

// A candidate of a toy set.
struct ToyCandidate {
  std::string name;
  int group = 0, inner = 0;
  std::string version = "1";
  const char* (*illegal_because)(const ToyArgs&) = nullptr;
  std::function<double(const ToyArgs&)> predicted = {};
  std::function<void(const ToyArgs&)> on_prepare = {};  // is told
  std::string kind = {};
};

using ToyDescribe = std::function<void(TunableSet<ToyKey, ToyArgs>&)>;

// A set of launches of the kernels that have the candidates' names.
inline ToyDescribe describe_toy(std::vector<ToyCandidate> candidates) {
  return [candidates = std::move(candidates)](TunableSet<ToyKey, ToyArgs>& set) {
    Client& client = set.client();
    set.inputs([&client](const ToyKey&, const ToyArgs& args, Stream) {
      return ToyTrial::make(client, args);
    });
    set.bound([](const ToyKey&, const ToyArgs& args) -> std::optional<Work> {
      return Work{double(args.size), 8.0 * double(args.size), DType::f32, false};
    });
    for (const ToyCandidate& toy : candidates) {
      auto build = [&client, name = toy.name]() {
        KernelSource source;
        source.id = {name, "1", ""};
        source.entry = reinterpret_cast<void (*)()>(&toy_kernel);
        return client.compile(source);
      };
      auto& candidate =
          set.add(
                 toy.name,
                 [&client, build](const ToyArgs& args, Stream stream) -> Status {
                   auto kernel = build();
                   if (!kernel) return std::unexpected(kernel.error());
                   return client.launch(stream, {kernel->get(), &args, sizeof args, {}, {}, 0, {}});
                 })
              .version(toy.version)
              .prepare([build, told = toy.on_prepare](const ToyArgs& args) -> Status {
                if (told) told(args);
                auto kernel = build();
                if (!kernel) return std::unexpected(kernel.error());
                return {};
              })
              .group("g" + std::to_string(toy.group), toy.inner);
      if (toy.illegal_because != nullptr) candidate.illegal_because(toy.illegal_because);
      if (toy.predicted) candidate.predicted(toy.predicted);
      candidate.kind(toy.kind);
      set.group("g" + std::to_string(toy.group),
                [priority = toy.group](const ToyKey&) { return priority; });
    }
  };
}

// Calls check their own results; where it `rehearses`, first launches that are too long for a call
// are made behind it.
inline ToyDescribe checking_results(const std::shared_ptr<FakeClient>& device, double check_s,
                                    bool rehearses = false) {
  return [device, check_s, rehearses](TunableSet<ToyKey, ToyArgs>& set) {
    set.result_check([device, check_s](const ToyArgs& args, Stream, std::uint64_t) {
      return Result<std::unique_ptr<ResultCheck>>(
          std::make_unique<ToyResultCheck>(*device, args, check_s));
    });
    if (!rehearses) return;
    set.rehearsal([device](const ToyArgs& args, Stream, std::uint64_t) {
      return ToyTrial::make_with_own_input(*device, args);
    });
  };
}

// Says of one stream that it is recorded. The work on it is done at once all the same, which a test
// cannot tell from a graph that is launched at the end.
class RecordingClient final : public FakeClient {
 public:
  using FakeClient::FakeClient;
  bool recording(Stream stream) const override {
    return recorded.native != 0 && stream.native == recorded.native;
  }
  Stream recorded = {};
};

// One context on a fake device, and a problem to run on it.
class ToyWorld {
  TempFolder own_;  // outlives the context

 public:
  explicit ToyWorld(FakeScript script, std::vector<ToyCandidate> candidates, Settings settings = {},
                    const std::filesystem::path& folder = {})
      : ToyWorld(std::make_shared<FakeClient>(std::move(script)), std::move(candidates),
                 std::move(settings), folder) {}
  // `more` adds to what describe_toy has filled.
  ToyWorld(std::shared_ptr<FakeClient> on, std::vector<ToyCandidate> candidates,
           Settings settings = {}, const std::filesystem::path& folder = {},
           const ToyDescribe& more = {})
      : device(std::move(on)) {
    const std::filesystem::path place = folder.empty() ? own_.path() : folder;
    if (settings.environment == "project") settings.environment = "local";
    context = std::make_unique<TuneContext>(
        device, std::move(settings), Folders{place, place},
        [this](const std::string& text) { warnings.push_back(text); });
    tuner = static_cast<Tuner<ToyKey, ToyArgs>*>(
        &context->tuner("toy", [&]() -> std::unique_ptr<TunerBase> {
          return std::make_unique<Tuner<ToyKey, ToyArgs>>(
              *context, "toy", [&](TunableSet<ToyKey, ToyArgs>& set) {
                describe_toy(std::move(candidates))(set);
                if (more) more(set);
              });
        }));
  }

  // Runs one call on fresh operands; the caller's output is checked when the call succeeds.
  Status call(std::int64_t size = 64, const std::string& tag = "", Stream stream = {}) {
    std::vector<float> in(static_cast<std::size_t>(size)), out(in.size(), -1);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = float(i % 97) - 48.5f;
    const Level level = context->settings().autotune.level;
    Status done = tuner->execute(anchored_key(ToyKey{size, tag}, level),
                                 ToyArgs{in.data(), out.data(), size}, stream, &report);
    if (done) {
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (out[i] != 2 * in[i]) return fail(ErrorKind::wrong_result, "the caller got a wrong one");
      }
    }
    return done;
  }

  Decision decision(std::int64_t size = 64, const std::string& tag = "") {
    const Level level = context->settings().autotune.level;
    const ToyArgs args{nullptr, nullptr, size};
    return tuner->decision(anchored_key(ToyKey{size, tag}, level), args).value_or(Decision{});
  }
  Verdict verdict(const std::string& name) {
    const Decision found = decision();
    const CandidateEvidence* candidate = found.find(name);
    return candidate != nullptr ? candidate->verdict : Verdict::not_tried;
  }

  std::shared_ptr<FakeClient> device;
  std::vector<std::string> warnings;
  std::unique_ptr<TuneContext> context;
  Tuner<ToyKey, ToyArgs>* tuner = nullptr;
  CallReport report;
};

// Kernels by name and time, the rest as in toy().
inline FakeScript toy_script(const std::vector<std::pair<std::string, double>>& kernels) {
  FakeScript script;
  for (const auto& [name, seconds] : kernels) script.kernels[name] = toy(seconds);
  return script;
}

}  // namespace rooftune

#endif  // ROOFTUNE_TESTS_SYSTEM_TOY_OPERATION_H_
