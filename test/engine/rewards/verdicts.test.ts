// Nothing that makes scoring faster may change a verdict. The digests were recorded by test/support/record-verdicts.ts from the scorer that
// checked, linted and rendered every completion by itself, one after another, and checked against the types of React as they were published.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { projectRoot } from '../../../src-main/engine/runtime/paths.ts'
import { buildForTests } from '../../support/build-entries.ts'
import { verdictCorpus, verdictsOf } from '../../support/verdict-corpus.ts'

const recorded = JSON.parse(readFileSync(join(projectRoot(), 'test', 'engine', 'rewards', 'verdicts.json'), 'utf8')) as Record<string, string>

beforeAll(buildForTests, 300_000)

test('every completion gets the verdict that was recorded', async () => {
  expect(await verdictsOf(verdictCorpus(), 1)).toEqual(recorded)
}, 900_000)

test('neither order nor neighbours nor the number of workers change a verdict', async () => {
  expect(await verdictsOf(verdictCorpus().reverse(), 2)).toEqual(recorded)
}, 900_000)
