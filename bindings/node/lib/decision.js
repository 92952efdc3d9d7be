'use strict'

/** A decision. It cannot be changed. */
class Decision {
  /** `told` is a decision as SAPL writes it; what is empty is absent. */
  constructor(told) {
    this.permit = told.decision === 'PERMIT'
    this.decision = told.decision
    if (told.obligations !== undefined) this.obligations = frozen(told.obligations)
    if (told.advice !== undefined) this.advice = frozen(told.advice)
    if (told.resource !== undefined) this.resource = frozen(told.resource)
    Object.freeze(this)
  }

  /** The decision as SAPL writes it. */
  toJSON() {
    const { permit, ...told } = this
    return told
  }
}

/** Freezes a value of JSON and all that it holds. The addon bounds how deep that is. */
function frozen(value) {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}

/** Decisions that nothing goes along with, in the order of `number` in `src/answer.rs`. */
const PLAIN = Object.freeze(
  ['PERMIT', 'DENY', 'SUSPEND', 'NOT_APPLICABLE', 'INDETERMINATE'].map((decision) => new Decision({ decision })),
)

/** A decision of what the addon answered: a number, or JSON. */
function decisionOf(answer) {
  return typeof answer === 'number' ? PLAIN[answer] : new Decision(JSON.parse(answer))
}

module.exports = { Decision, decisionOf }
