import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/desktop/**'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // onnxruntime does not like worker threads; two processes fill the two cores of the smallest machine we support.
    pool: 'forks',
    maxWorkers: 2,
  },
})
