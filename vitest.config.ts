import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Components are rendered to markup, as a server would: what they say is tested here, what they do in the desktop tests.
  plugins: [svelte({ configFile: false })],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/desktop/**', 'test/packaged/**'],
    // Wide, for machines that do something else beside: no test is about time.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // onnxruntime does not like worker threads; two processes fill the two cores of the smallest machine we support.
    pool: 'forks',
    maxWorkers: 2,
  },
})
