import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/desktop/**'],
    // Wide, for machines that do something else beside: no test is about time.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // onnxruntime does not like worker threads; two processes fill the two cores of the smallest machine we support.
    pool: 'forks',
    maxWorkers: 2,
  },
})
