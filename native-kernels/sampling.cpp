// One row is one block of work. The exponentials are taken in small pieces that stay in the first-level cache, their sums are kept a
// piece each, and the sampled id is then looked for in one piece only; nothing of the size of the vocabulary is written or sorted.
// With top-k or top-p a histogram over x finds how deep the kept head reaches, and only that head is gathered and sorted.
#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "thread-pool.hpp"
#include "vector-math.hpp"

namespace satchel {
namespace {

constexpr std::size_t kPiece = 1024;
constexpr std::size_t kBins = 1024;
constexpr double kBinsPerNat = 32;  // bins reach 32 nats below the maximum (1e-14 of its probability); the last bin takes the rest
constexpr double kTopPSlack = 1 - 1e-9;

struct Candidate {
  double weight;  // exp(x)
  float logit;
  std::int32_t id;
};

// Scratch memory of a thread, kept between rows.
struct Scratch {
  double x[kPiece];
  double weight[kPiece];
  std::vector<double> pieceSums;
  std::vector<std::uint32_t> binCounts;
  std::vector<double> binWeights;
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

Mass massOf(const float* logits, std::size_t count, double inverseTemperature, Scratch& scratch, bool keepPieces) {
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
    if (keepPieces) scratch.pieceSums.push_back(weight);
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

std::size_t binOf(double x) {
  const double bin = -x * kBinsPerNat;
  return bin < kBins - 1 ? static_cast<std::size_t>(bin) : kBins - 1;
}

// How many bins, from the likeliest on, hold at least `topK` ids or (topK = 0) at least `topP` of the weight.
std::size_t headBins(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t topK, double topP, Scratch& scratch) {
  scratch.binCounts.assign(kBins, 0);
  scratch.binWeights.assign(kBins, 0.0);
  for (std::size_t start = 0; start < count; start += kPiece) {
    const std::size_t length = std::min(kPiece, count - start);
    weigh(logits + start, length, mass.maximum, inverseTemperature, scratch);
    for (std::size_t i = 0; i < length; ++i) {
      if (scratch.weight[i] == 0) continue;
      const std::size_t bin = binOf(scratch.x[i]);
      scratch.binCounts[bin] += 1;
      scratch.binWeights[bin] += scratch.weight[i];
    }
  }
  std::size_t ids = 0;
  double weight = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    ids += scratch.binCounts[bin];
    weight += scratch.binWeights[bin];
    if (topK > 0 ? ids >= topK : weight >= topP * mass.weight) return bin + 1;
  }
  return kBins;
}

// Gathers the candidates with x >= lowest (and in the head bins), by rising id.
void gather(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t bins, double lowest, Scratch& scratch) {
  scratch.candidates.clear();
  for (std::size_t start = 0; start < count; start += kPiece) {
    const std::size_t length = std::min(kPiece, count - start);
    weigh(logits + start, length, mass.maximum, inverseTemperature, scratch);
    for (std::size_t i = 0; i < length; ++i) {
      if (scratch.weight[i] == 0 || scratch.x[i] < lowest || binOf(scratch.x[i]) >= bins) continue;
      scratch.candidates.push_back({scratch.weight[i], logits[start + i], static_cast<std::int32_t>(start + i)});
    }
  }
}

// Leaves the head that top-k and top-p keep, by rising id.
void keepHead(std::vector<Candidate>& candidates, std::size_t topK, double topP, double total) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; });
  if (topK > 0 && candidates.size() > topK) candidates.resize(topK);
  if (topP < 1) {
    double whole = total;
    if (topK > 0) {
      whole = 0;
      for (const auto& candidate : candidates) whole += candidate.weight;
    }
    double cumulative = 0;
    std::size_t length = 0;
    while (length < candidates.size()) {
      cumulative += candidates[length++].weight;
      if (cumulative >= topP * whole * kTopPSlack) break;
    }
    candidates.resize(length);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
}

Choice chooseTruncated(const float* logits, std::size_t count, const Mass& mass, double inverseTemperature, std::size_t topK, double topP, double minP, double uniform,
                       Scratch& scratch) {
  const double lowest = minP > 0 ? std::log(minP) : -std::numeric_limits<double>::infinity();
  if (topK > 0 || topP < 1) {
    const std::size_t bins = headBins(logits, count, mass, inverseTemperature, topK, topP, scratch);
    gather(logits, count, mass, inverseTemperature, bins, -std::numeric_limits<double>::infinity(), scratch);
    keepHead(scratch.candidates, topK, topP, mass.weight);
  } else {
    gather(logits, count, mass, inverseTemperature, kBins, lowest, scratch);
  }
  auto& candidates = scratch.candidates;
  if (minP > 0) {
    const auto below = [&](const Candidate& candidate) { return (static_cast<double>(candidate.logit) - mass.maximum) * inverseTemperature < lowest; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), below), candidates.end());
  }
  Choice choice;
  for (const auto& candidate : candidates) choice.weight += candidate.weight;
  double cumulative = 0;
  for (const auto& candidate : candidates) {
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

  scratch.pieceSums.clear();
  const Mass inside = massOf(logits, limit, inverseTemperature, scratch, true);
  const Mass outside = massOf(logits + limit, batch.vocabulary - limit, inverseTemperature, scratch, false);
  // NaN makes a sum NaN, +infinity makes its maximum infinite, and without a finite logit inside there is nothing to sample.
  if (!std::isfinite(inside.maximum) || !std::isfinite(inside.weight) || !std::isfinite(outside.weight) || outside.maximum == std::numeric_limits<double>::infinity()) return;

  Choice choice;
  if (greedy) {
    choice.id = static_cast<std::int32_t>(std::find(logits, logits + limit, static_cast<float>(inside.maximum)) - logits);
  } else {
    const auto topK = static_cast<std::size_t>(batch.topK[row]) < limit ? static_cast<std::size_t>(batch.topK[row]) : 0;
    if (topK == 0 && batch.topP[row] >= 1 && batch.minP[row] <= 0) {
      choice.id = walkPieces(logits, limit, inside, inverseTemperature, batch.uniform[row], scratch);
      choice.weight = inside.weight;
    } else {
      choice = chooseTruncated(logits, limit, inside, inverseTemperature, topK, batch.topP[row], batch.minP[row], batch.uniform[row], scratch);
    }
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
