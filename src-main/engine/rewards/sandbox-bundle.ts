// Bundles what lives inside a sandbox context (React, a document, the evaluator) into one classic script.
import { build, type Plugin } from 'esbuild'
import { builtPath } from '../runtime/paths.ts'

/** The script of the sandbox that shows pages. Takes about 150 ms. */
export function bundleSandboxKit(): Promise<string> {
  return bundleKit(['render-sandbox-environment.js', 'render-sandbox-kit.js'])
}

/** The script every page of the render service is furnished with. */
export function bundlePageKit(): Promise<string> {
  return bundleKit(['page-kit-environment.js', 'page-kit.js'])
}

/** One script of built entries (files in `out/main`), evaluated in the order given. */
export async function bundleKit(entries: readonly string[]): Promise<string> {
  const result = await build({
    stdin: { contents: entries.map((entry) => `import './${entry}'`).join('\n'), resolveDir: builtPath(), sourcefile: 'sandbox.js' },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    charset: 'utf8',
    minify: true,
    keepNames: false,
    legalComments: 'none',
    mainFields: ['module', 'main'],
    define: { 'process.env.NODE_ENV': '"production"' },
    external: ['canvas'],
    plugins: [lighten],
    logLevel: 'silent',
  })
  const output = result.outputFiles[0]
  if (output === undefined) throw new Error('esbuild made no sandbox script')
  return output.text
}

// Parts of the document library that cost most of a context's start and that no page here needs: style sheets as objects, writing
// HTML for other kinds of documents, and the 2,231 named entities (the five of XML are enough for innerHTML).
const stubs: Readonly<Record<string, string>> = {
  'cssomnom/parse': 'export const parse = () => ({ cssRules: [] })',
  'dom-serializer': "export default () => ''",
}

const lighten: Plugin = {
  name: 'lighten',
  setup(bundler) {
    bundler.onResolve({ filter: /^(?:cssomnom\/parse|dom-serializer)$/ }, ({ path }) => ({ path, namespace: 'stub' }))
    bundler.onLoad({ filter: /.*/, namespace: 'stub' }, ({ path }) => ({ contents: stubs[path] ?? '' }))
    bundler.onLoad({ filter: /entities[\\/]dist[\\/].*decode-data-html\.js$/ }, () => ({ contents: "export { xmlDecodeTree as htmlDecodeTree } from './decode-data-xml.js'" }))
  },
}
