export * from './index.js'
import * as durward from './index.js'
export default durward
