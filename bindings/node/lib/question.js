'use strict'

const { QuestionError } = require('./errors.js')
const { byteLength, bytesOf, types } = require('./platform.js')

/** Deeper objects are a mistake, often one that holds itself. The addon reads less. */
const DEPTH_MAX = 1000

/** Half of a pair of UTF-16 without the other half: no character, and nothing that UTF-8 can say. */
const LONE_SURROGATE = /\p{Cs}/u

// Node 18 has no `isWellFormed`.
const isWellFormed =
  typeof String.prototype.isWellFormed === 'function'
    ? (text) => text.isWellFormed()
    : (text) => !LONE_SURROGATE.test(text)

/** The text of a subscription: a string, or bytes as they are. */
function subscriptionText(subscription, bytesMax) {
  if (typeof subscription === 'string') return checked(subscription, bytesMax)
  if (types.isUint8Array(subscription)) return unshared(subscription)
  if (typeof subscription === 'object' && subscription !== null) return checked(json(subscription), bytesMax)
  throw new QuestionError(`a subscription is a string, a Buffer or an object, not ${named(subscription)}`)
}

/** The bytes of a subscription. */
function subscriptionBytes(subscription, bytesMax) {
  const text = subscriptionText(subscription, bytesMax)
  return typeof text === 'string' ? bytesOf(text) : text
}

/** The bytes of a request of XACML, which is XML or JSON; an object is JSON. */
function requestBytes(request, bytesMax) {
  if (typeof request === 'string') return bytesOf(checked(request, bytesMax))
  if (types.isUint8Array(request)) return unshared(request)
  if (typeof request === 'object' && request !== null) return bytesOf(checked(json(request), bytesMax))
  throw new QuestionError(`a request is a string, a Buffer or an object, not ${named(request)}`)
}

function checked(text, bytesMax) {
  // A character is a byte at least: what is longer need not be copied to be refused.
  if (text.length > bytesMax) {
    throw new QuestionError(
      `a question of ${byteLength(text)} bytes is longer than the ${bytesMax} that are read`,
    )
  }
  if (!isWellFormed(text)) throw new QuestionError('the text has a lone surrogate, which is no character')
  return text
}

/** Bytes that no other thread changes while they are read. */
function unshared(bytes) {
  return types.isSharedArrayBuffer(bytes.buffer) ? bytesOf(bytes) : bytes
}

function json(question) {
  check(question, '', 0)
  try {
    const text = JSON.stringify(question)
    if (typeof text === 'string') return text
  } catch (error) {
    throw new QuestionError(`the question is no JSON: ${error.message}`, { cause: error })
  }
  throw new QuestionError('the question is no JSON: its `toJSON` returned nothing')
}

/**
 * Refuses what `JSON.stringify` turns into something else without a word: NaN into null, a promise into `{}`. A member that is
 * undefined is left out, which is what `undefined` means in SAPL.
 */
function check(value, path, depth) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return
    case 'number':
      if (!Number.isFinite(value)) refuse(path, `${value} is no number of JSON`)
      return
    case 'object':
      if (value !== null) checkObject(value, path, depth)
      return
    default:
      refuse(path, `${named(value)} cannot be said in JSON`)
  }
}

function checkObject(value, path, depth) {
  if (depth > DEPTH_MAX) throw new QuestionError('the question is too deep; perhaps it holds itself')
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) check(value[index], path, depth + 1)
    return
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Object.prototype && value.toJSON === undefined) {
    for (const key in value) if (value[key] !== undefined) check(value[key], key, depth + 1)
    return
  }
  checkOther(value, path, depth)
}

function checkOther(value, path, depth) {
  if (types.isDate(value) && Number.isNaN(value.getTime())) refuse(path, 'an invalid date cannot be said in JSON')
  if (typeof value.toJSON === 'function') {
    const told = value.toJSON('')
    // One that gives itself is looked at by its members.
    if (told !== value) {
      if (told !== undefined) check(told, path, depth + 1)
      return
    }
  }
  if (types.isBoxedPrimitive(value)) return check(value.valueOf(), path, depth + 1)
  const kind = unsayable(value)
  if (kind !== undefined) refuse(path, `${kind} cannot be said in JSON`)
  for (const key of Object.keys(value)) if (value[key] !== undefined) check(value[key], key, depth + 1)
}

/** Objects whose contents are no members. */
function unsayable(value) {
  if (types.isPromise(value)) return 'a promise (is an `await` missing?)'
  if (types.isMap(value) || types.isSet(value)) return 'a Map or Set'
  if (types.isWeakMap(value) || types.isWeakSet(value)) return 'a WeakMap or WeakSet'
  if (types.isRegExp(value)) return 'a regular expression'
  if (types.isNativeError(value)) return 'an error'
  if (types.isArrayBufferView(value) || types.isAnyArrayBuffer(value)) return 'binary data'
  return undefined
}

function refuse(path, why) {
  throw new QuestionError(path === '' ? why : `\`${path}\`: ${why}`)
}

function named(value) {
  if (value === null) return 'null'
  if (value === undefined) return 'undefined'
  return typeof value === 'bigint' ? 'a BigInt' : `a ${typeof value}`
}

module.exports = { subscriptionText, subscriptionBytes, requestBytes }
