export * from './index.js'
import * as durward from './index.js'
export default durward

/**
 * Loads the module of WebAssembly: from beside the package, or from an address, a `Response` or a promise of one, bytes, or a
 * `WebAssembly.Module`. To be awaited before a decision point is made.
 */
export function init(source?: string | URL | object): Promise<void>

/** Loads it at once, from bytes or a `WebAssembly.Module`. */
export function initSync(module: object): void
