// The pages of the app, in the order of the navigation. A new page is one line here.
import type { Component } from 'svelte'
import type { AppState } from '../state/app-state.svelte.ts'
import type { IconName } from '../ui/icons.ts'
import DatasetsPage from './datasets-page.svelte'
import HomePage from './home-page.svelte'
import ModelsPage from './models-page.svelte'
import MonitorPage from './monitor-page.svelte'
import ComparePage from './compare-page.svelte'
import ExportPage from './export-page.svelte'
import RewardsPage from './rewards-page.svelte'
import RolloutsPage from './rollouts-page.svelte'
import SettingsPage from './settings-page.svelte'
import SetupPage from './setup-page.svelte'
import TryPage from './try-page.svelte'

/** What a page is about; the navigation puts those of one group together. */
export type PageGroup = 'start' | 'prepare' | 'runs' | 'app'

export interface Page {
  /** What `app.navigation.go` calls it. */
  readonly id: string
  readonly title: string
  readonly icon: IconName
  readonly group: PageGroup
  readonly component: Component<{ app: AppState }>
}

export const pages: readonly [Page, ...Page[]] = [
  { id: 'home', title: 'Home', icon: 'home', group: 'start', component: HomePage },
  { id: 'models', title: 'Models', icon: 'model', group: 'prepare', component: ModelsPage },
  { id: 'datasets', title: 'Datasets', icon: 'data', group: 'prepare', component: DatasetsPage },
  { id: 'rewards', title: 'Rewards', icon: 'reward', group: 'prepare', component: RewardsPage },
  { id: 'setup', title: 'Run setup', icon: 'compose', group: 'runs', component: SetupPage },
  { id: 'monitor', title: 'Monitor', icon: 'run', group: 'runs', component: MonitorPage },
  { id: 'rollouts', title: 'Rollouts', icon: 'rollouts', group: 'runs', component: RolloutsPage },
  { id: 'compare', title: 'Compare', icon: 'compare', group: 'runs', component: ComparePage },
  { id: 'try', title: 'Try it', icon: 'chat', group: 'runs', component: TryPage },
  { id: 'export', title: 'Export and report', icon: 'export', group: 'runs', component: ExportPage },
  { id: 'settings', title: 'Settings', icon: 'settings', group: 'app', component: SettingsPage },
]

/** Headings of the groups; empty where a group needs none. */
export const groupTitles: Readonly<Record<PageGroup, string>> = { start: '', prepare: 'Prepare', runs: 'Train', app: '' }
