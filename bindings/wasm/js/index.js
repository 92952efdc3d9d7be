// The package where there are files.

import durward from '../../node/index.js'

export const { Decision, DurwardError, Explanation, Pdp, PolicyError, QuestionError, Watch } = durward
export default durward
