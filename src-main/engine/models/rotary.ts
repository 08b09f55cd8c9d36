// Rotary position embedding: which layers use it, and its tables.
import { UserError } from '../../contract/errors.ts'
import type { DecoderConfig, RotaryRegime } from './config.ts'

/** Whether layer `index` rotates its queries and keys. */
export function usesRotary(config: DecoderConfig, index: number): boolean {
  return !config.noRopeLayers.includes(index)
}

/** The first layer that is computed as layer `index` is: one program serves all of a kind. */
export function firstOfKind(config: DecoderConfig, index: number): number {
  const rotary = usesRotary(config, index)
  for (let layer = 0; layer < index; layer++) if (usesRotary(config, layer) === rotary) return layer
  return index
}

/**
 * Which factors of LongRoPE hold where the longest sequence has `positions` tokens. Sampler and trainer of one run must agree on it, so
 * both take the run's longest prompt plus completion, not the length of the sequence at hand. Always 'short' without LongRoPE.
 * @throws UserError when the regime is fixed to the short factors and `positions` is more than they hold for
 */
export function rotaryRegime(config: Pick<DecoderConfig, 'ropeScaling'>, positions: number): RotaryRegime {
  if (config.ropeScaling === null) return 'short'
  const { regime, originalPositions } = config.ropeScaling
  if (regime === 'short' && positions > originalPositions) {
    throw new UserError({
      code: 'bad-input',
      what: `${positions} tokens are more than this run's policy was trained for: it uses the short rotary factors, which hold up to ${originalPositions}`,
      expected: `at most ${originalPositions} tokens of prompt and completion`,
      remedy: 'Shorten the prompts or the completions, or train a run with longer ones.',
    })
  }
  return regime ?? (positions > originalPositions ? 'long' : 'short')
}

/** The configuration with its regime fixed; the same where there is no LongRoPE. */
export function withRotaryRegime(config: DecoderConfig, regime: RotaryRegime): DecoderConfig {
  return config.ropeScaling === null ? config : { ...config, ropeScaling: { ...config.ropeScaling, regime } }
}

/**
 * Tables cos, sin [positions, rotaryDimensions/2] in double precision, rounded once to float32.
 * @param positions longest prompt plus completion; also decides the regime ({@link rotaryRegime})
 */
export function rotaryTables(config: DecoderConfig, positions: number): { readonly cos: Float32Array; readonly sin: Float32Array } {
  const { ropeScaling, ropeTheta, rotaryDimensions } = config
  const half = rotaryDimensions / 2
  const factors = rotaryRegime(config, positions) === 'long' ? ropeScaling?.longFactors : ropeScaling?.shortFactors
  const amplitude = ropeScaling?.attentionFactor ?? 1
  const cos = new Float32Array(positions * half)
  const sin = new Float32Array(positions * half)
  for (let i = 0; i < half; i++) {
    // The reference computes the inverse frequency in float32; following it keeps the angles equal at large positions.
    const power = Math.fround(Math.pow(ropeTheta, Math.fround((2 * i) / rotaryDimensions)))
    const frequency = Math.fround(1 / Math.fround(Math.fround(factors?.[i] ?? 1) * power))
    for (let position = 0; position < positions; position++) {
      const angle = Math.fround(position * frequency)
      cos[position * half + i] = Math.cos(angle) * amplitude
      sin[position * half + i] = Math.sin(angle) * amplitude
    }
  }
  return { cos, sin }
}
