// The licences of everything a package carries, as one text a person can read and one list for programs.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../eslint.rooms.js'
import { closure } from './packages.mjs'

const declared = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Names of the packages that are in the built page or the kernels: their code is inside ours, their folders are not. */
export function bundledPackages() {
  const known = Object.keys({ ...declared.dependencies, ...declared.devDependencies })
  const files = readdirSync(join(root, 'src-renderer'), { recursive: true }).filter((name) => /\.(?:ts|svelte|css)$/.test(name))
  const text = files.map((name) => readFileSync(join(root, 'src-renderer', name), 'utf8')).join('\n')
  const specifiers = new Set([...text.matchAll(/(?:from|import|@import|url\()\s*\(?['"]([^'".][^'"]*)['"]/g)].map(([, specifier]) => specifier))
  const imported = known.filter((name) => [...specifiers].some((specifier) => specifier === name || specifier.startsWith(`${name}/`)))
  return [...imported, 'node-addon-api']
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the
"Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to
the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY
CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

const bsd2 = `Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions
are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the
   documentation and/or other materials provided with the distribution.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED
TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO,
PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF
LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`

/** For packages that name their licence and carry no text of it. */
const standardTexts = { MIT: mit, 'BSD-2-Clause': bsd2, 'Apache-2.0': readFileSync(join(root, 'LICENSE'), 'utf8') }

function nameOfAuthor({ author, name }) {
  const written = typeof author === 'string' ? author : author?.name
  return written ? written.replace(/\s*[<(].*$/, '') : `the authors of ${name}`
}

/**
 * Name, version, licence and its text of a package.
 * @throws Error when it carries no text and its licence is none of those whose text is known
 */
function noticeOf({ folder, name, version }) {
  const about = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  const licence = typeof about.license === 'string' ? about.license : (about.license?.type ?? about.licenses?.map(({ type }) => type).join(' OR '))
  const files = readdirSync(join(root, folder)).filter((file) => /^(?:licen[cs]e|notice|copying|thirdpartynotice)/i.test(file) && !/\.[cm]?[jt]s$/.test(file)).sort()
  const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim().replaceAll('\r\n', '\n'))
  if (texts.length > 0) return { name, version, licence, text: texts.join('\n\n') }
  const standard = standardTexts[licence]
  if (standard === undefined) throw new Error(`${folder} has neither a file with its licence (${licence}) nor one whose text is known to packaging/notices.mjs`)
  return { name, version, licence, text: `Copyright (c) ${nameOfAuthor(about)}\n\n${standard}` }
}

/** One entry for packages that are there more than once, sorted by name. */
function noticesOf(packages) {
  const byName = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]))
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1)).map(noticeOf)
}

const line = '-'.repeat(100)

/**
 * Writes THIRD-PARTY-NOTICES.txt, licences.json and the licences of Satchel and Node into `folder`. Electron's own (LICENSE.electron.txt,
 * LICENSES.chromium.html) come with it and stand beside the program.
 * @param {readonly { folder: string, name: string, version: string }[]} packages those whose files are carried
 * @param {{ version: string, licence: string | undefined }} node
 * @param {boolean} strict whether a Node without its licence is refused
 */
export function writeNotices(folder, packages, node, strict) {
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE.satchel.txt'))
  if (node.licence !== undefined) copyFileSync(node.licence, join(folder, 'LICENSE.node.txt'))
  else if (strict) throw new Error('The Node to package has no LICENSE beside it. Name the folder of an unpacked Node release in SATCHEL_PACKAGE_NODE.')
  const notices = noticesOf([...packages, ...closure(bundledPackages())])
  const list = notices.map(({ name, version, licence }) => ({ name, version, licence }))
  writeFileSync(join(folder, 'licences.json'), `${JSON.stringify([...list, { name: 'node', version: node.version.slice(1), licence: 'MIT' }], undefined, 2)}\n`)
  const introduction = `Satchel carries the following software of others. Node.js ${node.version} runs the engine (LICENSE.node.txt${node.licence === undefined ? ' of its release' : ''});\nElectron and Chromium show the window (LICENSE.electron.txt and LICENSES.chromium.html beside the program).`
  const parts = notices.map(({ name, version, licence, text }) => `${line}\n${name} ${version} (${licence})\n\n${text}\n`)
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), [introduction, '', ...parts].join('\n'))
}
