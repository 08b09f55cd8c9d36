// Group advantages of BoT-GRPO (arXiv 2610.09804) and GRPO (arXiv 2402.03300) over a batch of groups.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel {

enum class Estimator : std::int32_t { botGrpo = 0, grpo = 1 };
enum class FlatGroups : std::int32_t { keep = 0, meanOnly = 1, skip = 2, sigmaFloor = 3 };

struct AdvantageOptions {
  Estimator estimator;
  FlatGroups flatGroups;
  double epsilon;
  double sigmaFloor;
  double flatTolerance;
  double clip;  // infinity: none
};

struct AdvantageBatch {
  const double* rewards;           // botGrpo: one a token, rollouts one after another; grpo: one a rollout
  const std::int32_t* lengths;     // [R] tokens of each rollout, 0 allowed
  const std::int32_t* groupSizes;  // [G] rollouts of each group
  const double* outcomes;          // [R]
  const std::uint8_t* masked;      // [R] not 0: counts in mu and sigma, but its advantages are 0
  std::size_t groups;
};

/** Columns of the statistics matrix [G, 6]. */
enum StatisticsColumn : std::size_t { kMu = 0, kSigma = 1, kKept = 2, kDropped = 3, kFlat = 4, kSkipped = 5, kStatisticsColumns = 6 };

struct AdvantageResult {
  double* advantages;  // one a token
  std::uint8_t* kept;  // [R] 1: the rollout counted in mu and sigma
  double* statistics;  // [G, 6]
};

/** A group is one block of work: its memory stays in the cache for all three passes. */
void advantages(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result);

/** The same, written as the formulas stand. */
void advantagesReference(const AdvantageBatch& batch, const AdvantageOptions& options, const AdvantageResult& result);

}  // namespace satchel
