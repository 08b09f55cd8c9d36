// The formulas of advantages.hpp, one after another on one thread: what the fast kernel is compared with.
#include <algorithm>
#include <cmath>
#include <vector>

#include "advantages.hpp"

namespace satchel {

void advantagesReference(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result) {
  std::size_t rollout = 0;
  std::size_t reward = 0;
  std::size_t token = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) {
    const auto size = static_cast<std::size_t>(batch.groupSizes[g]);
    std::vector<std::vector<double>> r(size);  // token rewards; a GRPO score stands for every token of its rollout
    std::vector<bool> kept(size);
    std::vector<double> outcomes;
    for (std::size_t k = 0; k < size; ++k) {
      const auto length = static_cast<std::size_t>(batch.lengths[rollout + k]);
      if (options.estimator == Estimator::botGrpo) {
        r[k].assign(batch.rewards + reward, batch.rewards + reward + length);
        reward += length;
      } else {
        r[k].assign(length, batch.rewards[reward]);
        reward += 1;
      }
      kept[k] = length > 0 && std::isfinite(batch.outcomes[rollout + k]) && std::all_of(r[k].begin(), r[k].end(), [](double x) { return std::isfinite(x); });
      result.kept[rollout + k] = kept[k];
      if (kept[k]) outcomes.push_back(batch.outcomes[rollout + k]);
    }
    const double count = static_cast<double>(outcomes.size());

    double mu = 0;
    for (std::size_t k = 0; k < size; ++k) {
      for (const double x : r[k]) {
        if (kept[k]) mu += x / (count * static_cast<double>(r[k].size()));
      }
    }
    double variance = 0;
    for (std::size_t k = 0; k < size; ++k) {
      for (const double x : r[k]) {
        if (kept[k]) variance += (x - mu) * (x - mu) / (count * static_cast<double>(r[k].size()));
      }
    }
    const double sigma = std::sqrt(variance);

    const bool flat = count > 0 && *std::max_element(outcomes.begin(), outcomes.end()) - *std::min_element(outcomes.begin(), outcomes.end()) <= options.flatTolerance;
    const bool skipped = count < 2 || !std::isfinite(sigma) || (flat && options.flatGroups == FlatGroups::skip);
    double divisor = sigma + options.epsilon;
    if (flat && options.flatGroups == FlatGroups::meanOnly) divisor = 1;
    if (flat && options.flatGroups == FlatGroups::sigmaFloor) divisor = std::max(sigma, options.sigmaFloor) + options.epsilon;
    for (std::size_t k = 0; k < size; ++k) {
      for (const double x : r[k]) {
        const bool counts = !skipped && kept[k] && batch.masked[rollout + k] == 0 && divisor > 0;
        result.advantages[token++] = counts ? std::min(std::max((x - mu) / divisor, -options.clip), options.clip) : 0;
      }
    }

    double* row = result.statistics + g * kStatisticsColumns;
    row[kMu] = mu;
    row[kSigma] = sigma;
    row[kKept] = count;
    row[kDropped] = static_cast<double>(size) - count;
    row[kFlat] = flat;
    row[kSkipped] = skipped;
    rollout += size;
  }
}

}  // namespace satchel
