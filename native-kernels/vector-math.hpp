// Sums and the exponential as plain loops that every compiler turns into vector instructions. The order of additions is spelled out
// (lanes, then lanes together), and the build forbids fused and re-ordered arithmetic, so every processor gets the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace satchel {

constexpr std::size_t kLanes = 16;

/** Sum of term(0) .. term(count - 1) in double precision: lane j adds the terms j, j + 16, ...; then the lanes are added in order. */
template <typename Term>
inline double laneSum(std::size_t count, Term term) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += term(i + j);
  }
  for (std::size_t j = 0; i + j < count; ++j) lanes[j] += term(i + j);
  double sum = 0;
  for (std::size_t j = 0; j < kLanes; ++j) sum += lanes[j];
  return sum;
}

/** Below this exp() is taken as exactly 0 (1e-304 would only slow the sums down). */
constexpr double kExpFloor = -700.0;

/**
 * exp(x) for x <= 0: exactly 0 below -700 and for -infinity, NaN for NaN; relative error below 1e-14.
 * x = n ln 2 + r with |r| <= ln(2)/2, exp(r) by its Taylor series to r^11 (next term 6e-15), times 2^n made from exponent bits.
 */
inline double expNonPositive(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer kept in the lowest mantissa bits
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 0.693147180369123816490;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double clamped = x < kExpFloor ? kExpFloor : x;
  const double shifted = clamped * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (clamped - n * kLn2High) - n * kLn2Low;
  double p = 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  std::uint64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  double scale;
  std::memcpy(&scale, &bits, sizeof scale);
  const double value = p * scale;
  return x < kExpFloor ? 0.0 : value;
}

}  // namespace satchel
