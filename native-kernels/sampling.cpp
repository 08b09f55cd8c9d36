// One row is one block of work. The exponentials are taken in small pieces that stay in the first-level cache, their sums are kept a
// piece each, and the sampled id is then looked for in one piece only; nothing of the size of the vocabulary is written or sorted.
// With top-k or top-p a histogram over x tells in which bin the kept head ends, and only that bin is sorted.
#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thread-pool.hpp"
#include "vector-math.hpp"

namespace satchel {
namespace {

// Small pieces: the walk to the drawn id weighs one of them again, which is most of the work for a small vocabulary.
constexpr std::size_t kPiece = 256;
constexpr std::size_t kBins = 1024;
constexpr double kBinsPerNat = 32;  // bins reach 32 nats below the maximum (1e-14 of its probability); the last bin takes the rest
constexpr double kTopPSlack = 1 - 1e-9;

struct Candidate {
  double weight;  // exp(x)
  float logit;
  std::int32_t id;
};

// The last kept id in the order of falling logit and, among equals, rising id.
struct Cut {
  float logit = -std::numeric_limits<float>::infinity();
  std::int32_t id = std::numeric_limits<std::int32_t>::max();

  bool keeps(float otherLogit, std::int32_t otherId) const { return otherLogit > logit || (otherLogit == logit && otherId <= id); }
};

// Scratch memory of a thread, kept between rows.
struct Scratch {
  double x[kPiece];
  double weight[kPiece];
  std::int32_t bin[kPiece];
  std::vector<double> pieceSums;
  std::size_t binCounts[kBins];
  double binWeights[kBins];
  std::vector<Candidate> candidates;
};

// Sums over a range of ids, relative to the range's own maximum.
struct Mass {
  double maximum = -std::numeric_limits<double>::infinity();
  double weight = 0;     // sum of exp(x)
  double weightedX = 0;  // sum of exp(x) * x
};

struct Choice {
  std::int32_t id = -1;
  double weight = 0;  // sum of exp(x) over the sampling law
};

float maximumOf(const float* logits, std::size_t count) {
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] = logits[i + j] > lanes[j] ? logits[i + j] : lanes[j];
  }
  for (std::size_t j = 0; i + j < count; ++j) lanes[j] = logits[i + j] > lanes[j] ? logits[i + j] : lanes[j];
  return *std::max_element(lanes, lanes + kLanes);
}

// Fills scratch.x and scratch.weight for `count` <= kPiece logits.
void weigh(const float* logits, std::size_t count, double maximum, double inverseTemperature, Scratch& scratch) {
  for (std::size_t i = 0; i < count; ++i) {
    const double x = (static_cast<double>(logits[i]) - maximum) * inverseTemperature;
    scratch.x[i] = x;
    scratch.weight[i] = expNonPositive(x);
  }
}

// The bin of x; -infinity and NaN belong to the last one.
inline std::int32_t binOf(double x) {
  const double bin = -x * kBinsPerNat;
  return static_cast<std::int32_t>(bin < kBins - 1 ? bin : kBins - 1);
}

// Adds the piece in scratch.x and scratch.weight to the histogram.
void countBins(std::size_t count, Scratch& scratch) {
  for (std::size_t i = 0; i < count; ++i) scratch.bin[i] = binOf(scratch.x[i]);
  for (std::size_t i = 0; i < count; ++i) {
    scratch.binCounts[scratch.bin[i]] += 1;
    scratch.binWeights[scratch.bin[i]] += scratch.weight[i];
  }
}

enum class Keep { nothing, pieces, piecesAndBins };

Mass massOf(const float* logits, std::size_t count, double inverseTemperature, Scratch& scratch, Keep keep) {
  Mass mass;
  mass.maximum = maximumOf(logits, count);
  if (!std::isfinite(mass.maximum)) {
    // No finite logit: weight 0, unless a NaN hides among them (a comparison never finds it).
    if (std::any_of(logits, logits + count, [](float z) { return std::isnan(z); })) mass.weight = std::numeric_limits<double>::quiet_NaN();
    return mass;
  }
  for (std::size_t start = 0; start < count; start += kPiece) {
    const std::size_t length = std::min(kPiece, count - start);
    weigh(logits + start, length, mass.maximum, inverseTemperature, scratch);
    const double weight = laneSum(length, [&scratch](std::size_t i) { return scratch.weight[i]; });
    mass.weight += weight;
    mass.weightedX += laneSum(length, [&scratch](std::size_t i) { return scratch.weight[i] * (scratch.x[i] < kExpFloor ? 0 : scratch.x[i]); });
    if (keep != Keep::nothing) scratch.pieceSums.push_back(weight);
    if (keep == Keep::piecesAndBins) countBins(length, scratch);
  }
  return mass;
}

// The id whose stretch of the cumulative weight holds u * total; no sort, no copy.
std::int32_t walkPieces(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, double uniform, Scratch& scratch) {
  const double target = uniform * mass.weight;
  double before = 0;
  std::size_t piece = 0;
  for (std::size_t p = 0; p < scratch.pieceSums.size(); ++p) {
    if (scratch.pieceSums[p] > 0) piece = p;
    if (before + scratch.pieceSums[p] > target) break;
    if (p + 1 < scratch.pieceSums.size()) before += scratch.pieceSums[p];
  }
  const std::size_t start = piece * kPiece;
  const std::size_t length = std::min(kPiece, count - start);
  weigh(logits + start, length, mass.maximum, inverseTemperature, scratch);
  std::int32_t last = -1;
  double cumulative = before;
  for (std::size_t i = 0; i < length; ++i) {
    if (scratch.weight[i] == 0) continue;
    last = static_cast<std::int32_t>(start + i);
    cumulative += scratch.weight[i];
    if (cumulative > target) break;
  }
  return last;  // rounding may leave `cumulative` a hair below the piece's sum: then its last id
}

// Calls visit(id, x) for every id with x >= lowest and logit >= leastLogit, by rising id; stretches without one are passed over quickly.
template <typename Visit>
void visitHead(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, double lowest, float leastLogit, Visit visit) {
  // The same bound as a logit, a little too low because it is rounded; x itself decides.
  const double bound = mass.maximum + lowest / inverseTemperature;
  const float least = std::max(leastLogit, static_cast<float>(bound - 1e-6 * (std::fabs(bound) + std::fabs(mass.maximum))));
  const auto one = [&](std::size_t i) {
    const double x = (static_cast<double>(logits[i]) - mass.maximum) * inverseTemperature;
    if (logits[i] >= least && x >= lowest) visit(static_cast<std::int32_t>(i), x);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    int any = 0;
    for (std::size_t j = 0; j < kLanes; ++j) any |= logits[i + j] >= least;
    for (std::size_t j = 0; any != 0 && j < kLanes; ++j) one(i + j);
  }
  for (; i < count; ++i) one(i);
}

// The ids of one bin that a cut keeps, by falling logit and rising id.
void sortBin(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t bin, const Cut& cut, Scratch& scratch) {
  auto& candidates = scratch.candidates;
  candidates.clear();
  const double low = bin + 1 < kBins ? -static_cast<double>(bin + 1) / kBinsPerNat : kExpFloor;
  visitHead(logits, count, mass, inverseTemperature, low, cut.logit, [&](std::int32_t id, double x) {
    if (static_cast<std::size_t>(binOf(x)) == bin && cut.keeps(logits[id], id)) candidates.push_back({expNonPositive(x), logits[id], id});
  });
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; });
}

// Where top-k and then top-p end.
Cut findCut(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t topK, double topP, Scratch& scratch) {
  Cut cut;
  double whole = mass.weight;
  if (topK > 0) {
    std::size_t bin = 0;
    std::size_t before = 0;
    double weight = 0;
    for (; bin + 1 < kBins && before + scratch.binCounts[bin] < topK; ++bin) {
      before += scratch.binCounts[bin];
      weight += scratch.binWeights[bin];
    }
    sortBin(logits, count, mass, inverseTemperature, bin, cut, scratch);
    const std::size_t taken = std::min(topK - before, scratch.candidates.size());
    for (std::size_t i = 0; i < taken; ++i) weight += scratch.candidates[i].weight;
    if (taken > 0) cut = {scratch.candidates[taken - 1].logit, scratch.candidates[taken - 1].id};
    whole = weight;
  }
  if (topP < 1) {
    const double target = topP * whole * kTopPSlack;
    std::size_t bin = 0;
    double before = 0;
    for (; bin + 1 < kBins && before + scratch.binWeights[bin] < target; ++bin) before += scratch.binWeights[bin];
    sortBin(logits, count, mass, inverseTemperature, bin, cut, scratch);
    for (const auto& candidate : scratch.candidates) {
      cut = {candidate.logit, candidate.id};
      before += candidate.weight;
      if (before >= target) break;
    }
  }
  return cut;
}

Choice chooseTruncated(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t topK, double topP, double minP, double uniform,
                       Scratch& scratch) {
  const Cut cut = topK > 0 || topP < 1 ? findCut(logits, count, mass, inverseTemperature, topK, topP, scratch) : Cut{};
  const double lowest = minP > 0 ? std::max(std::log(minP), kExpFloor) : kExpFloor;
  auto& kept = scratch.candidates;
  kept.clear();
  Choice choice;
  visitHead(logits, count, mass, inverseTemperature, lowest, cut.logit, [&](std::int32_t id, double x) {
    if (!cut.keeps(logits[id], id)) return;
    kept.push_back({expNonPositive(x), logits[id], id});
    choice.weight += kept.back().weight;
  });
  double cumulative = 0;
  for (const auto& candidate : kept) {
    choice.id = candidate.id;
    cumulative += candidate.weight;
    if (cumulative > uniform * choice.weight) break;
  }
  return choice;
}

void sampleRow(const SamplingBatch& batch, std::size_t row, const SamplingResult& result, Scratch& scratch) {
  const float* logits = batch.logits + row * batch.vocabulary;
  const std::size_t limit = batch.sampleLimit;
  const bool greedy = batch.temperature[row] == 0;
  const double inverseTemperature = greedy ? 1 : 1 / batch.temperature[row];
  result.ids[row] = -1;
  result.logProbability[row] = result.fullLogProbability[row] = result.entropy[row] = std::numeric_limits<float>::quiet_NaN();

  const auto topK = static_cast<std::size_t>(batch.topK[row]) < limit ? static_cast<std::size_t>(batch.topK[row]) : 0;
  const bool sorted = !greedy && (topK > 0 || batch.topP[row] < 1);
  scratch.pieceSums.clear();
  if (sorted) {
    std::fill(scratch.binCounts, scratch.binCounts + kBins, std::size_t{0});
    std::fill(scratch.binWeights, scratch.binWeights + kBins, 0.0);
  }
  const Mass inside = massOf(logits, limit, inverseTemperature, scratch, sorted ? Keep::piecesAndBins : Keep::pieces);
  const Mass outside = massOf(logits + limit, batch.vocabulary - limit, inverseTemperature, scratch, Keep::nothing);
  // NaN makes a sum NaN, +infinity makes its maximum infinite, and without a finite logit inside there is nothing to sample.
  if (!std::isfinite(inside.maximum) || !std::isfinite(inside.weight) || !std::isfinite(outside.weight) || outside.maximum == std::numeric_limits<double>::infinity()) return;

  Choice choice;
  if (greedy) {
    choice.id = static_cast<std::int32_t>(std::find(logits, logits + limit, static_cast<float>(inside.maximum)) - logits);
  } else if (!sorted && batch.minP[row] <= 0) {
    choice.id = walkPieces(logits, limit, inside, inverseTemperature, batch.uniform[row], scratch);
    choice.weight = inside.weight;
  } else {
    choice = chooseTruncated(logits, limit, inside, inverseTemperature, topK, batch.topP[row], batch.minP[row], batch.uniform[row], scratch);
  }

  // The whole softmax, relative to the larger of the two maxima.
  const double maximum = std::max(inside.maximum, outside.maximum);
  const auto shift = [&](double from) { return std::max((from - maximum) * inverseTemperature, kExpFloor); };
  const double insideFactor = std::exp(shift(inside.maximum));
  const double outsideFactor = outside.weight > 0 ? std::exp(shift(outside.maximum)) : 0;
  const double weight = inside.weight * insideFactor + outside.weight * outsideFactor;
  const double weightedX = insideFactor * (inside.weightedX + inside.weight * shift(inside.maximum)) +
                           (outsideFactor > 0 ? outsideFactor * (outside.weightedX + outside.weight * shift(outside.maximum)) : 0);
  const double logit = logits[choice.id];
  result.ids[row] = choice.id;
  result.logProbability[row] = greedy ? 0.0f : static_cast<float>((logit - inside.maximum) * inverseTemperature - std::log(choice.weight));
  result.fullLogProbability[row] = static_cast<float>((logit - maximum) * inverseTemperature - std::log(weight));
  result.entropy[row] = static_cast<float>(std::log(weight) - weightedX / weight);
}

}  // namespace

void sample(const SamplingBatch& batch, const SamplingResult& result) {
  const auto body = [&](std::size_t row) {
    thread_local Scratch scratch;
    sampleRow(batch, row, result, scratch);
  };
  if (batch.rows * batch.vocabulary < 16384) {  // waking a thread costs more than this much work
    for (std::size_t row = 0; row < batch.rows; ++row) body(row);
  } else {
    parallelBlocks(batch.rows, body);
  }
}

}  // namespace satchel
