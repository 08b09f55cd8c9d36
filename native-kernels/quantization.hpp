// Blockwise 4- and 8-bit weights in the layout of onnxruntime's MatMulNBits, and half formats, from and to float.
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel {

/** Elements that share a scale. */
constexpr std::size_t kQuantizationBlock = 32;

/**
 * values [count] -> packed [count * bits / 8], scales [count / 32]. The element of largest magnitude takes the lowest code, so a block's
 * range is used whole; a block with a number that is not finite gets the scale NaN. Two 4-bit codes share a byte, the earlier in the low half.
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
