// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101), in place over one tensor.
#pragma once

#include <cstddef>

namespace satchel {

struct AdamWOptions {
  double learningRate;
  double beta1;
  double beta2;
  double epsilon;
  double weightDecay;
  double gradientScale;  // multiplies the gradient first: the factor of gradient clipping
  double correction1;    // 1 - beta1^step
  double correction2;    // 1 - beta2^step
};

/** One update of `count` parameters; every element is computed in double precision and stored as float. */
void adamW(std::size_t count, float* parameter, const float* gradient, float* m, float* v, const AdamWOptions& options);
void adamWReference(std::size_t count, float* parameter, const float* gradient, float* m, float* v, const AdamWOptions& options);

/** Sum of squares in double precision, in an order that depends only on `count`. */
double squaredNorm(std::size_t count, const float* values);
double squaredNormReference(std::size_t count, const float* values);

}  // namespace satchel
