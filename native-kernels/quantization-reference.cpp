// One element after another, with the formula in full.
#include <cmath>
#include <limits>

#include "quantization.hpp"

namespace satchel {

namespace {

/** Tries every scale on the whole block; element i adds to sum i mod 4. */
float bestScale(const float* block, float extreme) {
  double best = std::numeric_limits<double>::infinity();
  float chosen = 0;
  for (const double extremeCode : kExtremeCodes) {
    const float scale = static_cast<float>(extreme / extremeCode);
    double sums[4] = {0, 0, 0, 0};
    for (std::size_t i = 0; i < kQuantizationBlock; ++i) {
      double code = std::floor(static_cast<double>(block[i]) / scale + 8 + 0.5);
      if (code < 0) code = 0;
      if (code > 15) code = 15;
      const double off = block[i] - (code - 8) * scale;
      sums[i % 4] += off * off;
    }
    const double error = sums[0] + sums[1] + (sums[2] + sums[3]);
    if (error < best) {
      best = error;
      chosen = scale;
    }
  }
  return chosen;
}

}  // namespace

void quantizeBlocksReference(std::size_t count, int bits, const float* values, std::uint8_t* packed, float* scales) {
  const int zero = 1 << (bits - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t block = i / kQuantizationBlock;
    if (i % kQuantizationBlock == 0) {
      float extreme = 0;
      bool finite = true;
      for (std::size_t j = i; j < i + kQuantizationBlock; ++j) {
        finite = finite && std::isfinite(values[j]);
        if (std::fabs(values[j]) > std::fabs(extreme)) extreme = values[j];
      }
      scales[block] = finite ? extreme / static_cast<float>(-zero) : std::numeric_limits<float>::quiet_NaN();
      if (bits == 4 && std::fabs(scales[block]) > 0) scales[block] = bestScale(values + i, extreme);
    }
    int code = zero;
    if (std::fabs(scales[block]) > 0) code = static_cast<int>(std::floor(static_cast<double>(values[i]) / scales[block] + zero + 0.5));
    if (code < 0) code = 0;
    if (code > 2 * zero - 1) code = 2 * zero - 1;
    if (bits == 8) {
      packed[i] = static_cast<std::uint8_t>(code);
    } else if (i % 2 == 0) {
      packed[i / 2] = static_cast<std::uint8_t>(code);
    } else {
      packed[i / 2] = static_cast<std::uint8_t>(packed[i / 2] | (code << 4));
    }
  }
}

void dequantizeBlocksReference(std::size_t count, int bits, const std::uint8_t* packed, const float* scales, float* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const int code = bits == 8 ? packed[i] : (packed[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 15;
    values[i] = static_cast<float>(code - (1 << (bits - 1))) * scales[i / kQuantizationBlock];
  }
}

/** sign * 2^(exponent - bias) * (1 + mantissa / 2^width), as IEEE 754 writes it. */
void widenHalfReference(std::size_t count, bool bfloat16, const std::uint16_t* bits, float* values) {
  const int width = bfloat16 ? 7 : 10;
  const int exponentBits = 15 - width;
  const int bias = (1 << (exponentBits - 1)) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const int mantissa = bits[i] & ((1 << width) - 1);
    const int exponent = (bits[i] >> width) & ((1 << exponentBits) - 1);
    double magnitude;
    if (exponent == (1 << exponentBits) - 1) {
      magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
      magnitude = std::ldexp(static_cast<double>(mantissa), 1 - bias - width);
    } else {
      magnitude = std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -width), exponent - bias);
    }
    values[i] = static_cast<float>((bits[i] & 0x8000) != 0 ? -magnitude : magnitude);
  }
}

}  // namespace satchel
