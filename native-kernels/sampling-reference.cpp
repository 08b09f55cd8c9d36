// The law of sampling.hpp as it is written there: sort everything, keep three heads, make it sum to 1, walk the cumulative sum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "sampling.hpp"

namespace satchel {
namespace {

// How many of the ids in `order` (falling logit) the row's top-k, top-p and min-p keep; `p` are probabilities below the limit.
std::size_t keptHead(const std::vector<std::size_t>& order, const std::vector<double>& p, std::size_t topK, double topP, double minP) {
  std::size_t kept = 0;
  while (kept < order.size() && p[order[kept]] > 0) kept += 1;
  if (topK > 0) kept = std::min(kept, topK);
  if (topP < 1) {
    double whole = 0;
    for (std::size_t i = 0; i < kept; ++i) whole += p[order[i]];
    double cumulative = 0;
    std::size_t length = 0;
    while (length < kept && cumulative < topP * whole * (1 - 1e-9)) cumulative += p[order[length++]];
    kept = std::max<std::size_t>(length, 1);
  }
  std::size_t length = 0;
  while (length < kept && p[order[length]] >= minP * p[order[0]]) length += 1;
  return length;
}

// x_i and exp(x_i) of the first `count` logits, relative to their own maximum.
std::vector<double> weights(const float* logits, std::size_t count, double temperature) {
  const double maximum = *std::max_element(logits, logits + count);
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = (logits[i] - maximum) / temperature;
    result[i] = x < -700 ? 0 : std::exp(x);
  }
  return result;
}

void softmax(std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
}

}  // namespace

void sampleReference(const SamplingBatch& batch, const SamplingResult& result) {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const float* logits = batch.logits + row * batch.vocabulary;
    result.ids[row] = -1;
    result.logProbability[row] = result.fullLogProbability[row] = result.entropy[row] = std::numeric_limits<float>::quiet_NaN();
    const bool bad = std::any_of(logits, logits + batch.vocabulary, [](float z) { return std::isnan(z) || z == std::numeric_limits<float>::infinity(); });
    if (bad || std::none_of(logits, logits + batch.sampleLimit, [](float z) { return std::isfinite(z); })) continue;

    const bool greedy = batch.temperature[row] == 0;
    const double temperature = greedy ? 1 : batch.temperature[row];
    std::vector<double> p = weights(logits, batch.sampleLimit, temperature);
    std::vector<double> full = weights(logits, batch.vocabulary, temperature);
    softmax(p);
    softmax(full);
    std::vector<std::size_t> order(batch.sampleLimit);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [logits](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    const std::size_t kept = greedy ? 1 : keptHead(order, p, static_cast<std::size_t>(batch.topK[row]), batch.topP[row], batch.minP[row]);

    std::vector<double> law(batch.sampleLimit, 0.0);
    for (std::size_t i = 0; i < kept; ++i) law[order[i]] = p[order[i]];
    softmax(law);
    std::size_t id = order[0];
    double cumulative = 0;
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] == 0) continue;
      id = i;
      cumulative += law[i];
      if (cumulative > batch.uniform[row]) break;
    }
    double entropy = 0;
    for (const double q : full) entropy -= q > 0 ? q * std::log(q) : 0;
    const double maximum = *std::max_element(logits, logits + batch.vocabulary);
    double sum = 0;
    for (std::size_t i = 0; i < batch.vocabulary; ++i) sum += std::exp((logits[i] - maximum) / temperature);
    result.ids[row] = static_cast<std::int32_t>(id);
    result.logProbability[row] = greedy ? 0.0f : static_cast<float>(std::log(law[id]));
    result.fullLogProbability[row] = static_cast<float>((logits[id] - maximum) / temperature - std::log(sum));
    result.entropy[row] = static_cast<float>(entropy);
  }
}

}  // namespace satchel
