// The formulas of advantage-rules.ts, one after another on one thread: what the fast kernel is compared with.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "advantages.hpp"

namespace satchel {
namespace {

struct Rollout {
  std::size_t index;
  std::size_t first;            // of its tokens in the result
  std::vector<double> rewards;  // one a token; a score stands for every token
  std::vector<bool> ends;
};

struct Group {
  std::vector<Rollout> kept;
  bool flat = false;
  bool skipped = false;
  double mu = 0;
  double sigma = 0;
  std::vector<std::vector<double>> advantages;
};

double total(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double divided(double value, double divisor) { return divisor > 0 ? value / divisor : 0; }

double divisorOf(const Group& group, const AdvantageOptions& options) {
  if (group.flat && options.flatGroups == FlatGroups::meanOnly) return 1;
  if (group.flat && options.flatGroups == FlatGroups::sigmaFloor) return std::max(group.sigma, options.sigmaFloor) + options.epsilon;
  return group.sigma + options.epsilon;
}

// BoT-GRPO and, over equal rewards, GRPO, Dr.GRPO and RLOO.
void centre(Group& group, const AdvantageOptions& options) {
  double count = static_cast<double>(group.kept.size());
  if (options.pooled) count = std::accumulate(group.kept.begin(), group.kept.end(), 0.0, [](double sum, const Rollout& rollout) { return sum + static_cast<double>(rollout.rewards.size()); });
  const auto share = [&](const Rollout& rollout) { return 1 / (options.pooled ? count : count * static_cast<double>(rollout.rewards.size())); };
  for (const Rollout& rollout : group.kept) group.mu += total(rollout.rewards) * share(rollout);
  double variance = 0;
  for (const Rollout& rollout : group.kept) {
    for (const double r : rollout.rewards) variance += (r - group.mu) * (r - group.mu) * share(rollout);
  }
  const bool standardised = options.rule == Rule::botGrpo || options.rule == Rule::grpo;
  group.sigma = std::sqrt(standardised && options.sample ? variance * count / (count - 1) : variance);
  const double divisor = standardised ? divisorOf(group, options) : options.rule == Rule::rloo ? (count - 1) / count : 1;
  for (const Rollout& rollout : group.kept) {
    group.advantages.emplace_back();
    for (const double r : rollout.rewards) group.advantages.back().push_back(divided(r - group.mu, divisor));
  }
}

void process(Group& group, const AdvantageOptions& options) {
  std::vector<double> steps;
  for (const Rollout& rollout : group.kept) {
    for (std::size_t t = 0; t < rollout.rewards.size(); ++t) {
      if (rollout.ends[t]) steps.push_back(rollout.rewards[t]);
    }
  }
  const double count = static_cast<double>(steps.size());
  group.mu = total(steps) / count;
  double squares = 0;
  for (const double r : steps) squares += (r - group.mu) * (r - group.mu);
  group.sigma = std::sqrt(squares / (options.sample ? count - 1 : count));
  const double divisor = divisorOf(group, options);
  for (const Rollout& rollout : group.kept) {
    std::vector<double> own(rollout.rewards.size());
    double sum = 0;
    for (std::size_t t = own.size(); t-- > 0;) {
      if (rollout.ends[t]) sum += divided(rollout.rewards[t] - group.mu, divisor);
      own[t] = sum;
    }
    group.advantages.push_back(own);
  }
}

void pure(Group& group, const AdvantageOptions& options) {
  std::vector<std::vector<double>> credits;
  double allCredit = 0;
  double allTokens = 0;
  for (const Rollout& rollout : group.kept) {
    const std::size_t length = rollout.rewards.size();
    double worst = INFINITY;
    for (std::size_t t = 0; t < length; ++t) {
      if (rollout.ends[t]) worst = std::min(worst, rollout.rewards[t]);
    }
    std::vector<double> weights(length);
    for (std::size_t t = 0; t < length; ++t) weights[t] = rollout.ends[t] ? std::exp((worst - rollout.rewards[t]) / options.temperature) : 0;
    const double sum = total(weights);
    for (std::size_t t = 0; t < length; ++t) weights[t] = weights[t] == 0 ? 0 : weights[t] / sum * rollout.rewards[t];
    allCredit += total(weights);
    allTokens += static_cast<double>(length);
    credits.push_back(weights);
  }
  const double count = static_cast<double>(group.kept.size());
  group.mu = allCredit / count;
  double squares = 0;
  for (std::size_t k = 0; k < credits.size(); ++k) {
    const double own = total(credits[k]);
    squares += (own - group.mu) * (own - group.mu);
    const std::size_t length = credits[k].size();
    const double baseline = (allCredit - own) / (allTokens - static_cast<double>(length));
    std::vector<double> advantages(length);
    double sum = 0;
    for (std::size_t end = length; end > 0;) {
      std::size_t start = end - 1;
      while (start > 0 && !group.kept[k].ends[start - 1]) --start;
      sum += credits[k][end - 1] - baseline * static_cast<double>(end - start);
      std::fill(advantages.begin() + static_cast<std::ptrdiff_t>(start), advantages.begin() + static_cast<std::ptrdiff_t>(end), sum);
      end = start;
    }
    group.advantages.push_back(advantages);
  }
  group.sigma = std::sqrt(squares / count);
}

void reinforce(std::vector<Group>& groups, const AdvantageOptions& options) {
  double tokens = 0;
  double sum = 0;
  for (Group& group : groups) {
    if (group.skipped) continue;
    for (const Rollout& rollout : group.kept) {
      std::vector<double> returns(rollout.rewards);
      for (std::size_t t = returns.size() - 1; t-- > 0;) returns[t] += options.discount * returns[t + 1];
      tokens += static_cast<double>(returns.size());
      sum += total(returns);
      group.advantages.push_back(returns);
    }
  }
  const double mu = sum / tokens;
  double squares = 0;
  for (const Group& group : groups) {
    for (const auto& returns : group.advantages) {
      for (const double g : returns) squares += (g - mu) * (g - mu);
    }
  }
  const double variance = squares / (options.sample ? tokens - 1 : tokens);
  for (Group& group : groups) {
    if (group.skipped) continue;
    group.mu = mu;
    group.sigma = std::sqrt(variance);
    for (auto& returns : group.advantages) {
      for (double& g : returns) g = divided(g - mu, std::sqrt(variance + options.epsilon));
    }
  }
}

std::vector<Group> readGroups(const AdvantageBatch& batch, const AdvantageOptions& options) {
  std::vector<Group> groups(batch.groups);
  std::size_t index = 0;
  std::size_t token = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) {
    std::vector<double> outcomes;
    for (std::int32_t k = 0; k < batch.groupSizes[g]; ++k, ++index) {
      const auto length = static_cast<std::size_t>(batch.lengths[index]);
      Rollout rollout{index, token, std::vector<double>(length), std::vector<bool>(length)};
      for (std::size_t t = 0; t < length; ++t) {
        rollout.rewards[t] = batch.rewards[readsScores(options.rule) ? index : token + t];
        rollout.ends[t] = batch.stepEnds == nullptr || t + 1 == length || batch.stepEnds[token + t] != 0;
      }
      token += length;
      if (length == 0 || !std::isfinite(batch.outcomes[index]) || !std::all_of(rollout.rewards.begin(), rollout.rewards.end(), [](double x) { return std::isfinite(x); })) continue;
      outcomes.push_back(batch.outcomes[index]);
      groups[g].kept.push_back(rollout);
    }
    groups[g].flat = !outcomes.empty() && *std::max_element(outcomes.begin(), outcomes.end()) - *std::min_element(outcomes.begin(), outcomes.end()) <= options.flatTolerance;
    groups[g].skipped = outcomes.size() < (options.rule == Rule::reinforce ? 1U : 2U) || (groups[g].flat && options.flatGroups == FlatGroups::skip);
  }
  return groups;
}

}  // namespace

void advantagesReference(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result) {
  std::vector<Group> groups = readGroups(batch, options);
  for (Group& group : groups) {
    if (group.skipped || options.rule == Rule::reinforce) continue;
    if (options.rule == Rule::grpoProcess) process(group, options);
    else if (options.rule == Rule::pure) pure(group, options);
    else centre(group, options);
  }
  if (options.rule == Rule::reinforce) reinforce(groups, options);

  std::size_t rollouts = 0;
  std::size_t tokens = 0;
  for (std::size_t g = 0; g < batch.groups; ++g) rollouts += static_cast<std::size_t>(batch.groupSizes[g]);
  for (std::size_t r = 0; r < rollouts; ++r) tokens += static_cast<std::size_t>(batch.lengths[r]);
  std::fill(result.advantages, result.advantages + tokens, 0.0);
  std::fill(result.kept, result.kept + rollouts, std::uint8_t{0});
  for (std::size_t g = 0; g < batch.groups; ++g) {
    const Group& group = groups[g];
    const bool usable = std::isfinite(group.mu) && std::isfinite(group.sigma);
    for (std::size_t k = 0; k < group.kept.size(); ++k) {
      const Rollout& rollout = group.kept[k];
      result.kept[rollout.index] = 1;
      if (group.skipped || !usable || batch.masked[rollout.index] != 0) continue;
      for (std::size_t t = 0; t < rollout.rewards.size(); ++t) result.advantages[rollout.first + t] = std::min(std::max(group.advantages[k][t], -options.clip), options.clip);
    }
    double* row = result.statistics + g * kStatisticsColumns;
    row[kMu] = group.mu;
    row[kSigma] = group.sigma;
    row[kKept] = static_cast<double>(group.kept.size());
    row[kDropped] = static_cast<double>(static_cast<std::size_t>(batch.groupSizes[g]) - group.kept.size());
    row[kFlat] = group.flat;
    row[kSkipped] = group.skipped || !usable;
  }
}

}  // namespace satchel
