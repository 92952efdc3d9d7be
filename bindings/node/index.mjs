import durward from './index.js'

// The same classes whichever way the package is loaded.
export const { Decision, DurwardError, Explanation, Pdp, PolicyError, QuestionError, Watch } = durward
export default durward
