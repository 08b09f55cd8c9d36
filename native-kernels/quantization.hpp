// Blockwise 4- and 8-bit weights in the layout of onnxruntime's MatMulNBits, and half formats, from and to float.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel {

/** Elements that share a scale. */
constexpr std::size_t kQuantizationBlock = 32;

/** Codes, counted from zero, that the element of largest magnitude is tried at with 4 bits. */
constexpr double kExtremeCodes[] = {-8, -8.8, -8.4, -7.6, -7.2, -6.8, -6.4, -6, 7.6, 7.2, 6.8, 6.4, 6, 5.6};

/**
 * values [count] -> packed [count * bits / 8], scales [count / 32]. With 8 bits the element of largest magnitude takes the lowest code, so a
 * block's range is used whole; with 4 bits the scale is that of kExtremeCodes which leaves the smallest squared error, the first of equal
 * ones. A block with a number that is not finite gets the scale NaN. Two 4-bit codes share a byte, the earlier in the low half.
 * @param count a multiple of 32
 */
void quantizeBlocks(std::size_t count, int bits, const float* values, std::uint8_t* packed, float* scales);
void quantizeBlocksReference(std::size_t count, int bits, const float* values, std::uint8_t* packed, float* scales);

/** values[i] = (code - 2^(bits - 1)) * scale. */
void dequantizeBlocks(std::size_t count, int bits, const std::uint8_t* packed, const float* scales, float* values);
void dequantizeBlocksReference(std::size_t count, int bits, const std::uint8_t* packed, const float* scales, float* values);

/** Exact widening of bfloat16 or float16 bit patterns. */
void widenHalf(std::size_t count, bool bfloat16, const std::uint16_t* bits, float* values);
void widenHalfReference(std::size_t count, bool bfloat16, const std::uint16_t* bits, float* values);

}  // namespace satchel
