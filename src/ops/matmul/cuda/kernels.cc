#include "ops/matmul/cuda/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/embedded.h"
#include "base/hash.h"

namespace rooftune {

std::span<const EmbeddedFile> cuda_kernel_sources();  // made by the build

namespace {

struct Text {
  std::shared_ptr<const std::string> text;
  std::string hash;
};

// Each file with its includes is put together once.
Result<Text> text_of(std::string_view file) {
  static std::mutex mutex;
  static std::map<std::string, Text, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(file); found != known.end()) return found->second;
  const bool elsewhere = file.find('/') != std::string_view::npos;
  auto text = with_includes(cuda_kernel_sources(),
                            (elsewhere ? "" : "ops/matmul/cuda/") + std::string(file));
  if (!text) return std::unexpected(text.error());
  Text made{std::make_shared<const std::string>(*std::move(text)), {}};
  made.hash = digest(*made.text);
  return known.emplace(file, std::move(made)).first->second;
}

// "wgmma" for "wgmma.cu".
std::string stem_of(std::string_view file) {
  file.remove_prefix(file.find_last_of('/') + 1);
  return std::string(file.substr(0, file.find('.')));
}

}  // namespace

CudaCandidates all_cuda_candidates() {
  CudaCandidates rows;
  add_naive(rows);
  add_unit(rows);
  add_gemv(rows);
  add_accelerated(rows);
  add_dmma(rows);
  add_tiny(rows);
  add_stream(rows);
  add_wgmma(rows);
  add_repacked(rows);
  return rows;
}

std::string technique_of(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string technique;
  bool sizes = false;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('_', begin), name.size());
    std::string word(name.substr(begin, end - begin));
    begin = end + 1;
    sizes = sizes || (!word.empty() && is_digit(word.front()));
    // "128x256" is nothing but numbers.
    const bool tile = word.find_first_not_of("0123456789x") == std::string::npos;
    std::erase_if(word, is_digit);
    if (!tile && !word.empty()) technique += (technique.empty() ? "" : "_") + word;
  }
  return sizes ? technique : "reference";
}

Result<CudaKernelSource> cuda_kernel_source(const CudaKernelPlan& plan) {
  auto text = text_of(plan.file);
  if (!text) return std::unexpected(text.error());
  KernelSource source;
  source.id = {stem_of(plan.file), text->hash, fmt::format("{}", fmt::join(plan.defines, " "))};
  source.text = *text->text;
  source.options = plan.defines;
  return CudaKernelSource(std::move(source), std::move(text->text));
}

CompileCuda cuda_compiler(Client& client) {
  return [&client](const CudaKernelPlan& plan) -> Result<std::shared_ptr<const Kernel>> {
    const auto source = cuda_kernel_source(plan);
    if (!source) return std::unexpected(source.error());
    return client.compile(source->get());
  };
}

std::string cuda_candidate_version(const CudaCandidate& candidate) {
  if (const auto wrapped = candidate.wrapped()) {
    const auto text = text_of(wrapped->file);
    return digest({cuda_candidate_version(*wrapped->inner), text ? text->hash : "missing"});
  }
  std::string all;
  for (const CudaVariant variant : candidate.variants()) {
    for (const CudaKernelPlan& plan : candidate.plans(variant)) {
      const auto text = text_of(plan.file);
      all += fmt::format("{} {} {} {}\n", text ? text->hash : "missing",
                         fmt::join(plan.defines, " "), plan.threads, plan.shared_bytes);
    }
  }
  return digest(all);
}

}  // namespace rooftune
