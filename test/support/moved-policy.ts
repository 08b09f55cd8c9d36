// A policy that has moved away from its base, ready to be exported.
import { isAbsolute, join } from 'node:path'
import type { AdapterConfig } from '../../src-main/contract/run-config.ts'
import type { ExportSource } from '../../src-main/engine/models/export.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { cpu } from './evaluate.ts'
import { parityFolder } from './parity.ts'
import { writeTinyModel } from './tiny-model.ts'

/** A policy over a parity fixture, a model's path, or a tiny model written to `base` in `folder`; noise of 0.05 on whatever it trains. */
export async function movedPolicy(folder: string, adapter: AdapterConfig, fixture?: string): Promise<ExportSource> {
  const from = fixture === undefined ? join(folder, 'base') : isAbsolute(fixture) ? fixture : parityFolder(fixture)
  if (fixture === undefined) await writeTinyModel(from)
  const base = await openModelFolder(from)
  const policy = await createPolicyWeights(await cpu(), base.config, (name) => base.readTensor(name), adapter, 1)
  await base.close()
  policy.trainable.forEach(({ data }, index) => {
    const stream = createStream(2, 'moved', index)
    for (let i = 0; i < data.length; i++) data[i] = (data[i] as number) + 0.05 * stream.normal()
  })
  await policy.refresh()
  const stream = createStream(3, 'sequences')
  const sequences = Array.from({ length: 3 }, (_, row) => Array.from({ length: 12 + row }, () => stream.integer(policy.config.vocabularySize)))
  return { device: await cpu(), policy, name: 'moved', base: from, texts: { sequences, prompts: sequences.map((ids) => ids.slice(0, 6)), newTokens: 5, longest: 20 }, origin: { step: 7 } }
}
