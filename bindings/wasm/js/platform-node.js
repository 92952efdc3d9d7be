// `bindings/node/lib/platform.js` for modules, which cannot `require` what is Node's.

import { fileURLToPath } from 'node:url'
import { types } from 'node:util'

export { types }
export const bytesOf = (text) => Buffer.from(text)
export const byteLength = (text) => Buffer.byteLength(text)
export const pathOfUrl = fileURLToPath
