// In the place of `bindings/node/lib/native.js` in Deno, which compiles the module beside this file.

import source module from './durward_wasm_bg.wasm'
import * as wasm from 'durward-wasm-glue'
import { addon } from './addon.js'
import { readPolicies } from './files.js'

wasm.initSync({ module })

export const { TEXT_BYTES, NativePdp, NativeWatch, decideText, decideBytes, open, openAsync, fromTexts, fromTextsAsync } = addon(
  wasm,
  { files: readPolicies },
)
