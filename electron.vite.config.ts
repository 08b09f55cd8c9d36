import { defineConfig } from 'electron-vite'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { resolve } from 'node:path'

// Build targets stay at what the oldest supported Electron runs (33: Node 20, Chromium 130).
// Everything that runs outside the page is one build with several entries; npm packages stay external and are found in node_modules.
export default defineConfig({
  main: {
    build: {
      outDir: 'out/main',
      target: 'node20',
      minify: false,
      sourcemap: true,
      rollupOptions: {
        input: {
          app: resolve('src-main/app/main.ts'),
          cli: resolve('src-main/engine-host/cli.ts'),
          tools: resolve('src-main/engine-host/tools.ts'),
          'engine-child': resolve('src-main/engine-host/engine-child.ts'),
          'reward-worker': resolve('src-main/engine-host/reward-worker.ts'),
          'judge-worker': resolve('src-main/engine-host/judge-worker.ts'),
          'render-sandbox': resolve('src-main/engine-host/render-sandbox.ts'),
          // Not run by Node: bundled once more when a sandbox starts, into the script its contexts evaluate.
          'render-sandbox-environment': resolve('src-main/engine-host/render-sandbox-environment.ts'),
          'render-sandbox-kit': resolve('src-main/engine-host/render-sandbox-kit.ts'),
          'page-kit-environment': resolve('src-main/engine-host/page-kit-environment.ts'),
          'page-kit': resolve('src-main/engine-host/page-kit.ts'),
          'script-sandbox-kit': resolve('src-main/engine-host/script-sandbox-kit.ts'),
          'maths-sandbox-kit': resolve('src-main/engine-host/maths-sandbox-kit.ts'),
        },
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  },
  preload: {
    build: {
      outDir: 'out/preload',
      target: 'node20',
      rollupOptions: {
        input: { preload: resolve('src-main/preload/preload.ts') },
        // A sandboxed window loads only CommonJS.
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  renderer: {
    root: 'src-renderer',
    plugins: [svelte({ configFile: false })],
    build: {
      outDir: resolve('out/renderer'),
      target: 'chrome130',
      // How long plugins took is no warning for someone who starts the app.
      rollupOptions: { input: { index: resolve('src-renderer/index.html') }, checks: { pluginTimings: false } },
    },
  },
})
