// The arguments of the kernels of sum.
#ifndef ROOFTUNE_OPS_REDUCE_CUDA_LAUNCH_ARGS_H_
#define ROOFTUNE_OPS_REDUCE_CUDA_LAUNCH_ARGS_H_

namespace rooftune {

inline constexpr int kSumThreads = 256;  // of every block of these kernels

// SumArgs, with the terms of each output cut into chunks.
struct SumLaunchArgs {
  const void* in;
  void* out;
  long long outputs, terms;
  int keep_rank, reduce_rank;
  long long keep_extent[8], in_keep[8], out_keep[8];
  long long reduce_extent[8], in_reduce[8];
  long long chunks, chunk_terms;
  long long first_output;  // sum_check.cu: `outputs` from this one on
  void* partial;  // SumPart or CheckedSumPart for each output and chunk; null: straight to `out`
};

// A sum of some terms: what f64 holds of it, and what rounding took from that.
struct SumPart {
  double value, low;
};

// The same for a check.
struct CheckedSumPart {
  double value, low;
  double magnitude;  // sum of absolute values; NaN when a term is NaN or infinite
  double differs;    // how many terms differ from the first element of the input
};

}  // namespace rooftune

#endif  // ROOFTUNE_OPS_REDUCE_CUDA_LAUNCH_ARGS_H_
