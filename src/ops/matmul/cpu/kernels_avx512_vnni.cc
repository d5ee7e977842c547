// Candidates for AVX-512 with VNNI: dot products of four bytes in a lane.
#define ROOFTUNE_KERNEL_ISA 2

#include "ops/matmul/cpu/packed_dot-inl.h"
#include "ops/matmul/cpu/prepacked_dot-inl.h"
#include "ops/matmul/cpu/row.h"
#include "ops/matmul/cpu/split_k-inl.h"

namespace rooftune {
namespace {

constexpr Blocking k1024 = {.mc = 448, .kc = 1024, .nc = 4096};

constexpr PanelBlocking kPanels512 = {.mc = 448, .kc = 512};
constexpr PanelBlocking kPanels1024 = {.mc = 336, .kc = 1024};

constexpr KernelRow kRows[] = {
    {"packed_dot_avx512_vnni_14x2v",
     "packed_dot",
     {.int8 = packed_dot<ByteQuadDot, 14, 2, k1024>},
     always_legal,
     packed_dot_priority},
    {"packed_dot_avx512_vnni_8x3v",
     "packed_dot",
     {.int8 = packed_dot<ByteQuadDot, 8, 3, k1024>},
     always_legal,
     packed_dot_priority},
    {"split_k_avx512_vnni_14x2v",
     "split_k",
     {.int8 = split_k_on<DotMicro<ByteQuadDot, 14, 2>, k1024>},
     split_k_illegal,
     split_k_priority},
    {"prepacked_dot_avx512_vnni_14x2v_k512",
     "prepacked_dot",
     {.int8 = prepacked_dot<ByteQuadDot, 14, 2, kPanels512>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
    {"prepacked_dot_avx512_vnni_14x2v_k1024",
     "prepacked_dot",
     {.int8 = prepacked_dot<ByteQuadDot, 14, 2, kPanels1024>},
     needs_packed_rhs,
     prepacked_priority,
     Precision::highest,
     RhsForm::panels},
};

}  // namespace

KernelRows avx512_vnni_kernel_rows() { return {kRows, kRows + sizeof(kRows) / sizeof(kRows[0])}; }

}  // namespace rooftune
