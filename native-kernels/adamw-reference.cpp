// The update as the paper writes it (algorithm 2), one element after another.
#include <cmath>

#include "adamw.hpp"

namespace satchel {

void adamWReference(std::size_t count, float* parameter, const float* gradient, float* m, float* v, const AdamWOptions& options) {
  for (std::size_t i = 0; i < count; ++i) {
    const double g = gradient[i] * options.gradientScale;
    const double first = options.beta1 * m[i] + (1 - options.beta1) * g;
    const double second = options.beta2 * v[i] + (1 - options.beta2) * g * g;
    const double firstHat = first / options.correction1;
    const double secondHat = second / options.correction2;
    m[i] = static_cast<float>(first);
    v[i] = static_cast<float>(second);
    const double decayed = parameter[i] - options.learningRate * options.weightDecay * parameter[i];
    parameter[i] = static_cast<float>(decayed - options.learningRate * firstHat / (std::sqrt(secondHat) + options.epsilon));
  }
}

double squaredNormReference(std::size_t count, const float* values) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace satchel
