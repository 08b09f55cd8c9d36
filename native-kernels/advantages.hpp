// Advantages of every estimator over a batch of groups. The formulas stand in src-main/engine/policy/advantage-rules.ts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel {

// The order of advantageRules and of flat-group policies in src-main/engine.
enum class Rule : std::int32_t { botGrpo = 0, grpo = 1, drGrpo = 2, rloo = 3, grpoProcess = 4, pure = 5, reinforce = 6 };
enum class FlatGroups : std::int32_t { keep = 0, meanOnly = 1, skip = 2, sigmaFloor = 3 };

struct AdvantageOptions {
  Rule rule;
  FlatGroups flatGroups;
  bool sample;  // deviation over K - 1 instead of K
  bool pooled;  // botGrpo: tokens weigh the same, not rollouts
  double epsilon;
  double sigmaFloor;
  double flatTolerance;
  double clip;         // infinity: none
  double temperature;  // pure
  double discount;     // reinforce
};

/** Whether a rule reads one score a rollout instead of a reward a token. */
inline bool readsScores(Rule rule) { return rule == Rule::grpo || rule == Rule::drGrpo || rule == Rule::rloo; }

struct AdvantageBatch {
  const double* rewards;           // one a token, rollouts one after another; one a rollout where the rule reads scores
  const std::int32_t* lengths;     // [R] tokens of each rollout, 0 allowed
  const std::int32_t* groupSizes;  // [G] rollouts of each group
  const double* outcomes;          // [R]
  const std::uint8_t* masked;      // [R] not 0: counts in mu and sigma, but its advantages are 0
  const std::uint8_t* stepEnds;    // one a token, not 0 where a step ends; null: every token is a step
  std::size_t groups;
};

/** Columns of the statistics matrix [G, 6]. */
enum StatisticsColumn : std::size_t { kMu = 0, kSigma = 1, kKept = 2, kDropped = 3, kFlat = 4, kSkipped = 5, kStatisticsColumns = 6 };

struct AdvantageResult {
  double* advantages;  // one a token
  std::uint8_t* kept;  // [R] 1: the rollout counted in mu and sigma
  double* statistics;  // [G, 6]
};

/** A group is one block of work: its memory stays in the cache for all passes. */
void advantages(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result);

/** The same, written as the formulas stand. */
void advantagesReference(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result);

}  // namespace satchel
