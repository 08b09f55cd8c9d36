import { defineConfig } from 'vitest/config'

/** What a mode runs; `--mode` chooses another than the tests. */
const included: Readonly<Record<string, string>> = {
  bench: 'test/benchmarks/desktop/*.bench.ts',
  screenshots: 'test/desktop/screenshots.ts',
}

// The desktop tests drive a real Electron, one window at a time.
export default defineConfig(({ mode }) => ({
  test: {
    include: [included[mode] ?? 'test/desktop/**/*.test.ts'],
    globalSetup: ['test/desktop/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
  },
}))
