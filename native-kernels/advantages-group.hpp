// What the rules of advantages share: the view of one group, which of its rollouts count, and the rules over steps.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "advantages.hpp"

namespace satchel {

struct GroupView {
  std::size_t size;
  const std::int32_t* lengths;
  const std::size_t* firsts;  // where each rollout's tokens begin
  const double* outcomes;
  const std::uint8_t* masked;
  const double* rewards;
  const std::uint8_t* stepEnds;  // null: every token is a step
  double* out;
  std::uint8_t* kept;

  std::size_t length(std::size_t k) const { return static_cast<std::size_t>(lengths[k]); }
  bool teaches(std::size_t k) const { return kept[k] != 0 && masked[k] == 0; }
  bool endsStep(std::size_t k, std::size_t t) const { return stepEnds == nullptr || t + 1 == length(k) || stepEnds[firsts[k] + t] != 0; }
};

struct GroupState {
  std::size_t count = 0;  // rollouts kept
  bool flat = false;
  bool skipped = false;
  double mu = 0;
  double sigma = 0;
  std::vector<double> means;  // [K] of the kept rollouts' rewards

  bool usable() const { return !skipped && std::isfinite(mu) && std::isfinite(sigma); }
};

/** Marks the rollouts that count and tests the group for flatness. */
GroupState judge(const GroupView& group, const AdvantageOptions& options);

/** GRPO over steps, and PURE: mu, sigma and the advantages of rollouts that teach. */
void processSteps(const GroupView& group, const AdvantageOptions& options, GroupState& state);
void minimumCredit(const GroupView& group, const AdvantageOptions& options, GroupState& state);

/** Zeros for rollouts that do not teach, or for all of a group that is no use. */
void clearTheRest(const GroupView& group, const GroupState& state);
void writeStatistics(const GroupView& group, const GroupState& state, double* statistics);

/** A = (r - mu) * this; 0 stands for "no advantage at all". */
double inverseScale(double sigma, bool flat, const AdvantageOptions& options);

inline double clipped(double value, double clip) {
  const double low = value < -clip ? -clip : value;
  return low > clip ? clip : low;
}

}  // namespace satchel
