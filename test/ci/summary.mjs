// Adds up vitest's JSON reports for .ci/run and prints "N passed, N failed" alone on the last line.
//
//   node test/ci/summary.mjs FOLDER [name of a step that failed]...
//
// A failed step whose failure no report shows (lint, a crash before the report was written) counts as one failure, and so does a
// missing report and a skipped test: on the machine that runs this nothing may be absent.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, ...failedSteps] = process.argv.slice(2)
const suites = ['test', 'desktop', 'packaged']
let passed = 0
let failed = 0

for (const suite of suites) {
  const path = join(folder, `${suite}.json`)
  if (!existsSync(path)) {
    console.log(`${suite}: no report`)
    failed++
    continue
  }
  const report = JSON.parse(readFileSync(path, 'utf8'))
  const tests = report.testResults.flatMap((file) => file.assertionResults.map((test) => ({ ...test, file: file.name })))
  const bad = tests.filter(({ status }) => status !== 'passed')
  // A file that could not be loaded has failed without a test to show for it.
  const broken = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.every(({ status }) => status === 'passed'))
  for (const test of bad) console.log(`${suite}: ${test.status}: ${test.file} > ${test.fullName}`)
  for (const file of broken) console.log(`${suite}: failed: ${file.name}: ${file.message}`)
  const failures = bad.length + broken.length
  passed += tests.length - bad.length
  failed += failures > 0 ? failures : failedSteps.includes(suite) ? 1 : 0
}
for (const step of failedSteps) {
  console.log(`${step}: the step failed`)
  if (!suites.includes(step)) failed++
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
