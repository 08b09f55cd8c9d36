import { describe, expect, it } from 'vitest'
import { appFile, contentSecurityPolicy, isAppUrl, isNavigationAllowed, isPermissionGranted, isRequestAllowed, isTrustedSender, startPage } from '../../src-main/app/policies.ts'

describe('appFile', () => {
  it('names the file of a page address', () => {
    expect(appFile('app://satchel/index.html')).toEqual({ path: 'index.html', contentType: 'text/html; charset=utf-8' })
    expect(appFile('app://satchel/assets/index-1a2b.js?x#y')).toEqual({ path: 'assets/index-1a2b.js', contentType: 'text/javascript; charset=utf-8' })
  })

  it.each([
    'app://satchel/', 'app://satchel', 'app://other/index.html', 'file:///etc/passwd', 'https://satchel/index.html', 'not an address',
    'app://satchel/secret.pem', 'app://satchel/index', 'app://satchel/a%00.html', 'app://satchel/..%5c..%5cboot.html', 'app://satchel/%E0%A4%A.html',
    'app://satchel/c:/windows/page.html', 'app://satchel/page.html:stream.html',
  ])('refuses %s', (url) => {
    expect(appFile(url)).toBeUndefined()
  })

  it.each(['app://satchel/../../index.html', 'app://satchel/%2e%2e/%2e%2e/index.html', 'app://satchel/a/..%2f..%2f..%2findex.html'])('never leaves the folder: %s', (url) => {
    expect(appFile(url)?.path ?? 'index.html').toBe('index.html')
  })
})

describe('requests', () => {
  it('lets only files of the app through', () => {
    expect(isRequestAllowed(startPage, false)).toBe(true)
    expect(isRequestAllowed('data:image/png;base64,AA==', false)).toBe(true)
    for (const url of ['https://example.org/', 'http://127.0.0.1:80/', 'ws://localhost/', 'file:///etc/hosts', 'data:text/html,x', 'blob:app://satchel/1', 'chrome-extension://a/b.js', 'devtools://devtools/x', '']) {
      expect(isRequestAllowed(url, false), url).toBe(false)
    }
  })

  it('lets developer tools load their own files in a checkout', () => {
    expect(isRequestAllowed('devtools://devtools/bundled/x.js', true)).toBe(true)
    expect(isRequestAllowed('https://example.org/', true)).toBe(false)
  })

  it('tells the page from look-alikes', () => {
    expect(isAppUrl('app://satchel/x.js')).toBe(true)
    for (const url of ['app://satchel.example.org/x.js', 'app://satchel@evil/x.js', 'apps://satchel/x.js', 'app:satchel']) expect(isAppUrl(url), url).toBe(false)
  })
})

describe('navigation and senders', () => {
  it('keeps the page at its address', () => {
    expect(isNavigationAllowed(startPage)).toBe(true)
    expect(isNavigationAllowed(`${startPage}#runs`)).toBe(true)
    for (const url of ['app://satchel/other.html', 'https://example.org', 'about:blank', 'javascript:alert(1)', 'file:///x', '']) expect(isNavigationAllowed(url), url).toBe(false)
  })

  it('answers only the top frame of the page', () => {
    expect(isTrustedSender({ url: startPage, isTopFrame: true })).toBe(true)
    expect(isTrustedSender({ url: startPage, isTopFrame: false })).toBe(false)
    expect(isTrustedSender({ url: 'https://example.org', isTopFrame: true })).toBe(false)
    expect(isTrustedSender(undefined)).toBe(false)
  })

  it('grants no permission', () => {
    for (const permission of ['media', 'geolocation', 'notifications', 'clipboard-read', 'openExternal', 'hid', 'fullscreen']) expect(isPermissionGranted(permission)).toBe(false)
  })

  it('allows no inline code, no evaluation and no connection in its content policy', () => {
    expect(contentSecurityPolicy).toContain("default-src 'none'")
    expect(contentSecurityPolicy).toContain("connect-src 'none'")
    expect(contentSecurityPolicy).not.toMatch(/unsafe|\*|https?:/)
  })
})
