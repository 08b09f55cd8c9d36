// mu      = 1/K sum_k 1/L_k sum_t r_t^k
// sigma^2 = 1/K sum_k 1/L_k sum_t (r_t^k - mu)^2
// A_t^k   = (r_t^k - mu) / (sigma + eps)
// Three passes over a group (mean, variance, write) in double precision; the second and third find it in the cache.
#include "advantages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thread-pool.hpp"
#include "vector-math.hpp"

namespace satchel {
namespace {

struct Group {
  std::size_t size;
  const std::int32_t* lengths;
  const double* outcomes;
  const std::uint8_t* masked;
  const double* rewards;
  double* out;
  std::uint8_t* kept;
};

double rolloutMean(const double* rewards, std::size_t length, bool perToken) {
  if (!perToken) return rewards[0];
  return laneSum(length, [rewards](std::size_t t) { return rewards[t]; }) / static_cast<double>(length);
}

double rolloutVariance(const double* rewards, std::size_t length, double mu, bool perToken) {
  const auto square = [rewards, mu](std::size_t t) {
    const double difference = rewards[t] - mu;
    return difference * difference;
  };
  return perToken ? laneSum(length, square) / static_cast<double>(length) : square(0);
}

void writeRollout(const double* rewards, std::size_t length, double mu, double inverse, double clip, bool perToken, double* out) {
  if (!perToken) {
    std::fill(out, out + length, std::min(std::max((rewards[0] - mu) * inverse, -clip), clip));
    return;
  }
  for (std::size_t t = 0; t < length; ++t) {
    const double advantage = (rewards[t] - mu) * inverse;
    const double low = advantage < -clip ? -clip : advantage;
    out[t] = low > clip ? clip : low;
  }
}

// A = (r - mu) * inverse; 0 stands for "no advantage at all".
double inverseScale(double sigma, bool flat, const AdvantageOptions& options) {
  double used = sigma;
  if (flat) {
    switch (options.flatGroups) {
      case FlatGroups::keep: break;
      case FlatGroups::meanOnly: return 1;
      case FlatGroups::skip: return 0;
      case FlatGroups::sigmaFloor: used = std::max(sigma, options.sigmaFloor); break;
    }
  }
  const double divisor = used + options.epsilon;
  return divisor > 0 ? 1 / divisor : 0;
}

void oneGroup(const Group& group, const AdvantageOptions& options, double* statistics) {
  const bool perToken = options.estimator == Estimator::botGrpo;
  const auto step = [&group, perToken](std::size_t k) { return perToken ? static_cast<std::size_t>(group.lengths[k]) : 1; };

  std::uint8_t* kept = group.kept;
  std::fill(kept, kept + group.size, std::uint8_t{0});
  std::size_t count = 0;
  double mu = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  const double* rewards = group.rewards;
  for (std::size_t k = 0; k < group.size; rewards += step(k), ++k) {
    const auto length = static_cast<std::size_t>(group.lengths[k]);
    if (length == 0) continue;
    const double mean = rolloutMean(rewards, length, perToken);  // not finite as soon as one reward is not
    if (!std::isfinite(mean) || !std::isfinite(group.outcomes[k])) continue;
    kept[k] = 1;
    count += 1;
    mu += mean;
    lowest = std::min(lowest, group.outcomes[k]);
    highest = std::max(highest, group.outcomes[k]);
  }
  mu = count > 0 ? mu / static_cast<double>(count) : 0;

  double variance = 0;
  rewards = group.rewards;
  for (std::size_t k = 0; k < group.size; rewards += step(k), ++k) {
    if (kept[k]) variance += rolloutVariance(rewards, static_cast<std::size_t>(group.lengths[k]), mu, perToken);
  }
  const double sigma = count > 0 ? std::sqrt(variance / static_cast<double>(count)) : 0;

  const bool flat = count > 0 && highest - lowest <= options.flatTolerance;
  const bool skipped = count < 2 || !std::isfinite(mu) || !std::isfinite(sigma) || (flat && options.flatGroups == FlatGroups::skip);
  const double inverse = skipped ? 0 : inverseScale(sigma, flat, options);

  rewards = group.rewards;
  double* out = group.out;
  for (std::size_t k = 0; k < group.size; rewards += step(k), ++k) {
    const auto length = static_cast<std::size_t>(group.lengths[k]);
    if (kept[k] && !group.masked[k] && inverse > 0) {
      writeRollout(rewards, length, mu, inverse, options.clip, perToken, out);
    } else {
      std::fill(out, out + length, 0.0);
    }
    out += length;
  }

  statistics[kMu] = mu;
  statistics[kSigma] = sigma;
  statistics[kKept] = static_cast<double>(count);
  statistics[kDropped] = static_cast<double>(group.size - count);
  statistics[kFlat] = flat;
  statistics[kSkipped] = skipped;
}

}  // namespace

void advantages(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result) {
  std::vector<Group> groups;
  groups.reserve(batch.groups);
  std::size_t rollout = 0;
  std::size_t token = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) {
    const auto size = static_cast<std::size_t>(batch.groupSizes[g]);
    const double* rewards = batch.rewards + (options.estimator == Estimator::botGrpo ? token : rollout);
    groups.push_back({size, batch.lengths + rollout, batch.outcomes + rollout, batch.masked + rollout, rewards, result.advantages + token,
                      result.kept + rollout});
    for (std::size_t k = 0; k < size; ++k) token += static_cast<std::size_t>(batch.lengths[rollout + k]);
    rollout += size;
  }
  const auto body = [&](std::size_t g) { oneGroup(groups[g], options, result.statistics + g * kStatisticsColumns); };
  if (token < 32768) {  // waking a thread costs more than this much work
    for (std::size_t g = 0; g < batch.groups; ++g) body(g);
  } else {
    parallelBlocks(batch.groups, body);
  }
}

}  // namespace satchel
