// The same, with the module loaded from beside this file before anything is imported.

import durward, { init } from './web.mjs'

await init()

export * from './web.mjs'
export default durward
