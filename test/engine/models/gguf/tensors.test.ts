import { describe, expect, it } from 'vitest'
import { readDecoderConfig } from '../../../../src-main/engine/models/config.ts'
import { ggufTensors, interleaveHeads, separateHeads } from '../../../../src-main/engine/models/gguf/tensors.ts'
import { fixture } from '../fixtures.ts'

describe('rows of rotary pairs', () => {
  it('lie side by side in the file, half a head apart in a Hugging Face folder', () => {
    // Two heads of four rows, two columns; row r holds [r, r + 0.5]. numpy: w.reshape(2, 2, 2, 2).swapaxes(1, 2).reshape(8, 2), as the converter does it.
    const rows = Float32Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? index / 2 : (index - 1) / 2 + 0.5))
    const stored = interleaveHeads(rows, 8, 2)
    expect([...stored].filter((_, index) => index % 2 === 0)).toEqual([0, 2, 1, 3, 4, 6, 5, 7])
    expect([...stored].filter((_, index) => index % 2 === 1)).toEqual([0.5, 2.5, 1.5, 3.5, 4.5, 6.5, 5.5, 7.5])
    expect(separateHeads(stored, 8, 2)).toEqual(rows)
  })

  it('are reordered in biases as in matrices', () => {
    expect([...separateHeads(Float32Array.of(0, 3, 1, 4, 2, 5), 6, 1)]).toEqual([0, 1, 2, 3, 4, 5])
  })
})

describe('names and layouts', () => {
  const tensorsOf = async (name: string) => ggufTensors((await readDecoderConfig(fixture(name))).config)

  it.each([['llama-tied', true], ['llama-biases', true], ['smollm3', true], ['qwen2-untied', false], ['phi3-long', false]])('of %s: q and k interleaved: %s', async (name, interleaved) => {
    const tensors = await tensorsOf(name)
    expect(new Set(tensors.map(({ stored }) => stored)).size).toBe(tensors.length)
    const reordered = tensors.filter(({ interleavedHeads }) => interleavedHeads > 0).map(({ stored }) => stored.replace(/^blk\.\d+\./, ''))
    const bias = name === 'llama-biases'
    expect([...new Set(reordered)]).toEqual(interleaved ? ['attn_q.weight', ...(bias ? ['attn_q.bias'] : []), 'attn_k.weight', ...(bias ? ['attn_k.bias'] : [])] : [])
  })

  it('of packed projections are those of llama.cpp', async () => {
    expect((await tensorsOf('phi3-short')).filter(({ name }) => name.includes('layers.1.') || !name.includes('layers')).map(({ stored }) => stored)).toEqual([
      'token_embd.weight', 'blk.1.attn_norm.weight', 'blk.1.attn_qkv.weight', 'blk.1.attn_output.weight', 'blk.1.ffn_norm.weight', 'blk.1.ffn_up.weight', 'blk.1.ffn_down.weight', 'output_norm.weight',
    ])
  })
})
