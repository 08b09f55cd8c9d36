export declare const nodeFileName: string
export declare function foreignLibraries(platform: NodeJS.Platform, listing: string): string[]
export declare function isSupportedNode(version: string): boolean
export declare function chooseNode(environment?: NodeJS.ProcessEnv): { binary: string; version: string; sha256: string; licence: string | undefined }
