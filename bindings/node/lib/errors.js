'use strict'

/** What durward refuses. Whoever asked must treat it as a deny. */
class DurwardError extends Error {
  get name() {
    return this.constructor.name
  }
}

/** Policies were not put in force: `problems` says where and why. Those that were in force still are. */
class PolicyError extends DurwardError {
  constructor(message, problems = []) {
    super(message)
    this.problems = problems
  }
}

/** A question has no decision: it is no subscription or no request. */
class QuestionError extends DurwardError {}

/** What the addon threw, as an error of the right class. Its message is JSON; what is not comes from Node itself. */
function fromNative(error) {
  let told
  try {
    told = JSON.parse(error.message)
  } catch {
    return new DurwardError(error.message, { cause: error })
  }
  switch (told.kind) {
    case 'policy':
      return new PolicyError(told.message, told.problems.map(withoutNulls))
    case 'question':
      return new QuestionError(told.message)
    default:
      return new DurwardError(told.message)
  }
}

function withoutNulls(problem) {
  return Object.freeze(Object.fromEntries(Object.entries(problem).filter(([, value]) => value !== null)))
}

module.exports = { DurwardError, PolicyError, QuestionError, fromNative }
