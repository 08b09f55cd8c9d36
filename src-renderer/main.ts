// Entry of the page.
import './state/no-eval.ts'
import '@fontsource/ibm-plex-sans/latin-400.css'
import '@fontsource/ibm-plex-sans/latin-500.css'
import '@fontsource/ibm-plex-sans/latin-600.css'
import '@fontsource/ibm-plex-mono/latin-400.css'
import '@fontsource/ibm-plex-mono/latin-500.css'
import './styles/tokens.css'
import './styles/base.css'
import { mount } from 'svelte'
import AppShell from './app-shell.svelte'
import { pageBridge } from './bridge/client.ts'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no element with id app')
mount(AppShell, { target, props: { bridge: pageBridge() } })
