// The two entry points of react-dom the sandbox uses; react-dom carries no types of its own.
declare module 'react-dom/client' {
  import type { ReactNode } from 'react'
  export interface Root {
    render(children: ReactNode): void
    unmount(): void
  }
  export interface RootOptions {
    onUncaughtError?: (error: unknown) => void
    onCaughtError?: (error: unknown) => void
    onRecoverableError?: (error: unknown) => void
  }
  export function createRoot(container: unknown, options?: RootOptions): Root
}

declare module 'react-dom' {
  export function flushSync<Result>(work: () => Result): Result
}
