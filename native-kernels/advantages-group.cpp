#include "advantages-group.hpp"

#include <algorithm>
#include <limits>

#include "vector-math.hpp"

namespace satchel {

GroupState judge(const GroupView& group, const AdvantageOptions& options) {
  const bool scores = readsScores(options.rule);
  GroupState state;
  state.means.resize(group.size);
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -lowest;
  for (std::size_t k = 0; k < group.size; ++k) {
    const std::size_t length = scores ? 1 : group.length(k);
    const double* rewards = group.rewards + (scores ? k : group.firsts[k]);
    group.kept[k] = 0;
    if (group.length(k) == 0 || !std::isfinite(group.outcomes[k])) continue;
    const double sum = laneSum(length, [rewards](std::size_t t) { return rewards[t]; });
    // A sum of finite rewards may overflow; a sum with one that is not finite cannot hide it.
    if (!std::isfinite(sum) && !std::all_of(rewards, rewards + length, [](double r) { return std::isfinite(r); })) continue;
    state.means[k] = sum / static_cast<double>(length);
    group.kept[k] = 1;
    state.count += 1;
    lowest = std::min(lowest, group.outcomes[k]);
    highest = std::max(highest, group.outcomes[k]);
  }
  state.flat = state.count > 0 && highest - lowest <= options.flatTolerance;
  // REINFORCE++ compares with the whole batch: there a rollout alone is enough.
  state.skipped = state.count < (options.rule == Rule::reinforce ? 1U : 2U) || (state.flat && options.flatGroups == FlatGroups::skip);
  return state;
}

void processSteps(const GroupView& group, const AdvantageOptions& options, GroupState& state) {
  double sum = 0;
  double steps = 0;
  const bool everyToken = group.stepEnds == nullptr;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.kept[k]) continue;
    if (everyToken) {
      sum += state.means[k] * static_cast<double>(group.length(k));
      steps += static_cast<double>(group.length(k));
      continue;
    }
    for (std::size_t t = 0; t < group.length(k); ++t) {
      if (!group.endsStep(k, t)) continue;
      sum += group.rewards[group.firsts[k] + t];
      steps += 1;
    }
  }
  state.mu = sum / steps;
  double squares = 0;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.kept[k]) continue;
    const double* rewards = group.rewards + group.firsts[k];
    squares += laneSum(group.length(k), [&](std::size_t t) {
      const double difference = rewards[t] - state.mu;
      return everyToken || group.endsStep(k, t) ? difference * difference : 0.0;
    });
  }
  state.sigma = std::sqrt(squares / (options.sample ? steps - 1 : steps));
  if (!state.usable()) return;
  const double inverse = inverseScale(state.sigma, state.flat, options);
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.teaches(k)) continue;
    const double* rewards = group.rewards + group.firsts[k];
    double* out = group.out + group.firsts[k];
    double total = 0;
    for (std::size_t t = group.length(k); t-- > 0;) {
      if (everyToken || group.endsStep(k, t)) total += (rewards[t] - state.mu) * inverse;
      out[t] = clipped(total, options.clip);
    }
  }
}

void minimumCredit(const GroupView& group, const AdvantageOptions& options, GroupState& state) {
  // Credits are written where the advantages will stand.
  std::vector<double> totals(group.size);
  double allCredit = 0;
  double allTokens = 0;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.kept[k]) continue;
    const std::size_t length = group.length(k);
    const double* rewards = group.rewards + group.firsts[k];
    double* credit = group.out + group.firsts[k];
    double worst = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < length; ++t) worst = group.endsStep(k, t) ? std::min(worst, rewards[t]) : worst;
    const double inverse = 1 / options.temperature;
    for (std::size_t t = 0; t < length; ++t) credit[t] = expNonPositive((worst - rewards[t]) * inverse);
    if (group.stepEnds != nullptr) {
      for (std::size_t t = 0; t < length; ++t) credit[t] = group.endsStep(k, t) ? credit[t] : 0;
    }
    const double share = 1 / laneSum(length, [credit](std::size_t t) { return credit[t]; });
    for (std::size_t t = 0; t < length; ++t) credit[t] = credit[t] == 0 ? 0 : credit[t] * share * rewards[t];
    totals[k] = laneSum(length, [credit](std::size_t t) { return credit[t]; });
    allCredit += totals[k];
    allTokens += static_cast<double>(length);
  }
  state.mu = allCredit / static_cast<double>(state.count);
  double squares = 0;
  for (std::size_t k = 0; k < group.size; ++k) squares += group.kept[k] ? (totals[k] - state.mu) * (totals[k] - state.mu) : 0;
  state.sigma = std::sqrt(squares / static_cast<double>(state.count));
  if (!state.usable()) return;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.teaches(k)) continue;
    const double baseline = (allCredit - totals[k]) / (allTokens - static_cast<double>(group.length(k)));
    double* out = group.out + group.firsts[k];
    double total = 0;
    for (std::size_t end = group.length(k); end > 0;) {
      std::size_t start = end - 1;
      while (start > 0 && !group.endsStep(k, start - 1)) --start;
      total += out[end - 1] - baseline * static_cast<double>(end - start);
      std::fill(out + start, out + end, clipped(total, options.clip));
      end = start;
    }
  }
}

void clearTheRest(const GroupView& group, const GroupState& state) {
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!state.usable() || !group.teaches(k)) std::fill(group.out + group.firsts[k], group.out + group.firsts[k] + group.length(k), 0.0);
  }
}

void writeStatistics(const GroupView& group, const GroupState& state, double* statistics) {
  statistics[kMu] = state.mu;
  statistics[kSigma] = state.sigma;
  statistics[kKept] = static_cast<double>(state.count);
  statistics[kDropped] = static_cast<double>(group.size - state.count);
  statistics[kFlat] = state.flat;
  statistics[kSkipped] = !state.usable();
}

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

}  // namespace satchel
