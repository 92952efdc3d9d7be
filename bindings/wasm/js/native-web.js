// In the place of `bindings/node/lib/native.js` where there is no file system: whoever uses the package has the module loaded.

import * as wasm from 'durward-wasm-glue'
import { addon } from './addon.js'

let loaded = false

/** Loads the module: from beside this file, or from an address, a response, bytes, or a `WebAssembly.Module`. */
export async function init(source) {
  if (loaded) return
  await wasm.default(source === undefined ? undefined : { module_or_path: source })
  loaded = true
}

/** Loads the module at once, from bytes or a `WebAssembly.Module`. */
export function initSync(module) {
  if (loaded) return
  wasm.initSync({ module })
  loaded = true
}

export const { TEXT_BYTES, NativePdp, NativeWatch, decideText, decideBytes, open, openAsync, fromTexts, fromTextsAsync } = addon(
  wasm,
  { isLoaded: () => loaded },
)
