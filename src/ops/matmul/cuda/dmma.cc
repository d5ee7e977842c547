// f64 on tensor cores.
#include "ops/matmul/cuda/candidate.h"
#include "ops/matmul/cuda/tiled.h"

namespace rooftune {
namespace {

class Dmma final : public Tiled {
 public:
  explicit Dmma(const TiledForm& tiles) : Tiled(tiles, TypeFamily::f64, "dmma.cu") {}

  std::vector<Membership> memberships(const MatmulKey& key) const override {
    if (key.elem_lhs != DType::f64) return {};
    return {{"f64", 3}};
  }

 private:
  std::vector<std::string> own_defines() const override {
    return {"WARP_M=" + std::to_string(form().tile_m / form().warps_m),
            "WARP_N=" + std::to_string(form().tile_n / form().warps_n)};
  }
  std::uint32_t shared_bytes(Copies copies) const override {
    const auto row = [](int tile, TileCopyKind kind) {
      const bool terms = kind == TileCopyKind::terms || kind == TileCopyKind::wide_terms;
      return terms ? tile : tile + 4;  // stage_doubles() of dmma.cu
    };
    return static_cast<std::uint32_t>(
        form().stages * form().depth * 8 *
        (row(form().tile_m, copies.a) + row(form().tile_n, copies.b)));
  }
  bool likes_wide_terms() const override { return true; }
};

// In the order of preference at large sizes. Two warps a scheduler and more hide what a barrier
// costs: blocks are small, and several share a multiprocessor.
constexpr TiledForm kForms[] = {
    {"dmma_64x64", 64, 64, 2, 2, 16, 3, 4, false, 0.85, 72},
    {"dmma_64x64_deep", 64, 64, 2, 2, 16, 4, 3, false, 0.82, 0},
    {"dmma_128x64", 128, 64, 2, 2, 16, 3, 2, false, 0.86, 48},
    {"dmma_64x64_8w", 64, 64, 2, 4, 16, 4, 2, false, 0.76, 0},
    {"dmma_64x32", 64, 32, 2, 1, 16, 4, 5, false, 0.81, 0},
    {"dmma_32x32", 32, 32, 1, 1, 16, 3, 8, false, 0.66, 0},
    {"dmma_64x64_split", 64, 64, 2, 2, 16, 3, 4, true, 0.85, 72},
    {"dmma_128x64_split", 128, 64, 2, 2, 16, 3, 2, true, 0.86, 48},
    {"dmma_64x64_8w_split", 64, 64, 2, 4, 16, 4, 2, true, 0.76, 0},
    {"dmma_32x32_split", 32, 32, 1, 1, 16, 3, 8, true, 0.66, 0},
    // Few tiles. With a block or two on a multiprocessor, more warps a tile or more stages hide
    // what more blocks would.
    {"dmma_32x32_k2", 32, 32, 1, 1, 16, 3, 8, false, 0.66, 0, 2},
    {"dmma_32x32_k4", 32, 32, 1, 1, 16, 3, 8, false, 0.66, 0, 4},
    {"dmma_32x32_k8", 32, 32, 1, 1, 16, 3, 8, false, 0.66, 0, 8},
    {"dmma_32x32_4w_k2", 32, 32, 2, 2, 16, 4, 5, false, 0.55, 0, 2},
    {"dmma_32x32_4w_k4", 32, 32, 2, 2, 16, 4, 5, false, 0.55, 0, 4},
    {"dmma_32x32_4w_k8", 32, 32, 2, 2, 16, 4, 5, false, 0.55, 0, 8},
    {"dmma_64x32_k2", 64, 32, 2, 1, 16, 4, 5, false, 0.81, 0, 2},
    {"dmma_64x32_k4", 64, 32, 2, 1, 16, 4, 5, false, 0.81, 0, 4},
    {"dmma_64x64_k2", 64, 64, 2, 2, 16, 4, 3, false, 0.82, 0, 2},
    {"dmma_64x64_k4", 64, 64, 2, 2, 16, 4, 3, false, 0.82, 0, 4},
    {"dmma_64x64_k8", 64, 64, 2, 2, 16, 4, 3, false, 0.82, 0, 8},
    {"dmma_64x64_8w_k2", 64, 64, 2, 4, 16, 4, 2, false, 0.76, 0, 2},
    {"dmma_64x64_8w_k4", 64, 64, 2, 4, 16, 4, 2, false, 0.76, 0, 4},
};

}  // namespace

void add_dmma(CudaCandidates& rows) {
  for (const TiledForm& form : kForms) rows.push_back(std::make_unique<Dmma>(form));
}

}  // namespace rooftune
