// What Hopper has and no other architecture: bulk tensor copies over mbarriers, clusters
// (cluster.cuh), wgmma.
// Thin wrappers over PTX; the toolkit's headers are not there at run time. An includer that
// multiplies defines before this header
//   WGMMA_N       columns of an instruction: a multiple of 8 up to 256 (of 16 above 32 for bytes)
//   WGMMA_A, _B   PTX names of the operands' types: bf16, f16, tf32, e4m3, e5m2, s8, u8
//   WGMMA_BYTES   of an element: 4, 2 or 1
//   WGMMA_INT     1: sums are s32
//   A_MN, B_MN    1: the operand's m (or n) axis is contiguous; only for 2-byte types
#ifndef ROOFTUNE_DEVICE_CUDA_HOPPER_CUH_
#define ROOFTUNE_DEVICE_CUDA_HOPPER_CUH_

#include "device/cuda/cluster.cuh"
#include "device/cuda/tensor_map.h"
#include "device/cuda/types.cuh"

using rooftune::TensorMap;

#define ROOFTUNE_DEVICE __device__ __forceinline__

ROOFTUNE_DEVICE uint32 shared_address(const void* p) {
  return static_cast<uint32>(__cvta_generic_to_shared(p));
}

// True in one lane of a converged warp.
ROOFTUNE_DEVICE bool elect_one() {
  uint32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
}

// --- mbarriers, by shared address. A wait is for the end of the phase of that parity.
ROOFTUNE_DEVICE void barrier_init(uint32 barrier, uint32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// After the last init, before the barriers are used by other blocks or by copies.
ROOFTUNE_DEVICE void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
ROOFTUNE_DEVICE void barrier_arrive(uint32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// At the same barrier of another block of the cluster. It orders nothing but this block's reads of
// what copies brought: a release to the whole cluster would wait for all memory operations.
ROOFTUNE_DEVICE void barrier_arrive_remote(uint32 barrier, uint32 block) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
ROOFTUNE_DEVICE void barrier_arrive_expect(uint32 barrier, uint32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
ROOFTUNE_DEVICE bool barrier_try(uint32 barrier, uint32 parity) {
  uint32 done;
  asm volatile(
      "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
ROOFTUNE_DEVICE void barrier_wait(uint32 barrier, uint32 parity) {
  while (!barrier_try(barrier, parity)) {
  }
}
// --- Named barriers, 1 to 15 (0 is __syncthreads): `threads` of them sync or arrive.
ROOFTUNE_DEVICE void named_sync(uint32 id, uint32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
ROOFTUNE_DEVICE void named_arrive(uint32 id, uint32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// --- Registers of a warpgroup, a multiple of 8; all its warps execute it.
template <int count>
ROOFTUNE_DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
ROOFTUNE_DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// Orders memory between this thread and those of other blocks; __threadfence() would order it among
// all threads, which takes longer.
ROOFTUNE_DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Ordinary writes to shared memory before this are seen by copies and wgmma after it.
ROOFTUNE_DEVICE void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- Bulk tensor copies: by one thread. How the level-2 cache is to treat what was loaded: the
// encoded policies are those that createpolicy.fractional gives for a fraction of 1.
enum : uint64 {
  kEvictNormal = 0x1000000000000000ull,
  kEvictFirst = 0x12f0000000000000ull,
  kEvictLast = 0x14f0000000000000ull,
};

ROOFTUNE_DEVICE void tma_prefetch(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
ROOFTUNE_DEVICE void tma_load(uint32 to, const TensorMap* map, uint32 barrier, uint64 policy,
                              int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load(uint32 to, const TensorMap* map, uint32 barrier, uint64 policy,
                              int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load(uint32 to, const TensorMap* map, uint32 barrier, uint64 policy,
                              int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load(uint32 to, const TensorMap* map, uint32 barrier, uint64 policy,
                              int c0, int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "l"(policy)
      : "memory");
}
// The same for every block whose bit is in `blocks`: to the same address, its barrier counts.
ROOFTUNE_DEVICE void tma_load_multicast(uint32 to, const TensorMap* map, uint32 barrier,
                                        uint64 policy, uint16 blocks, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "h"(blocks), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load_multicast(uint32 to, const TensorMap* map, uint32 barrier,
                                        uint64 policy, uint16 blocks, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "h"(blocks), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load_multicast(uint32 to, const TensorMap* map, uint32 barrier,
                                        uint64 policy, uint16 blocks, int c0, int c1, int c2,
                                        int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "h"(blocks), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_load_multicast(uint32 to, const TensorMap* map, uint32 barrier,
                                        uint64 policy, uint16 blocks, int c0, int c1, int c2,
                                        int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8, %9;" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4), "h"(blocks), "l"(policy)
      : "memory");
}
ROOFTUNE_DEVICE void tma_store(const TensorMap* map, uint32 from, int c0, int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(from), "r"(c0), "r"(c1)
      : "memory");
}
ROOFTUNE_DEVICE void tma_store(const TensorMap* map, uint32 from, int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}
ROOFTUNE_DEVICE void tma_store(const TensorMap* map, uint32 from, int c0, int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(
          map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
ROOFTUNE_DEVICE void tma_store(const TensorMap* map, uint32 from, int c0, int c1, int c2, int c3,
                               int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::
          "l"(map),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}
ROOFTUNE_DEVICE void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// At most `pending` of this thread's groups still read shared memory.
template <int pending>
ROOFTUNE_DEVICE void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// --- 8 x 8 matrices of 16-bit elements from a warp's registers to shared memory: lane 8 i + r
// gives the address of row r of matrix i; turned, of its column r.
template <bool turned>
ROOFTUNE_DEVICE void store_matrices(uint32 address, uint32 m0, uint32 m1) {
  if (turned) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
                 "r"(m0), "r"(m1)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(m0),
                 "r"(m1)
                 : "memory");
  }
}
template <bool turned>
ROOFTUNE_DEVICE void store_matrices(uint32 address, uint32 m0, uint32 m1, uint32 m2, uint32 m3) {
  if (turned) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
        "r"(m0), "r"(m1), "r"(m2), "r"(m3)
        : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(m0), "r"(m1), "r"(m2), "r"(m3)
                 : "memory");
  }
}

// --- wgmma.
// Operands lie in 128-byte rows, swizzled as the copies do it, at multiples of 1024 bytes. k-major:
// a row is one of m (or n), 8 rows make an atom of 1024 bytes. Else: a row is one of k with 64
// elements of m (or n); `group_bytes` leads to the next 64 of them.
ROOFTUNE_DEVICE uint64 wgmma_operand(uint32 address, uint32 group_bytes = 16) {
  return (uint64(1) << 62) | (uint64(1024 >> 4) << 32) | (uint64(group_bytes >> 4) << 16) |
         ((address & 0x3ffff) >> 4);
}
ROOFTUNE_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
ROOFTUNE_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending>
ROOFTUNE_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#ifdef WGMMA_N
#define WGMMA_PASTE_(a, b) a##b
#define WGMMA_PASTE(a, b) WGMMA_PASTE_(a, b)
#define WGMMA_TEXT_(a) #a
#define WGMMA_TEXT(a) WGMMA_TEXT_(a)

// An instruction's sums by number, and the numbers of what follows them, by WGMMA_N.
#define WGMMA_SUMS_8 "%0,%1,%2,%3"
#define WGMMA_SUMS_16 WGMMA_SUMS_8 ",%4,%5,%6,%7"
#define WGMMA_SUMS_24 WGMMA_SUMS_16 ",%8,%9,%10,%11"
#define WGMMA_SUMS_32 WGMMA_SUMS_24 ",%12,%13,%14,%15"
#define WGMMA_SUMS_40 WGMMA_SUMS_32 ",%16,%17,%18,%19"
#define WGMMA_SUMS_48 WGMMA_SUMS_40 ",%20,%21,%22,%23"
#define WGMMA_SUMS_56 WGMMA_SUMS_48 ",%24,%25,%26,%27"
#define WGMMA_SUMS_64 WGMMA_SUMS_56 ",%28,%29,%30,%31"
#define WGMMA_SUMS_72 WGMMA_SUMS_64 ",%32,%33,%34,%35"
#define WGMMA_SUMS_80 WGMMA_SUMS_72 ",%36,%37,%38,%39"
#define WGMMA_SUMS_88 WGMMA_SUMS_80 ",%40,%41,%42,%43"
#define WGMMA_SUMS_96 WGMMA_SUMS_88 ",%44,%45,%46,%47"
#define WGMMA_SUMS_104 WGMMA_SUMS_96 ",%48,%49,%50,%51"
#define WGMMA_SUMS_112 WGMMA_SUMS_104 ",%52,%53,%54,%55"
#define WGMMA_SUMS_120 WGMMA_SUMS_112 ",%56,%57,%58,%59"
#define WGMMA_SUMS_128 WGMMA_SUMS_120 ",%60,%61,%62,%63"
#define WGMMA_SUMS_136 WGMMA_SUMS_128 ",%64,%65,%66,%67"
#define WGMMA_SUMS_144 WGMMA_SUMS_136 ",%68,%69,%70,%71"
#define WGMMA_SUMS_152 WGMMA_SUMS_144 ",%72,%73,%74,%75"
#define WGMMA_SUMS_160 WGMMA_SUMS_152 ",%76,%77,%78,%79"
#define WGMMA_SUMS_168 WGMMA_SUMS_160 ",%80,%81,%82,%83"
#define WGMMA_SUMS_176 WGMMA_SUMS_168 ",%84,%85,%86,%87"
#define WGMMA_SUMS_184 WGMMA_SUMS_176 ",%88,%89,%90,%91"
#define WGMMA_SUMS_192 WGMMA_SUMS_184 ",%92,%93,%94,%95"
#define WGMMA_SUMS_200 WGMMA_SUMS_192 ",%96,%97,%98,%99"
#define WGMMA_SUMS_208 WGMMA_SUMS_200 ",%100,%101,%102,%103"
#define WGMMA_SUMS_216 WGMMA_SUMS_208 ",%104,%105,%106,%107"
#define WGMMA_SUMS_224 WGMMA_SUMS_216 ",%108,%109,%110,%111"
#define WGMMA_SUMS_232 WGMMA_SUMS_224 ",%112,%113,%114,%115"
#define WGMMA_SUMS_240 WGMMA_SUMS_232 ",%116,%117,%118,%119"
#define WGMMA_SUMS_248 WGMMA_SUMS_240 ",%120,%121,%122,%123"
#define WGMMA_SUMS_256 WGMMA_SUMS_248 ",%124,%125,%126,%127"
#define WGMMA_NEXT_8 "}, %4, %5, p"
#define WGMMA_ADD_8 "%6"
#define WGMMA_NEXT_16 "}, %8, %9, p"
#define WGMMA_ADD_16 "%10"
#define WGMMA_NEXT_24 "}, %12, %13, p"
#define WGMMA_ADD_24 "%14"
#define WGMMA_NEXT_32 "}, %16, %17, p"
#define WGMMA_ADD_32 "%18"
#define WGMMA_NEXT_40 "}, %20, %21, p"
#define WGMMA_ADD_40 "%22"
#define WGMMA_NEXT_48 "}, %24, %25, p"
#define WGMMA_ADD_48 "%26"
#define WGMMA_NEXT_56 "}, %28, %29, p"
#define WGMMA_ADD_56 "%30"
#define WGMMA_NEXT_64 "}, %32, %33, p"
#define WGMMA_ADD_64 "%34"
#define WGMMA_NEXT_72 "}, %36, %37, p"
#define WGMMA_ADD_72 "%38"
#define WGMMA_NEXT_80 "}, %40, %41, p"
#define WGMMA_ADD_80 "%42"
#define WGMMA_NEXT_88 "}, %44, %45, p"
#define WGMMA_ADD_88 "%46"
#define WGMMA_NEXT_96 "}, %48, %49, p"
#define WGMMA_ADD_96 "%50"
#define WGMMA_NEXT_104 "}, %52, %53, p"
#define WGMMA_ADD_104 "%54"
#define WGMMA_NEXT_112 "}, %56, %57, p"
#define WGMMA_ADD_112 "%58"
#define WGMMA_NEXT_120 "}, %60, %61, p"
#define WGMMA_ADD_120 "%62"
#define WGMMA_NEXT_128 "}, %64, %65, p"
#define WGMMA_ADD_128 "%66"
#define WGMMA_NEXT_136 "}, %68, %69, p"
#define WGMMA_ADD_136 "%70"
#define WGMMA_NEXT_144 "}, %72, %73, p"
#define WGMMA_ADD_144 "%74"
#define WGMMA_NEXT_152 "}, %76, %77, p"
#define WGMMA_ADD_152 "%78"
#define WGMMA_NEXT_160 "}, %80, %81, p"
#define WGMMA_ADD_160 "%82"
#define WGMMA_NEXT_168 "}, %84, %85, p"
#define WGMMA_ADD_168 "%86"
#define WGMMA_NEXT_176 "}, %88, %89, p"
#define WGMMA_ADD_176 "%90"
#define WGMMA_NEXT_184 "}, %92, %93, p"
#define WGMMA_ADD_184 "%94"
#define WGMMA_NEXT_192 "}, %96, %97, p"
#define WGMMA_ADD_192 "%98"
#define WGMMA_NEXT_200 "}, %100, %101, p"
#define WGMMA_ADD_200 "%102"
#define WGMMA_NEXT_208 "}, %104, %105, p"
#define WGMMA_ADD_208 "%106"
#define WGMMA_NEXT_216 "}, %108, %109, p"
#define WGMMA_ADD_216 "%110"
#define WGMMA_NEXT_224 "}, %112, %113, p"
#define WGMMA_ADD_224 "%114"
#define WGMMA_NEXT_232 "}, %116, %117, p"
#define WGMMA_ADD_232 "%118"
#define WGMMA_NEXT_240 "}, %120, %121, p"
#define WGMMA_ADD_240 "%122"
#define WGMMA_NEXT_248 "}, %124, %125, p"
#define WGMMA_ADD_248 "%126"
#define WGMMA_NEXT_256 "}, %128, %129, p"
#define WGMMA_ADD_256 "%130"
#define WGMMA_OUT_8 WGMMA_SUM(d[0]), WGMMA_SUM(d[1]), WGMMA_SUM(d[2]), WGMMA_SUM(d[3])
#define WGMMA_OUT_16 WGMMA_OUT_8, WGMMA_SUM(d[4]), WGMMA_SUM(d[5]), WGMMA_SUM(d[6]), WGMMA_SUM(d[7])
#define WGMMA_OUT_24 \
  WGMMA_OUT_16, WGMMA_SUM(d[8]), WGMMA_SUM(d[9]), WGMMA_SUM(d[10]), WGMMA_SUM(d[11])
#define WGMMA_OUT_32 \
  WGMMA_OUT_24, WGMMA_SUM(d[12]), WGMMA_SUM(d[13]), WGMMA_SUM(d[14]), WGMMA_SUM(d[15])
#define WGMMA_OUT_40 \
  WGMMA_OUT_32, WGMMA_SUM(d[16]), WGMMA_SUM(d[17]), WGMMA_SUM(d[18]), WGMMA_SUM(d[19])
#define WGMMA_OUT_48 \
  WGMMA_OUT_40, WGMMA_SUM(d[20]), WGMMA_SUM(d[21]), WGMMA_SUM(d[22]), WGMMA_SUM(d[23])
#define WGMMA_OUT_56 \
  WGMMA_OUT_48, WGMMA_SUM(d[24]), WGMMA_SUM(d[25]), WGMMA_SUM(d[26]), WGMMA_SUM(d[27])
#define WGMMA_OUT_64 \
  WGMMA_OUT_56, WGMMA_SUM(d[28]), WGMMA_SUM(d[29]), WGMMA_SUM(d[30]), WGMMA_SUM(d[31])
#define WGMMA_OUT_72 \
  WGMMA_OUT_64, WGMMA_SUM(d[32]), WGMMA_SUM(d[33]), WGMMA_SUM(d[34]), WGMMA_SUM(d[35])
#define WGMMA_OUT_80 \
  WGMMA_OUT_72, WGMMA_SUM(d[36]), WGMMA_SUM(d[37]), WGMMA_SUM(d[38]), WGMMA_SUM(d[39])
#define WGMMA_OUT_88 \
  WGMMA_OUT_80, WGMMA_SUM(d[40]), WGMMA_SUM(d[41]), WGMMA_SUM(d[42]), WGMMA_SUM(d[43])
#define WGMMA_OUT_96 \
  WGMMA_OUT_88, WGMMA_SUM(d[44]), WGMMA_SUM(d[45]), WGMMA_SUM(d[46]), WGMMA_SUM(d[47])
#define WGMMA_OUT_104 \
  WGMMA_OUT_96, WGMMA_SUM(d[48]), WGMMA_SUM(d[49]), WGMMA_SUM(d[50]), WGMMA_SUM(d[51])
#define WGMMA_OUT_112 \
  WGMMA_OUT_104, WGMMA_SUM(d[52]), WGMMA_SUM(d[53]), WGMMA_SUM(d[54]), WGMMA_SUM(d[55])
#define WGMMA_OUT_120 \
  WGMMA_OUT_112, WGMMA_SUM(d[56]), WGMMA_SUM(d[57]), WGMMA_SUM(d[58]), WGMMA_SUM(d[59])
#define WGMMA_OUT_128 \
  WGMMA_OUT_120, WGMMA_SUM(d[60]), WGMMA_SUM(d[61]), WGMMA_SUM(d[62]), WGMMA_SUM(d[63])
#define WGMMA_OUT_136 \
  WGMMA_OUT_128, WGMMA_SUM(d[64]), WGMMA_SUM(d[65]), WGMMA_SUM(d[66]), WGMMA_SUM(d[67])
#define WGMMA_OUT_144 \
  WGMMA_OUT_136, WGMMA_SUM(d[68]), WGMMA_SUM(d[69]), WGMMA_SUM(d[70]), WGMMA_SUM(d[71])
#define WGMMA_OUT_152 \
  WGMMA_OUT_144, WGMMA_SUM(d[72]), WGMMA_SUM(d[73]), WGMMA_SUM(d[74]), WGMMA_SUM(d[75])
#define WGMMA_OUT_160 \
  WGMMA_OUT_152, WGMMA_SUM(d[76]), WGMMA_SUM(d[77]), WGMMA_SUM(d[78]), WGMMA_SUM(d[79])
#define WGMMA_OUT_168 \
  WGMMA_OUT_160, WGMMA_SUM(d[80]), WGMMA_SUM(d[81]), WGMMA_SUM(d[82]), WGMMA_SUM(d[83])
#define WGMMA_OUT_176 \
  WGMMA_OUT_168, WGMMA_SUM(d[84]), WGMMA_SUM(d[85]), WGMMA_SUM(d[86]), WGMMA_SUM(d[87])
#define WGMMA_OUT_184 \
  WGMMA_OUT_176, WGMMA_SUM(d[88]), WGMMA_SUM(d[89]), WGMMA_SUM(d[90]), WGMMA_SUM(d[91])
#define WGMMA_OUT_192 \
  WGMMA_OUT_184, WGMMA_SUM(d[92]), WGMMA_SUM(d[93]), WGMMA_SUM(d[94]), WGMMA_SUM(d[95])
#define WGMMA_OUT_200 \
  WGMMA_OUT_192, WGMMA_SUM(d[96]), WGMMA_SUM(d[97]), WGMMA_SUM(d[98]), WGMMA_SUM(d[99])
#define WGMMA_OUT_208 \
  WGMMA_OUT_200, WGMMA_SUM(d[100]), WGMMA_SUM(d[101]), WGMMA_SUM(d[102]), WGMMA_SUM(d[103])
#define WGMMA_OUT_216 \
  WGMMA_OUT_208, WGMMA_SUM(d[104]), WGMMA_SUM(d[105]), WGMMA_SUM(d[106]), WGMMA_SUM(d[107])
#define WGMMA_OUT_224 \
  WGMMA_OUT_216, WGMMA_SUM(d[108]), WGMMA_SUM(d[109]), WGMMA_SUM(d[110]), WGMMA_SUM(d[111])
#define WGMMA_OUT_232 \
  WGMMA_OUT_224, WGMMA_SUM(d[112]), WGMMA_SUM(d[113]), WGMMA_SUM(d[114]), WGMMA_SUM(d[115])
#define WGMMA_OUT_240 \
  WGMMA_OUT_232, WGMMA_SUM(d[116]), WGMMA_SUM(d[117]), WGMMA_SUM(d[118]), WGMMA_SUM(d[119])
#define WGMMA_OUT_248 \
  WGMMA_OUT_240, WGMMA_SUM(d[120]), WGMMA_SUM(d[121]), WGMMA_SUM(d[122]), WGMMA_SUM(d[123])
#define WGMMA_OUT_256 \
  WGMMA_OUT_248, WGMMA_SUM(d[124]), WGMMA_SUM(d[125]), WGMMA_SUM(d[126]), WGMMA_SUM(d[127])

#if WGMMA_INT
#define WGMMA_SUM(x) "+r"(x)
#define WGMMA_SUM_TYPE "s32"
#define WGMMA_TAIL ""
using WgmmaSum = int;
#else
#define WGMMA_SUM(x) "+f"(x)
#define WGMMA_SUM_TYPE "f32"
using WgmmaSum = float;
#if WGMMA_BYTES == 2
#define WGMMA_TAIL ", 1, 1, " WGMMA_TEXT(A_MN) ", " WGMMA_TEXT(B_MN)
#else
#define WGMMA_TAIL ", 1, 1"
#endif
#endif
#if WGMMA_BYTES == 4
#define WGMMA_K "8"
#elif WGMMA_BYTES == 2
#define WGMMA_K "16"
#else
#define WGMMA_K "32"
#endif

// 64 rows: d = a b, or d += a b. 32 bytes of k. d[4j], d[4j + 1] are columns 8j + 2 (lane % 4) and
// the next, of row 16 warp + lane / 4; d[4j + 2] and d[4j + 3] the same 8 rows below.
ROOFTUNE_DEVICE void wgmma(WgmmaSum (&d)[WGMMA_N / 2], uint64 a, uint64 b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, " WGMMA_PASTE(WGMMA_ADD_, WGMMA_N) ", 0;\n"
      "wgmma.mma_async.sync.aligned.m64n" WGMMA_TEXT(WGMMA_N) "k" WGMMA_K "." WGMMA_SUM_TYPE
      "." WGMMA_TEXT(WGMMA_A) "." WGMMA_TEXT(WGMMA_B) " {" WGMMA_PASTE(WGMMA_SUMS_, WGMMA_N)
      WGMMA_PASTE(WGMMA_NEXT_, WGMMA_N) WGMMA_TAIL ";\n}"
      : WGMMA_PASTE(WGMMA_OUT_, WGMMA_N)
      : "l"(a), "l"(b), "r"(add));
}
#endif  // WGMMA_N

#endif  // ROOFTUNE_DEVICE_CUDA_HOPPER_CUH_
