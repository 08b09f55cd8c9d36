#include "adamw.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "thread-pool.hpp"
#include "vector-math.hpp"

#if defined(_MSC_VER)
#define SATCHEL_RESTRICT __restrict
#else
#define SATCHEL_RESTRICT __restrict__
#endif

namespace satchel {
namespace {

constexpr std::size_t kBlock = 65536;  // elements; large enough to hide the hand-over, small enough to share evenly

std::size_t blocksOf(std::size_t count) { return (count + kBlock - 1) / kBlock; }

void updateBlock(std::size_t count, float* SATCHEL_RESTRICT parameter, const float* SATCHEL_RESTRICT gradient, float* SATCHEL_RESTRICT m, float* SATCHEL_RESTRICT v,
                 const AdamWOptions& options) {
  const double keep = 1 - options.learningRate * options.weightDecay;
  const double keep1 = options.beta1;
  const double take1 = 1 - options.beta1;
  const double keep2 = options.beta2;
  const double take2 = 1 - options.beta2;
  const double stepSize = options.learningRate / options.correction1;
  const double root2 = std::sqrt(options.correction2);
  const double scale = options.gradientScale;
  const double epsilon = options.epsilon;
  for (std::size_t i = 0; i < count; ++i) {
    const double g = gradient[i] * scale;
    const double first = keep1 * m[i] + take1 * g;
    const double second = keep2 * v[i] + take2 * g * g;
    m[i] = static_cast<float>(first);
    v[i] = static_cast<float>(second);
    parameter[i] = static_cast<float>(keep * parameter[i] - stepSize * first / (std::sqrt(second) / root2 + epsilon));
  }
}

}  // namespace

void adamW(std::size_t count, float* parameter, const float* gradient, float* m, float* v, const AdamWOptions& options) {
  parallelBlocks(blocksOf(count), [&](std::size_t block) {
    const std::size_t start = block * kBlock;
    updateBlock(std::min(kBlock, count - start), parameter + start, gradient + start, m + start, v + start, options);
  });
}

double squaredNorm(std::size_t count, const float* values) {
  std::vector<double> partial(blocksOf(count));
  parallelBlocks(partial.size(), [&](std::size_t block) {
    const float* start = values + block * kBlock;
    partial[block] = laneSum(std::min(kBlock, count - block * kBlock), [start](std::size_t i) { return static_cast<double>(start[i]) * start[i]; });
  });
  double sum = 0;
  for (const double part : partial) sum += part;
  return sum;
}

}  // namespace satchel
