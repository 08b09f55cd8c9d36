// Loads Satchel's ONNX exports in transformers.js and compares them with the policy they came from.
//
//   node test/support/run-typescript.mjs test/parity/write-exports.ts FOLDER
//   mkdir elsewhere && cd elsewhere && npm init -y && npm install --ignore-scripts @huggingface/transformers
//   node test/parity/exports.mjs FOLDER elsewhere [webgpu [CASE ...]]
//
// Records version and results in exports-results.json beside this file (its keys "transformers.js" and "transformers.js on webgpu"). Greedy tokens of float32 files must
// be equal and log-probabilities within the limits below, or the script ends with an error.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, packages, device = 'cpu', ...names] = process.argv.slice(2)
if (folder === undefined || packages === undefined) throw new Error('usage: exports.mjs FOLDER PACKAGES [DEVICE [CASE ...]]')
const entry = createRequire(join(resolve(packages), 'package.json')).resolve('@huggingface/transformers')
const { AutoModelForCausalLM, AutoTokenizer, Tensor, env } = await import(pathToFileURL(entry).href)
env.allowRemoteModels = false
env.localModelPath = resolve(folder)

/** Mean difference of log-probabilities in nats; the files' own rounding is in it. */
const limits = { float32: 1e-4, float16: 5e-3, int8: 4e-2, int4: 1 }

const json = (...parts) => JSON.parse(readFileSync(join(folder, ...parts), 'utf8'))
const inputsOf = (ids) => ({
  input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
  attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), [1, ids.length]),
})

async function differences(model, { texts, logprobs }) {
  const values = []
  for (const [row, ids] of texts.sequences.entries()) {
    const { logits } = await model(inputsOf(ids))
    const vocabulary = logits.dims[2]
    for (let time = 1; time < ids.length; time++) {
      const scores = logits.data.subarray((time - 1) * vocabulary, time * vocabulary)
      const most = scores.reduce((a, b) => Math.max(a, b))
      const sum = scores.reduce((total, score) => total + Math.exp(score - most), 0)
      values.push(Math.abs(scores[ids[time]] - most - Math.log(sum) - logprobs[row][time]))
    }
  }
  const rounded = (value) => Number(value.toExponential(2))
  return { mean: rounded(values.reduce((a, b) => a + b) / values.length), largest: rounded(Math.max(...values)) }
}

async function equalContinuations(model, { texts, continuations }) {
  let equal = 0
  for (const [index, prompt] of texts.prompts.entries()) {
    // No id ends it: the policy was continued by a fixed number of tokens.
    const output = await model.generate({ ...inputsOf(prompt), max_new_tokens: texts.newTokens, do_sample: false, eos_token_id: -1 })
    if ([...output.data].map(Number).slice(prompt.length).join() === continuations[index].join()) equal += 1
  }
  return equal
}

const cases = {}
const failures = []
for (const name of names.length > 0 ? names : readdirSync(folder).sort()) {
  const expected = json(name, 'expected.json')
  cases[name] = []
  for (const file of readdirSync(join(folder, name)).filter((item) => item.startsWith('onnx-')).sort()) {
    const { storedType } = json(name, file, 'export.json')
    const model = await AutoModelForCausalLM.from_pretrained(`${name}/${file}`, { dtype: 'fp32', device })
    const row = { export: file, storedType, greedyEqual: `${await equalContinuations(model, expected)}/${expected.texts.prompts.length}`, logprobs: await differences(model, expected) }
    await model.dispose()
    if (expected.strings !== undefined) {
      const tokenizer = await AutoTokenizer.from_pretrained(`${name}/${file}`)
      row.tokenizer = `${expected.strings.filter(({ text, ids }) => tokenizer.encode(text, { add_special_tokens: false }).join() === ids.join()).length}/${expected.strings.length}`
      if (row.tokenizer !== `${expected.strings.length}/${expected.strings.length}`) failures.push(`${name}/${file}: tokenizer ${row.tokenizer}`)
    }
    if (storedType === 'float32' && row.greedyEqual !== `${expected.texts.prompts.length}/${expected.texts.prompts.length}`) failures.push(`${name}/${file}: greedy ${row.greedyEqual}`)
    if (!(row.logprobs.mean <= limits[storedType])) failures.push(`${name}/${file}: log-probabilities differ by ${row.logprobs.mean}`)
    cases[name].push(row)
    console.log(name, row)
  }
}
const results = new URL('exports-results.json', import.meta.url)
const known = existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : {}
writeFileSync(results, `${JSON.stringify({ ...known, [`transformers.js${device === 'cpu' ? '' : ` on ${device}`}`]: { version: env.version, cases } }, null, 1)}\n`)
if (failures.length > 0) console.error(failures.join('\n'))
// Sessions on a graphics card keep the process alive.
process.exit(failures.length > 0 ? 1 : 0)
