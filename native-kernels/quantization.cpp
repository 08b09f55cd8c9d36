#include "quantization.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "thread-pool.hpp"

namespace satchel {
namespace {

constexpr std::size_t kBlocksAtOnce = 2048;  // 65,536 elements: large enough to hide the hand-over

/** Calls body(first, end) for ranges of quantisation blocks, side by side. */
template <typename Body>
void overBlocks(std::size_t count, const Body& body) {
  const std::size_t blocks = count / kQuantizationBlock;
  parallelBlocks((blocks + kBlocksAtOnce - 1) / kBlocksAtOnce, [&](std::size_t part) {
    body(part * kBlocksAtOnce, std::min(blocks, (part + 1) * kBlocksAtOnce));
  });
}

double codeOf(double value, double scale, double zero) { return std::min(std::max(std::floor(value / scale + zero + 0.5), 0.0), 2 * zero - 1); }

/** Four sums, added in a fixed order: fast, and the same bits in every form. */
double squaredError(const float* values, double scale) {
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < kQuantizationBlock; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double value = values[i + lane];
      const double off = value - (codeOf(value, scale, 8) - 8) * scale;
      sums[lane] += off * off;
    }
  }
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

float bestScale(const float* values, float extreme) {
  double best = std::numeric_limits<double>::infinity();
  float chosen = 0;
  for (const double code : kExtremeCodes) {
    const float scale = static_cast<float>(extreme / code);
    const double error = squaredError(values, scale);
    if (error < best) {
      best = error;
      chosen = scale;
    }
  }
  return chosen;
}

float blockScale(const float* values, int bits) {
  float extreme = 0;
  bool finite = true;
  for (std::size_t i = 0; i < kQuantizationBlock; ++i) {
    finite &= std::isfinite(values[i]);
    if (std::fabs(values[i]) > std::fabs(extreme)) extreme = values[i];
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  const float scale = extreme / -static_cast<float>(1 << (bits - 1));
  return bits == 4 && std::fabs(scale) > 0 ? bestScale(values, extreme) : scale;
}

float floatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/** Without a branch, so that it vectorises: a subnormal half is a difference of two normal floats. */
float widenFloat16(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t magnitude = half & 0x7fff;
  const std::uint32_t normal = (magnitude << 13) + (magnitude >= 0x7c00 ? 0x70000000u : 0x38000000u);
  const float small = floatOf((magnitude << 13) + 0x38800000u) - floatOf(0x38800000u);
  std::uint32_t smallBits;
  std::memcpy(&smallBits, &small, sizeof smallBits);
  return floatOf(sign | (magnitude < 0x0400 ? smallBits : normal));
}

}  // namespace

void quantizeBlocks(std::size_t count, int bits, const float* values, std::uint8_t* packed, float* scales) {
  const double zero = 1 << (bits - 1);
  overBlocks(count, [=](std::size_t first, std::size_t end) {
    for (std::size_t block = first; block < end; ++block) {
      const float* x = values + block * kQuantizationBlock;
      const float scale = blockScale(x, bits);
      scales[block] = scale;
      std::uint8_t codes[kQuantizationBlock];
      for (std::size_t i = 0; i < kQuantizationBlock; ++i) {
        codes[i] = static_cast<std::uint8_t>(std::fabs(scale) > 0 ? codeOf(x[i], scale, zero) : zero);
      }
      if (bits == 8) {
        std::memcpy(packed + block * kQuantizationBlock, codes, kQuantizationBlock);
      } else {
        for (std::size_t i = 0; i < kQuantizationBlock / 2; ++i) packed[block * kQuantizationBlock / 2 + i] = static_cast<std::uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4));
      }
    }
  });
}

void dequantizeBlocks(std::size_t count, int bits, const std::uint8_t* packed, const float* scales, float* values) {
  overBlocks(count, [=](std::size_t first, std::size_t end) {
    for (std::size_t block = first; block < end; ++block) {
      const float scale = scales[block];
      float* y = values + block * kQuantizationBlock;
      if (bits == 8) {
        const std::uint8_t* codes = packed + block * kQuantizationBlock;
        for (std::size_t i = 0; i < kQuantizationBlock; ++i) y[i] = static_cast<float>(static_cast<int>(codes[i]) - 128) * scale;
      } else {
        const std::uint8_t* codes = packed + block * kQuantizationBlock / 2;
        for (std::size_t i = 0; i < kQuantizationBlock / 2; ++i) {
          y[2 * i] = static_cast<float>(static_cast<int>(codes[i] & 15) - 8) * scale;
          y[2 * i + 1] = static_cast<float>(static_cast<int>(codes[i] >> 4) - 8) * scale;
        }
      }
    }
  });
}

void widenHalf(std::size_t count, bool bfloat16, const std::uint16_t* bits, float* values) {
  constexpr std::size_t kPart = kBlocksAtOnce * kQuantizationBlock;
  parallelBlocks((count + kPart - 1) / kPart, [=](std::size_t part) {
    const std::size_t end = std::min(count, (part + 1) * kPart);
    if (bfloat16) {
      for (std::size_t i = part * kPart; i < end; ++i) values[i] = floatOf(static_cast<std::uint32_t>(bits[i]) << 16);
    } else {
      for (std::size_t i = part * kPart; i < end; ++i) values[i] = widenFloat16(bits[i]);
    }
  });
}

}  // namespace satchel
