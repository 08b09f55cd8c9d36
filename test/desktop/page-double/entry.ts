// The whole page in front of the contract's test double, for a browser: nothing behind it computes, and everything it asks for is kept.
import '../../../src-renderer/state/no-eval.ts'
import '@fontsource/ibm-plex-sans/latin-400.css'
import '@fontsource/ibm-plex-sans/latin-500.css'
import '@fontsource/ibm-plex-sans/latin-600.css'
import '@fontsource/ibm-plex-mono/latin-400.css'
import '@fontsource/ibm-plex-mono/latin-500.css'
import '../../../src-renderer/styles/tokens.css'
import '../../../src-renderer/styles/base.css'
import { mount } from 'svelte'
import AppShell from '../../../src-renderer/app-shell.svelte'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import type { CallName } from '../../../src-main/contract/calls.ts'
import { sceneOf } from './scenes.ts'

const double = createBridgeDouble(sceneOf(new URL(location.href).searchParams.get('scene')))

declare global {
  interface Window {
    /** Requests made so far of one call. */
    requestsOf?: (name: CallName) => unknown[]
  }
}

window.requestsOf = (name) => double.made.filter((call) => call.name === name).map(({ request }) => request)

const target = document.getElementById('app')
if (target === null) throw new Error('the page has no element with id app')
mount(AppShell, { target, props: { bridge: double } })
