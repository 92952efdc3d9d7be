// What `bindings/node/lib/native.js` loads where no addon of the machine serves: it has what that addon has.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as wasm from 'durward-wasm-glue'
import { addon } from './addon.js'
import { readPolicies } from './files.js'

wasm.initSync({ module: readFileSync(join(__dirname, 'durward_wasm_bg.wasm')) })

export const isWasm = true
export const { TEXT_BYTES, NativePdp, NativeWatch, decideText, decideBytes, open, openAsync, fromTexts, fromTextsAsync } = addon(
  wasm,
  { files: readPolicies },
)
