// The border between JavaScript and the kernels: typed arrays in, pointers out. Every array is checked for its type and its length,
// so a wrong call is an exception and never a wild read. No kernel keeps a pointer after it returns.
#include <napi.h>

#include <string>

#include "adamw.hpp"
#include "advantages.hpp"
#include "quantization.hpp"
#include "sampling.hpp"
#include "thread-pool.hpp"

namespace {

// Raised whenever arguments change: a binary of another number is not used.
constexpr int kInterface = 4;

template <typename Element>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr napi_typedarray_type value = napi_float32_array;
};
template <>
struct TypeOf<double> {
  static constexpr napi_typedarray_type value = napi_float64_array;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr napi_typedarray_type value = napi_int32_array;
};
template <>
struct TypeOf<std::uint16_t> {
  static constexpr napi_typedarray_type value = napi_uint16_array;
};
template <>
struct TypeOf<std::uint8_t> {
  static constexpr napi_typedarray_type value = napi_uint8_array;
};

struct Arguments {
  const Napi::CallbackInfo& info;
  const char* kernel;

  [[noreturn]] void fail(std::size_t index, const std::string& problem) const {
    throw Napi::TypeError::New(info.Env(), std::string(kernel) + ": argument " + std::to_string(index) + " " + problem);
  }

  template <typename Element>
  Element* array(std::size_t index, std::size_t length) const {
    const Napi::Value value = info[index];
    if (!value.IsTypedArray()) fail(index, "is not a typed array");
    const auto typed = value.As<Napi::TypedArray>();
    if (typed.TypedArrayType() != TypeOf<Element>::value) fail(index, "is a typed array of another kind");
    if (typed.ElementLength() < length) fail(index, "has " + std::to_string(typed.ElementLength()) + " elements, expected at least " + std::to_string(length));
    return value.As<Napi::TypedArrayOf<Element>>().Data();
  }

  std::size_t length(std::size_t index) const {
    const Napi::Value value = info[index];
    if (!value.IsTypedArray()) fail(index, "is not a typed array");
    return value.As<Napi::TypedArray>().ElementLength();
  }

  double number(std::size_t index) const {
    const Napi::Value value = info[index];
    if (!value.IsNumber()) fail(index, "is not a number");
    return value.As<Napi::Number>().DoubleValue();
  }

  bool boolean(std::size_t index) const { return info[index].ToBoolean(); }
};

std::size_t total(const Arguments& arguments, std::size_t index, const std::int32_t* values, std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] < 0) arguments.fail(index, "holds a negative number");
    sum += static_cast<std::size_t>(values[i]);
  }
  return sum;
}

// advantages(rewards, lengths, groupSizes, outcomes, masked, stepEnds, settings, advantages, kept, statistics, reference)
// stepEnds: empty where every token is a step
// settings: Float64Array [rule, flatGroups, sample, pooled, epsilon, sigmaFloor, flatTolerance, clip, temperature, discount]
void Advantages(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "advantages"};
  const double* s = arguments.array<double>(6, 10);
  const satchel::AdvantageOptions options{
      static_cast<satchel::Rule>(static_cast<int>(s[0])), static_cast<satchel::FlatGroups>(static_cast<int>(s[1])), s[2] != 0, s[3] != 0, s[4], s[5], s[6], s[7], s[8], s[9]};
  satchel::AdvantageBatch batch{};
  batch.groups = arguments.length(2);
  batch.groupSizes = arguments.array<std::int32_t>(2, batch.groups);
  const std::size_t rollouts = total(arguments, 2, batch.groupSizes, batch.groups);
  batch.lengths = arguments.array<std::int32_t>(1, rollouts);
  const std::size_t tokens = total(arguments, 1, batch.lengths, rollouts);
  batch.rewards = arguments.array<double>(0, satchel::readsScores(options.rule) ? rollouts : tokens);
  batch.outcomes = arguments.array<double>(3, rollouts);
  batch.masked = arguments.array<std::uint8_t>(4, rollouts);
  batch.stepEnds = arguments.length(5) == 0 ? nullptr : arguments.array<std::uint8_t>(5, tokens);
  const satchel::AdvantageResult result{arguments.array<double>(7, tokens), arguments.array<std::uint8_t>(8, rollouts),
                                        arguments.array<double>(9, batch.groups * satchel::kStatisticsColumns)};
  (arguments.boolean(10) ? satchel::advantagesReference : satchel::advantages)(batch, options, result);
}

// sample(logits, rows, vocabulary, sampleLimit, temperature, topK, topP, minP, uniform, ids, logProbability, fullLogProbability, entropy, reference)
void Sample(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "sample"};
  satchel::SamplingBatch batch{};
  batch.rows = static_cast<std::size_t>(arguments.number(1));
  batch.vocabulary = static_cast<std::size_t>(arguments.number(2));
  batch.sampleLimit = static_cast<std::size_t>(arguments.number(3));
  if (batch.sampleLimit < 1 || batch.sampleLimit > batch.vocabulary) arguments.fail(3, "is not between 1 and the vocabulary size");
  batch.logits = arguments.array<float>(0, batch.rows * batch.vocabulary);
  batch.temperature = arguments.array<double>(4, batch.rows);
  batch.topK = arguments.array<std::int32_t>(5, batch.rows);
  total(arguments, 5, batch.topK, batch.rows);
  batch.topP = arguments.array<double>(6, batch.rows);
  batch.minP = arguments.array<double>(7, batch.rows);
  batch.uniform = arguments.array<double>(8, batch.rows);
  const satchel::SamplingResult result{arguments.array<std::int32_t>(9, batch.rows), arguments.array<float>(10, batch.rows), arguments.array<float>(11, batch.rows),
                                       arguments.array<float>(12, batch.rows)};
  (arguments.boolean(13) ? satchel::sampleReference : satchel::sample)(batch, result);
}

// adamW(parameter, gradient, m, v, settings, reference)
// settings: Float64Array [learningRate, beta1, beta2, epsilon, weightDecay, gradientScale, correction1, correction2]
void AdamW(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "adamW"};
  const std::size_t count = arguments.length(0);
  const double* s = arguments.array<double>(4, 8);
  const satchel::AdamWOptions options{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]};
  float* parameter = arguments.array<float>(0, count);
  const float* gradient = arguments.array<float>(1, count);
  float* m = arguments.array<float>(2, count);
  float* v = arguments.array<float>(3, count);
  (arguments.boolean(5) ? satchel::adamWReference : satchel::adamW)(count, parameter, gradient, m, v, options);
}

// squaredNorm(values, reference)
Napi::Value SquaredNorm(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "squaredNorm"};
  const std::size_t count = arguments.length(0);
  const float* values = arguments.array<float>(0, count);
  return Napi::Number::New(info.Env(), (arguments.boolean(1) ? satchel::squaredNormReference : satchel::squaredNorm)(count, values));
}

// quantizeBlocks(values, bits, packed, scales, reference)
void QuantizeBlocks(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "quantizeBlocks"};
  const std::size_t count = arguments.length(0);
  const int bits = arguments.number(1) == 4 ? 4 : 8;
  if (count % satchel::kQuantizationBlock != 0) arguments.fail(0, "does not divide into blocks");
  (arguments.boolean(4) ? satchel::quantizeBlocksReference : satchel::quantizeBlocks)(
      count, bits, arguments.array<float>(0, count), arguments.array<std::uint8_t>(2, count / 8 * static_cast<std::size_t>(bits)), arguments.array<float>(3, count / satchel::kQuantizationBlock));
}

// dequantizeBlocks(packed, bits, scales, values, reference)
void DequantizeBlocks(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "dequantizeBlocks"};
  const std::size_t count = arguments.length(3);
  const int bits = arguments.number(1) == 4 ? 4 : 8;
  if (count % satchel::kQuantizationBlock != 0) arguments.fail(3, "does not divide into blocks");
  (arguments.boolean(4) ? satchel::dequantizeBlocksReference : satchel::dequantizeBlocks)(
      count, bits, arguments.array<std::uint8_t>(0, count / 8 * static_cast<std::size_t>(bits)), arguments.array<float>(2, count / satchel::kQuantizationBlock), arguments.array<float>(3, count));
}

// widenHalf(bits, bfloat16, values, reference)
void WidenHalf(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "widenHalf"};
  const std::size_t count = arguments.length(0);
  (arguments.boolean(3) ? satchel::widenHalfReference : satchel::widenHalf)(count, arguments.boolean(1), arguments.array<std::uint16_t>(0, count), arguments.array<float>(2, count));
}

void SetThreadCount(const Napi::CallbackInfo& info) {
  const Arguments arguments{info, "setThreadCount"};
  satchel::setThreadCount(static_cast<unsigned>(arguments.number(0)));
}

Napi::Value ThreadCount(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), satchel::threadCount()); }

Napi::Object Initialise(Napi::Env env, Napi::Object exports) {
  satchel::retainThreadPool();
  // A worker thread's copy of the library is unloaded when it ends: no pool thread may still run in it then.
  env.AddCleanupHook([] { satchel::releaseThreadPool(); });
  exports.Set("interfaceNumber", Napi::Number::New(env, kInterface));
  exports.Set("advantages", Napi::Function::New(env, Advantages));
  exports.Set("sample", Napi::Function::New(env, Sample));
  exports.Set("adamW", Napi::Function::New(env, AdamW));
  exports.Set("squaredNorm", Napi::Function::New(env, SquaredNorm));
  exports.Set("quantizeBlocks", Napi::Function::New(env, QuantizeBlocks));
  exports.Set("dequantizeBlocks", Napi::Function::New(env, DequantizeBlocks));
  exports.Set("widenHalf", Napi::Function::New(env, WidenHalf));
  exports.Set("setThreadCount", Napi::Function::New(env, SetThreadCount));
  exports.Set("threadCount", Napi::Function::New(env, ThreadCount));
  return exports;
}

NODE_API_MODULE(satchel_kernels, Initialise)

}  // namespace
