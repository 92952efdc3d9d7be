'use strict'

const native = require('./native.js')
const { Decision, decisionOf } = require('./decision.js')
const { DurwardError, QuestionError, fromNative } = require('./errors.js')
const { bytesOf, pathOfUrl, types } = require('./platform.js')
const { requestBytes, subscriptionBytes, subscriptionText } = require('./question.js')
const { Watch } = require('./watch.js')

/** The longest text of a question, in bytes. */
const BYTES_MAX = native.TEXT_BYTES

const { decideText, decideBytes } = native

/** Only this module makes a decision point of what the addon gives. */
const KEY = Symbol('durward')

/** Why a question is answered as it is: `text` in words, `steps` as values. */
class Explanation {
  constructor({ text, json }) {
    this.text = text
    this.steps = JSON.parse(json)
    Object.freeze(this)
  }

  toString() {
    return this.text
  }

  toJSON() {
    return this.steps
  }
}

/** A policy decision point with its policies. */
class Pdp {
  #native
  /** How functions of the addon, which are faster than its methods, know it while `#native` is there. */
  #number
  /** Those that may still be open, to be closed with the decision point. They do not live on because they are listed here. */
  #watches = new Set()

  constructor(key, made) {
    if (key !== KEY) throw new DurwardError('a decision point is made by Pdp.fromDir or Pdp.fromTexts')
    this.#native = made
    this.#number = made.number()
  }

  static fromDir(path) {
    return new Pdp(KEY, call(() => native.open(pathOf(path))))
  }

  static async fromDirAsync(path) {
    return new Pdp(KEY, await wait(() => native.openAsync(pathOf(path))))
  }

  static fromTexts(texts) {
    return new Pdp(KEY, call(() => native.fromTexts(...named(texts))))
  }

  static async fromTextsAsync(texts) {
    return new Pdp(KEY, await wait(() => native.fromTextsAsync(...named(texts))))
  }

  decide(subscription) {
    const text = subscriptionText(subscription, BYTES_MAX)
    let answer
    try {
      answer = typeof text === 'string' ? decideText(this.#number, text) : decideBytes(this.#number, text)
    } catch (error) {
      throw fromNative(error)
    }
    return decisionOf(answer)
  }

  decideMany(subscriptions, { returnErrors = false } = {}) {
    const decisions = []
    for (const subscription of subscriptions) {
      decisions.push(returnErrors ? this.#decideOrError(subscription) : this.decide(subscription))
    }
    return decisions
  }

  /** A question that cannot be answered does not keep the others from it. */
  #decideOrError(subscription) {
    try {
      return this.decide(subscription)
    } catch (error) {
      if (error instanceof QuestionError) return error
      throw error
    }
  }

  decideRequest(request) {
    const bytes = requestBytes(request, BYTES_MAX)
    return call(() => this.#native.decideRequest(bytes))
  }

  explain(subscription) {
    const bytes = subscriptionBytes(subscription, BYTES_MAX)
    return new Explanation(call(() => this.#native.explain(bytes)))
  }

  explainRequest(request) {
    const bytes = requestBytes(request, BYTES_MAX)
    return new Explanation(call(() => this.#native.explainRequest(bytes)))
  }

  watch(subscription) {
    const bytes = subscriptionBytes(subscription, BYTES_MAX)
    const watch = new Watch((wake) => call(() => this.#native.watch(bytes, wake)))
    for (const known of this.#watches) if (known.deref() === undefined) this.#watches.delete(known)
    this.#watches.add(new WeakRef(watch))
    return watch
  }

  reload() {
    return Object.freeze(call(() => this.#native.reload()))
  }

  async reloadAsync() {
    return Object.freeze(await wait(() => this.#native.reloadAsync()))
  }

  replace(texts) {
    return Object.freeze(call(() => this.#native.replace(...named(texts))))
  }

  async replaceAsync(texts) {
    return Object.freeze(await wait(() => this.#native.replaceAsync(...named(texts))))
  }

  snapshot() {
    return Object.freeze(call(() => this.#native.snapshot()))
  }

  close() {
    for (const watch of this.#watches) watch.deref()?.close()
    this.#watches.clear()
    this.#native.close()
  }
}

if (Symbol.dispose !== undefined) Pdp.prototype[Symbol.dispose] = Pdp.prototype.close

/** Calls the addon, with errors of the right class. */
function call(ask) {
  try {
    return ask()
  } catch (error) {
    throw error instanceof DurwardError ? error : fromNative(error)
  }
}

async function wait(ask) {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof DurwardError ? error : fromNative(error)
  }
}

function pathOf(path) {
  if (typeof path === 'string') return path
  if (path instanceof URL) return pathOfUrl(path)
  throw new DurwardError('a path is a string or a URL of a file')
}

/** Names and texts of policies, from an object or a Map. */
function named(texts) {
  if (typeof texts !== 'object' || texts === null || Array.isArray(texts)) {
    throw new DurwardError('policies are an object or a Map of names and texts')
  }
  const entries = texts instanceof Map ? [...texts] : Object.entries(texts)
  const names = entries.map(([name]) => nameOf(name))
  return [names, entries.map(([name, text]) => textOf(name, text))]
}

function nameOf(name) {
  if (typeof name === 'string') return name
  throw new DurwardError('the name of a policy is a string')
}

function textOf(name, text) {
  if (typeof text === 'string') return bytesOf(text)
  // A copy: where it is loaded on another thread, nobody changes it there.
  if (types.isUint8Array(text)) return bytesOf(text)
  throw new DurwardError(`the text of the policy \`${name}\` is a string or a Buffer`)
}

module.exports = { Decision, Explanation, Pdp }
