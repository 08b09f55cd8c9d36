// The pages of the app, in the order of the navigation. A new page is one line here.
import type { Component } from 'svelte'
import type { AppState } from '../state/app-state.svelte.ts'
import type { IconName } from '../ui/icons.ts'
import { words } from '../words.ts'
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
  { id: 'home', title: words.home.title, icon: 'home', group: 'start', component: HomePage },
  { id: 'models', title: words.models.title, icon: 'model', group: 'prepare', component: ModelsPage },
  { id: 'datasets', title: words.datasets.title, icon: 'data', group: 'prepare', component: DatasetsPage },
  { id: 'rewards', title: words.rewards.title, icon: 'reward', group: 'prepare', component: RewardsPage },
  { id: 'setup', title: words.setup.title, icon: 'compose', group: 'runs', component: SetupPage },
  { id: 'monitor', title: words.monitor.title, icon: 'run', group: 'runs', component: MonitorPage },
  { id: 'rollouts', title: words.rollouts.title, icon: 'rollouts', group: 'runs', component: RolloutsPage },
  { id: 'compare', title: words.compare.title, icon: 'compare', group: 'runs', component: ComparePage },
  { id: 'try', title: words.try.title, icon: 'chat', group: 'runs', component: TryPage },
  { id: 'export', title: words.export.title, icon: 'export', group: 'runs', component: ExportPage },
  { id: 'settings', title: words.settings.title, icon: 'settings', group: 'app', component: SettingsPage },
]
