// The words of the phrasings alone: every slot is filled with a digit, so what is left is the phrasing's own.
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { appKinds } from '../../../src-main/engine-host/make-demo/kinds.ts'

export function kindPhrasingWords(): ReadonlySet<string> {
  const words = new Set<string>()
  for (const kind of appKinds) {
    const blank = Object.fromEntries(Object.keys(kind.draw(createStream(1, 'test'))).map((name) => [name, '0']))
    for (const phrasing of kind.phrasings) for (const [word] of phrasing(blank).matchAll(/[A-Za-z]+/g)) words.add(word)
  }
  return words
}
