'use strict'

// What middleware does with a decision: nobody gets through whose obligations are not met.

const { DurwardError } = require('./errors.js')

/** Characters of an address that mean one thing to a policy and another to whatever serves it. */
const AMBIGUOUS = /[\\\0;]|\/\/|(^|\/)\.{1,2}(\/|$)/

/** The path of a target as a policy is to see it, decoded; `undefined` where it could be read in two ways. */
function pathOf(target) {
  const raw = target.split(/[?#]/, 1)[0]
  if (/%(2f|5c)/i.test(raw)) return undefined
  let path
  try {
    path = decodeURIComponent(raw)
  } catch {
    return undefined
  }
  return !path.startsWith('/') || AMBIGUOUS.test(path) ? undefined : path
}

/** By what an obligation or advice is known: the text itself, its `type`, or the `id` that XACML gives it. */
function nameOf(duty) {
  if (typeof duty === 'string') return duty
  if (typeof duty !== 'object' || duty === null) return undefined
  const name = duty.type ?? duty.id
  return typeof name === 'string' ? name : undefined
}

/** Finds the handler of an obligation or advice. */
function finder(handlers, what) {
  if (handlers === undefined) return () => undefined
  if (typeof handlers === 'function') return handlers
  if (typeof handlers !== 'object' || handlers === null) {
    throw new DurwardError(`\`${what}\` is an object of functions or a function that finds one`)
  }
  const known = new Map(Object.entries(handlers))
  for (const [name, handler] of known) {
    if (typeof handler !== 'function') throw new DurwardError(`the handler \`${name}\` of \`${what}\` is a function`)
  }
  return (duty) => known.get(nameOf(duty))
}

/** What the options of a guard come to. */
function settings(pdp, options, subscription) {
  if (typeof pdp?.decide !== 'function') throw new DurwardError('a guard needs a decision point: `new Pdp` of durward')
  const chosen = options.subscription ?? subscription
  if (typeof chosen !== 'function') throw new DurwardError('`subscription` is a function of the request')
  if (options.resource !== undefined && typeof options.resource !== 'function') {
    throw new DurwardError('`resource` is a function that takes what stands for the resource')
  }
  return {
    pdp,
    subscription: chosen,
    obligations: finder(options.obligations, 'obligations'),
    advice: finder(options.advice, 'advice'),
    resource: options.resource,
  }
}

/** Nothing was decided, and nobody gets through. */
const REFUSED = Object.freeze({ permit: false, decision: 'INDETERMINATE' })

/**
 * Asks, and does what the decision says: gives the decision, and whether the request may go on. Errors of `subscription`, of questions and of
 * handlers are thrown: whoever calls lets nobody through then.
 */
async function enforce({ pdp, subscription, obligations, advice, resource }, context) {
  const asked = await subscription(context.request)
  // Of an address that can be read in two ways nothing is asked.
  if (asked === undefined) return { decision: REFUSED, granted: false }
  const decision = pdp.decide(asked)
  const seen = Object.freeze({ ...context, decision })
  const musts = (decision.obligations ?? []).map((duty) => [duty, obligations(duty)])
  const isKnown = musts.every(([, handler]) => typeof handler === 'function')
  if (decision.permit && (!isKnown || (decision.resource !== undefined && resource === undefined))) {
    return { decision, granted: false }
  }
  for (const [duty, handler] of musts) if (typeof handler === 'function') await handler(duty, seen)
  if (decision.permit && decision.resource !== undefined) await resource(decision.resource, seen)
  for (const duty of decision.advice ?? []) await advise(advice(duty), duty, seen)
  return { decision, granted: decision.permit }
}

/** Advice need not be followed: where that fails, the decision stays. */
async function advise(handler, duty, seen) {
  if (typeof handler !== 'function') return
  try {
    await handler(duty, seen)
  } catch (error) {
    process.emitWarning(`advice could not be followed: ${error?.message ?? error}`, 'DurwardWarning')
  }
}

module.exports = { enforce, pathOf, settings }
