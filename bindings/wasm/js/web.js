// The package where there is no Node: its classes, and how to load the module.

import durward from '../../node/index.js'

export { init, initSync } from './native-web.js'
export const { Decision, DurwardError, Explanation, Pdp, PolicyError, QuestionError, Watch } = durward
export default durward
