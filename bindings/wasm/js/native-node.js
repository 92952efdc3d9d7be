// In the place of `bindings/node/lib/native.js` where Node imports the package of WebAssembly itself.

import { readFileSync } from 'node:fs'
import * as wasm from 'durward-wasm-glue'
import { addon } from './addon.js'
import { readPolicies } from './files.js'

wasm.initSync({ module: readFileSync(new URL('./durward_wasm_bg.wasm', import.meta.url)) })

export const { TEXT_BYTES, NativePdp, NativeWatch, decideText, decideBytes, open, openAsync, fromTexts, fromTextsAsync } = addon(
  wasm,
  { files: readPolicies },
)
