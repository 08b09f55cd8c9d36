// The formulas of src-main/engine/policy/advantage-rules.ts in a few passes over each group, in double precision; every pass but the
// first finds the group in the cache. REINFORCE++ alone compares with the whole batch: its sums are taken group by group and added in order.
#include "advantages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "advantages-group.hpp"
#include "thread-pool.hpp"
#include "vector-math.hpp"

namespace satchel {
namespace {

double rolloutSquares(const double* rewards, std::size_t length, double mu) {
  return laneSum(length, [rewards, mu](std::size_t t) {
    const double difference = rewards[t] - mu;
    return difference * difference;
  });
}

void writeScaled(const double* rewards, std::size_t length, double mu, double inverse, double clip, double* out) {
  for (std::size_t t = 0; t < length; ++t) out[t] = clipped((rewards[t] - mu) * inverse, clip);
}

// BoT-GRPO; over scores GRPO, Dr.GRPO and RLOO.
void centre(const GroupView& group, const AdvantageOptions& options, GroupState& state) {
  const bool scores = readsScores(options.rule);
  // What a rollout weighs in mean and variance: 1, or its tokens.
  const auto weight = [&](std::size_t k) { return group.kept[k] == 0 ? 0.0 : options.pooled ? static_cast<double>(group.length(k)) : 1.0; };
  double count = 0;
  double mu = 0;
  for (std::size_t k = 0; k < group.size; ++k) {
    count += weight(k);
    mu += weight(k) * state.means[k];
  }
  state.mu = mu / count;
  double variance = 0;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.kept[k]) continue;
    const std::size_t own = scores ? 1 : group.length(k);
    variance += weight(k) * rolloutSquares(group.rewards + (scores ? k : group.firsts[k]), own, state.mu) / static_cast<double>(own);
  }
  const bool standardised = options.rule == Rule::botGrpo || options.rule == Rule::grpo;
  state.sigma = std::sqrt(variance / (standardised && options.sample ? count - 1 : count));
  if (!state.usable()) return;
  const double inverse = standardised ? inverseScale(state.sigma, state.flat, options) : options.rule == Rule::rloo ? count / (count - 1) : 1;
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.teaches(k)) continue;
    double* out = group.out + group.firsts[k];
    if (scores) std::fill(out, out + group.length(k), clipped((group.rewards[k] - state.mu) * inverse, options.clip));
    else writeScaled(group.rewards + group.firsts[k], group.length(k), state.mu, inverse, options.clip, out);
  }
}

void oneGroup(const GroupView& group, const AdvantageOptions& options, double* statistics) {
  GroupState state = judge(group, options);
  if (!state.skipped) {
    switch (options.rule) {
      case Rule::botGrpo:
      case Rule::grpo:
      case Rule::drGrpo:
      case Rule::rloo: centre(group, options, state); break;
      case Rule::grpoProcess: processSteps(group, options, state); break;
      case Rule::pure: minimumCredit(group, options, state); break;
      case Rule::reinforce: break;
    }
  }
  clearTheRest(group, state);
  writeStatistics(group, state, statistics);
}

template <typename Body>
void forGroups(std::size_t groups, std::size_t tokens, const Body& body) {
  if (tokens >= 32768) return parallelBlocks(groups, body);
  for (std::size_t g = 0; g < groups; ++g) body(g);  // waking a thread costs more than this much work
}

// G_t = r_t + discount G_{t+1} from the end of `kTogether` rollouts at once: each step waits for the one before it, so several chains
// run side by side.
constexpr std::size_t kTogether = 4;

double scanReturns(const double* const* rewards, double* const* out, const std::size_t* lengths, double discount) {
  double after[kTogether] = {};
  double sums[kTogether] = {};
  const auto step = [&](std::size_t j, std::size_t t) {
    after[j] = rewards[j][t] + discount * after[j];
    sums[j] += after[j];
    out[j][t] = after[j];
  };
  const std::size_t common = *std::min_element(lengths, lengths + kTogether);
  for (std::size_t i = 1; i <= common; ++i) {
    for (std::size_t j = 0; j < kTogether; ++j) step(j, lengths[j] - i);
  }
  double sum = 0;
  for (std::size_t j = 0; j < kTogether; ++j) {
    for (std::size_t i = common + 1; i <= lengths[j]; ++i) step(j, lengths[j] - i);
    sum += sums[j];
  }
  return sum;
}

// Returns of every kept rollout into its place in the result; the sum of all, rollout by rollout.
double writeReturns(const GroupView& group, double discount) {
  const double* rewards[kTogether] = {};
  double* out[kTogether] = {};
  std::size_t lengths[kTogether] = {};
  double sum = 0;
  std::size_t waiting = 0;
  const auto flush = [&] {
    std::fill(lengths + waiting, lengths + kTogether, std::size_t{0});
    sum += scanReturns(rewards, out, lengths, discount);
    waiting = 0;
  };
  for (std::size_t k = 0; k < group.size; ++k) {
    if (!group.kept[k]) continue;
    rewards[waiting] = group.rewards + group.firsts[k];
    out[waiting] = group.out + group.firsts[k];
    lengths[waiting++] = group.length(k);
    if (waiting == kTogether) flush();
  }
  if (waiting > 0) flush();
  return sum;
}

void wholeBatch(const std::vector<GroupView>& groups, std::size_t allTokens, const AdvantageOptions& options, double* statistics) {
  struct Part {
    GroupState state;
    double tokens = 0;
    double sum = 0;
    double squares = 0;
  };
  std::vector<Part> parts(groups.size());
  forGroups(groups.size(), allTokens, [&](std::size_t g) {
    Part& part = parts[g];
    part.state = judge(groups[g], options);
    if (part.state.skipped) return;
    const GroupView& group = groups[g];
    part.sum = writeReturns(group, options.discount);
    for (std::size_t k = 0; k < group.size; ++k) part.tokens += group.kept[k] ? static_cast<double>(group.length(k)) : 0;
    for (std::size_t k = 0; k < group.size; ++k) {
      if (group.kept[k]) part.squares += rolloutSquares(group.out + group.firsts[k], group.length(k), part.sum / part.tokens);
    }
  });
  double tokens = 0;
  double sum = 0;
  for (const Part& part : parts) {
    tokens += part.tokens;
    sum += part.sum;
  }
  const double mu = sum / tokens;
  // Distances from the mean of all follow from those from each group's own mean, which were taken while the group was in the cache.
  double squares = 0;
  for (const Part& part : parts) {
    const double apart = part.tokens > 0 ? part.sum / part.tokens - mu : 0;
    squares += part.squares + part.tokens * apart * apart;
  }
  const double variance = squares / (options.sample ? tokens - 1 : tokens);
  const double divisor = std::sqrt(variance + options.epsilon);
  forGroups(groups.size(), allTokens, [&](std::size_t g) {
    GroupState& state = parts[g].state;
    if (!state.skipped) {
      state.mu = mu;
      state.sigma = std::sqrt(variance);
    }
    for (std::size_t k = 0; k < groups[g].size && state.usable(); ++k) {
      double* own = groups[g].out + groups[g].firsts[k];
      if (groups[g].teaches(k)) writeScaled(own, groups[g].length(k), mu, divisor > 0 ? 1 / divisor : 0, options.clip, own);
    }
    clearTheRest(groups[g], state);
    writeStatistics(groups[g], state, statistics + g * kStatisticsColumns);
  });
}

}  // namespace

void advantages(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result) {
  std::size_t rollouts = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) rollouts += static_cast<std::size_t>(batch.groupSizes[g]);
  std::vector<std::size_t> firsts(rollouts);  // of each rollout's tokens in its group
  std::vector<GroupView> groups;
  groups.reserve(batch.groups);
  std::size_t rollout = 0;
  std::size_t token = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) {
    const auto size = static_cast<std::size_t>(batch.groupSizes[g]);
    groups.push_back({size, batch.lengths + rollout, firsts.data() + rollout, batch.outcomes + rollout, batch.masked + rollout,
                      batch.rewards + (readsScores(options.rule) ? rollout : token), batch.stepEnds == nullptr ? nullptr : batch.stepEnds + token,
                      result.advantages + token, result.kept + rollout});
    std::size_t own = 0;
    for (std::size_t k = 0; k < size; ++k, ++rollout) {
      firsts[rollout] = own;
      own += static_cast<std::size_t>(batch.lengths[rollout]);
    }
    token += own;
  }
  if (options.rule == Rule::reinforce) return wholeBatch(groups, token, options, result.statistics);
  forGroups(batch.groups, token, [&](std::size_t g) { oneGroup(groups[g], options, result.statistics + g * kStatisticsColumns); });
}

}  // namespace satchel
