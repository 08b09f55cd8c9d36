// The pages of the app, in the order of the navigation. A new page is one line here.
import type { Component } from 'svelte'
import type { AppView, RunController } from '../state/run-controller.ts'
import DemoRunPage from './demo-run-page.svelte'


export interface Page {
  readonly id: string
  readonly title: string
  readonly icon: 'run'
  readonly component: Component<{ view: AppView; controller: RunController }>
}

export const pages: readonly [Page, ...Page[]] = [{ id: 'demo', title: 'Demo run', icon: 'run', component: DemoRunPage }]
