import { defineConfig } from 'vitest/config'

// The desktop tests drive a real Electron, one window at a time.
export default defineConfig({
  test: {
    include: ['test/desktop/**/*.test.ts'],
    globalSetup: ['test/desktop/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
})
