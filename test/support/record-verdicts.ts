// `node test/support/run-typescript.mjs test/support/record-verdicts.ts` writes what test/engine/rewards/verdicts.test.ts compares with. Only
// for a change that means to change verdicts; the commit then says which and why.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'
import { buildForTests } from './build-entries.ts'
import { verdictCorpus, verdictsOf } from './verdict-corpus.ts'

await buildForTests()
const verdicts = await verdictsOf(verdictCorpus(), 1)
writeFileSync(join(projectRoot(), 'test', 'engine', 'rewards', 'verdicts.json'), `${JSON.stringify(verdicts, null, 1)}\n`)
process.stdout.write(`${Object.keys(verdicts).length} verdicts\n`)
