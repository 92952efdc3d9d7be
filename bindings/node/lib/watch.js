'use strict'

const { decisionOf } = require('./decision.js')
const { fromNative } = require('./errors.js')

/** Watches that somebody waits for, who would otherwise wait for something that is collected as garbage. */
const awaited = new Set()

/** How many of them keep the process alive, and the timer that does it: never due, as long as a timer can be. */
let holding = 0
let timer
const TIMER_MS = 2 ** 31 - 1

function hold() {
  holding += 1
  if (holding === 1) timer = setInterval(() => {}, TIMER_MS)
}

function letGo() {
  holding -= 1
  if (holding === 0) clearInterval(timer)
}

/**
 * Decisions that follow one another: the first at once, then each that is unlike the one given before. Who is slow sees only the latest.
 * While somebody waits for the next one, the process is kept alive, unless `unref` was called.
 */
class Watch {
  #native
  #isClosed = false
  #isRef = true
  /** Those who wait for a decision, the first first. */
  #waiting = []

  constructor(open) {
    // The addon must not keep alive what nobody uses.
    const self = new WeakRef(this)
    this.#native = open(() => self.deref()?.#woken())
  }

  next() {
    if (this.#isClosed) return Promise.resolve({ value: undefined, done: true })
    if (this.#waiting.length === 0) {
      let answer
      try {
        answer = this.#native.poll()
      } catch (error) {
        return Promise.reject(fromNative(error))
      }
      if (answer !== null) return Promise.resolve({ value: decisionOf(answer), done: false })
      awaited.add(this)
      if (this.#isRef) hold()
    }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  #woken() {
    try {
      while (this.#waiting.length > 0) {
        const answer = this.#native.poll()
        if (answer === null) return
        this.#waiting.shift().resolve({ value: decisionOf(answer), done: false })
      }
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(fromNative(error))
    }
    this.#settled()
  }

  /** Nobody waits any more. */
  #settled() {
    if (awaited.delete(this) && this.#isRef) letGo()
  }

  close() {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#native.close()
    for (const { resolve } of this.#waiting.splice(0)) resolve({ value: undefined, done: true })
    this.#settled()
  }

  async return(value) {
    this.close()
    return { value, done: true }
  }

  async throw(error) {
    this.close()
    throw error
  }

  ref() {
    if (!this.#isRef && awaited.has(this)) hold()
    this.#isRef = true
    return this
  }

  unref() {
    if (this.#isRef && awaited.has(this)) letGo()
    this.#isRef = false
    return this
  }

  [Symbol.asyncIterator]() {
    return this
  }
}

if (Symbol.asyncDispose !== undefined) {
  Watch.prototype[Symbol.asyncDispose] = async function () {
    this.close()
  }
}

module.exports = { Watch }
