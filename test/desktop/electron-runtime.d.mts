export function missingForDesktopTests(): string | undefined
export function prepareElectronRuntime(applicationFolder?: string): Promise<{ executable: string; electronVersion: string }>
export function prepareElectronDistribution(): Promise<{ folder: string; electronVersion: string }>
