// Sampling one id a row from logits, with log-probabilities.
//
//   x_i = (z_i - max) / T,  p_i = exp(x_i) / Z
//
// Sampling law of a row: ids below `sampleLimit` with p_i > 0, then top-k, then top-p of what top-k left, then min-p, then made to sum
// to 1 again. Each of the three keeps a head of the ids ordered by falling logit, equal logits by rising id:
//   top-k   the first k
//   top-p   the shortest head whose probability (among what top-k left) reaches p; 1e-9 of p short of it counts as reached
//   min-p   those with p_i >= minP * (largest p below sampleLimit)
// The id is the first one, by rising id, at which the cumulative probability exceeds the row's uniform number.
// Ids from `sampleLimit` on (rows of the embedding that no token uses) are never sampled but stay in the softmax that
// `fullLogProbability` and `entropy` describe, which is the law a trainer differentiates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel {

struct SamplingBatch {
  const float* logits;  // [B, V]
  std::size_t rows;
  std::size_t vocabulary;
  std::size_t sampleLimit;    // 1..V
  const double* temperature;  // [B]; 0: the largest logit (smallest id of equals), and softmax at temperature 1
  const std::int32_t* topK;   // [B]; 0: off
  const double* topP;         // [B]; 1: off
  const double* minP;         // [B]; 0: off
  const double* uniform;      // [B] in [0, 1)
};

struct SamplingResult {
  std::int32_t* ids;          // [B]; -1: the row has NaN or +infinity, or nothing to sample
  float* logProbability;      // [B] under the sampling law
  float* fullLogProbability;  // [B] under the softmax at this temperature over all V ids
  float* entropy;             // [B] of that softmax, nats
};

void sample(const SamplingBatch& batch, const SamplingResult& result);
void sampleReference(const SamplingBatch& batch, const SamplingResult& result);

}  // namespace satchel
