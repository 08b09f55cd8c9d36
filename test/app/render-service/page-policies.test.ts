import { describe, expect, test } from 'vitest'
import { consoleMessageKind, isPageRequestAllowed, pageAddress, pageFile, pageSecurityPolicy } from '../../../src-main/app/render-service/page-policies.ts'
import { pixelFacts } from '../../../src-main/app/render-service/pixel-facts.ts'

describe('a generated page', () => {
  test('is served three files and nothing else', () => {
    expect(pageFile(pageAddress, 'kit', 'program')?.contentType).toMatch(/html/)
    expect(pageFile('page://page/kit.js', 'kit', 'program')?.body).toBe('kit')
    expect(pageFile('page://page/program.js', 'kit', 'a // b')?.body).toBe('satchelRegister(function (exports, require, module) {a // b\n})')
    for (const url of ['page://page/other.js', 'page://other/kit.js', 'page://page/kit.js?x', 'file:///etc/passwd', 'https://example.org/']) expect(pageFile(url, 'kit', 'program')).toBeUndefined()
  })

  test('may ask for its files and for pictures it made itself, and for no document or script made of data', () => {
    expect(isPageRequestAllowed('page://page/kit.js', 'script')).toBe(true)
    expect(isPageRequestAllowed('data:image/png;base64,AA', 'image')).toBe(true)
    expect(isPageRequestAllowed('blob:null/1', 'image')).toBe(true)
    for (const [url, type] of [['data:text/html,x', 'mainFrame'], ['data:text/html,x', 'subFrame'], ['data:text/javascript,1', 'script'], ['http://127.0.0.1/', 'xhr'], ['ws://127.0.0.1/', 'webSocket'], ['file:///etc/passwd', 'image'], ['page://page/more.js', 'script']] as const) expect(isPageRequestAllowed(url, type)).toBe(false)
  })

  test('has an origin of its own, and runs no code but its two scripts', () => {
    expect(pageSecurityPolicy).toMatch(/^sandbox allow-scripts allow-forms; default-src 'none'/)
    expect(pageSecurityPolicy).not.toMatch(/allow-same-origin|allow-modals|allow-popups|allow-downloads|allow-top|unsafe-eval|https?:|script-src[^;]*unsafe/)
  })

  test('is told apart from what the window refuses it', () => {
    expect(consoleMessageKind('Uncaught Error: no')).toBe('page-error')
    expect(consoleMessageKind('Uncaught (in promise) TypeError: x')).toBe('page-error')
    expect(consoleMessageKind('oops')).toBe('console-error')
    expect(consoleMessageKind("Refused to load the image 'http://x/' because it violates the following Content Security Policy directive")).toBe('notice')
  })
})

describe('pixels', () => {
  const page = (...marks: readonly (readonly [index: number, colour: number])[]): Uint8Array => {
    const words = new Uint32Array(1_000).fill(0xffffffff)
    for (const [index, colour] of marks) words[index] = colour
    return new Uint8Array(words.buffer)
  }
  const marks = (count: number, colour: number): [number, number][] => Array.from({ length: count }, (_, index) => [7 * index, colour])

  test('of one colour are a blank page, and so are a few dots on it', () => {
    expect(pixelFacts(page())).toEqual({ distinctPixels: 0, uniform: true })
    expect(pixelFacts(page(...marks(12, 0xff000000)))).toEqual({ distinctPixels: 12, uniform: true })
    expect(pixelFacts(page(...marks(13, 0xff000000)))).toEqual({ distinctPixels: 13, uniform: false })
  })

  test('that differ by what nobody sees are of one colour', () => {
    expect(pixelFacts(page(...marks(100, 0xfff3f3f3)))).toEqual({ distinctPixels: 0, uniform: true })
    expect(pixelFacts(page(...marks(100, 0xfff2f3f3)))).toEqual({ distinctPixels: 100, uniform: false })
  })
})
