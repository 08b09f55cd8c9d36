import type { Configuration } from 'electron-builder'

export declare const fuses: NonNullable<Configuration['electronFuses']>
declare const configuration: Configuration
export default configuration
