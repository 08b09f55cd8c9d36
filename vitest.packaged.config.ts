import { defineConfig } from 'vitest/config'

// The packaged app: its own tests, and those of the desktop tests that need nothing of a checkout. One window at a time.
export default defineConfig({
  test: {
    include: ['test/packaged/**/*.test.ts', 'test/desktop/real-engine.test.ts'],
    globalSetup: ['test/packaged/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
})
