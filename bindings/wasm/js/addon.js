// Makes of the module of WebAssembly what the addon of Node is (`bindings/node/src`): the same functions and classes, which `lib/pdp.js`
// calls. Here is what an addon has threads for: watched subscriptions are driven by a timer.

/** The longest text of a question, in bytes. The module itself refuses longer ones, too. */
const TEXT_BYTES = 4 * 1024 * 1024

/** The longest sleep: if the clock is set, nothing waits for longer. */
const SLEEP_MS_MAX = 1_000

/** From here on a number says that the decision is fetched as JSON: `AS_JSON` in `src/answer.rs`. */
const AS_JSON = 5

/** A panic ends as an exception of WebAssembly, and leaves things behind half done: nothing more is asked of the module then. */
let hasFailed = false

/** Those who have open watches. */
const drivers = new Set()

const refusal = (kind, message) => new Error(JSON.stringify({ kind, message, problems: [] }))

function failure() {
  return refusal('panic', 'durward failed; please report what it was asked. It answers nothing more before it is loaded again')
}

/** The error as it is where the module made it; whatever else it may be, the call did not come to its end. */
function told(error) {
  if (error instanceof Error && error.message.startsWith('{"kind":')) return error
  hasFailed = true
  for (const driver of drivers) driver.failed()
  return Object.assign(failure(), { cause: error })
}

/** Asks the module. What whoever calls does wrong must have been thrown before. */
function call(ask) {
  if (hasFailed) throw failure()
  try {
    return ask()
  } catch (error) {
    throw told(error)
  }
}

/** Another kind of value is a mistake of whoever calls. The generated JavaScript would read it as if it were right. */
function must(isRight, what) {
  if (!isRight) throw new TypeError(`not ${what}`)
}

const NONE = new Uint8Array(0)

/** The bytes. Where the buffer was given to somebody else there are none, and an exception comes of reading them. */
function bytesOf(bytes) {
  must(bytes instanceof Uint8Array, 'a Uint8Array')
  return bytes.length === 0 ? NONE : bytes
}

/** The addon over the JavaScript that `wasm-bindgen` wrote; `files` reads folders, where there are any; the module may be loaded later. */
export function addon(wasm, { files, isLoaded = () => true } = {}) {
  /** Before there is a decision point, nothing else can be asked. */
  function mustBeLoaded() {
    if (!isLoaded()) throw refusal('unloaded', 'durward is not loaded: call `init` and wait for it, or `initSync`')
  }

  function textsOf(names, texts) {
    mustBeLoaded()
    must(Array.isArray(names) && Array.isArray(texts) && names.length === texts.length, 'names and texts')
    names.forEach((name) => must(typeof name === 'string', 'a name'))
    const all = texts.map(bytesOf)
    return call(() => {
      const made = new wasm.WasmTexts()
      names.forEach((name, index) => made.add(name, all[index]))
      return made
    })
  }

  /** What is at a path: texts that stand alone, or files of a folder. */
  function read(path) {
    must(typeof path === 'string', 'a path')
    if (files === undefined) {
      throw refusal('files', 'there are no files here: fetch the texts of the policies and give them to `Pdp.fromTexts`')
    }
    mustBeLoaded()
    const isPolicy = (name, depth) => call(() => wasm.isPolicyFile(name, depth))
    const bytesMax = call(() => wasm.policyBytes())
    const { isFolder, names, texts } = files(path, { isPolicy, bytesMax })
    return { isFolder, made: textsOf(names, texts) }
  }

  class NativePdp {
    #wasm
    #path
    #driver

    constructor(made, path) {
      this.#wasm = made
      this.#path = path
      this.#driver = new Driver(made)
    }

    static decideText(pdp, text) {
      if (hasFailed) throw failure()
      must(typeof pdp === 'object' && pdp !== null && #wasm in pdp, 'a decision point')
      must(typeof text === 'string', 'a text')
      try {
        const answer = pdp.#wasm.decideText(text)
        return answer < AS_JSON ? answer : pdp.#wasm.takeAnswer()
      } catch (error) {
        throw told(error)
      }
    }

    static decideBytes(pdp, bytes) {
      must(typeof pdp === 'object' && pdp !== null && #wasm in pdp, 'a decision point')
      const [made, read] = [pdp.#wasm, bytesOf(bytes)]
      return call(() => {
        const answer = made.decideBytes(read)
        return answer < AS_JSON ? answer : made.takeAnswer()
      })
    }

    /** What functions know it by. */
    number() {
      return this
    }

    decideRequest(bytes) {
      const [made, read] = [this.#wasm, bytesOf(bytes)]
      return call(() => made.decideRequest(read))
    }

    explain(bytes) {
      const [made, read] = [this.#wasm, bytesOf(bytes)]
      const [text, json] = call(() => made.explain(read))
      return { text, json }
    }

    explainRequest(bytes) {
      const [made, read] = [this.#wasm, bytesOf(bytes)]
      const [text, json] = call(() => made.explainRequest(read))
      return { text, json }
    }

    watch(bytes, wake) {
      must(typeof wake === 'function', 'a function')
      return this.#driver.watch(bytesOf(bytes), wake)
    }

    reload() {
      // A closed one says so.
      this.snapshot()
      if (this.#path === undefined) {
        throw refusal('policy', 'the policies were given as texts: there is no file or folder to read again')
      }
      const [pdp, path] = [this.#wasm, this.#path]
      const { isFolder, made } = read(path)
      return this.#replaced(() => (isFolder ? pdp.replaceFolder(path, made) : pdp.replace(made)))
    }

    async reloadAsync() {
      return this.reload()
    }

    replace(names, texts) {
      const [pdp, made] = [this.#wasm, textsOf(names, texts)]
      return this.#replaced(() => pdp.replace(made))
    }

    async replaceAsync(names, texts) {
      return this.replace(names, texts)
    }

    #replaced(ask) {
      const snapshot = JSON.parse(call(ask))
      this.#driver.soon()
      return snapshot
    }

    snapshot() {
      const made = this.#wasm
      return JSON.parse(call(() => made.snapshot()))
    }

    close() {
      const made = this.#wasm
      call(() => made.close())
    }
  }

  const open = (path) => {
    const { isFolder, made } = read(path)
    return new NativePdp(call(() => (isFolder ? wasm.fromFolder(path, made) : wasm.fromTexts(made))), path)
  }
  const fromTexts = (names, texts) => {
    const made = textsOf(names, texts)
    return new NativePdp(call(() => wasm.fromTexts(made)))
  }
  const { decideText, decideBytes } = NativePdp
  return {
    TEXT_BYTES,
    NativePdp,
    NativeWatch,
    decideText,
    decideBytes,
    open,
    openAsync: async (path) => open(path),
    fromTexts,
    fromTextsAsync: async (names, texts) => fromTexts(names, texts),
  }
}

/** Drives the watched subscriptions of a decision point, as long as there are any. A timer does not keep it alive, nor the process. */
class Driver {
  #wasm
  /** What to call where the subscription of this number has another decision. */
  #wakes = new Map()
  #last = 0
  #timer
  #due = Infinity
  /** Watches that are collected as garbage are not called any more. */
  #gone = new FinalizationRegistry((number) => this.ended(number))

  constructor(wasm) {
    this.#wasm = wasm
  }

  watch(bytes, wake) {
    const number = this.#next()
    const watch = new NativeWatch(this, number, call(() => this.#wasm.watch(bytes, number)))
    this.#wakes.set(number, wake)
    drivers.add(this)
    this.#gone.register(watch, number)
    this.soon()
    return watch
  }

  #next() {
    do this.#last = (this.#last + 1) >>> 0
    while (this.#wakes.has(this.#last))
    return this.#last
  }

  ended(number) {
    this.#wakes.delete(number)
    if (this.#wakes.size === 0) drivers.delete(this)
  }

  /** Whoever waits learns from `poll` that nothing will come. */
  failed() {
    for (const wake of this.#wakes.values()) setTimeout(wake, 0)
  }

  /** Looks at them when whoever calls is done. */
  soon() {
    this.#in(0)
  }

  #in(wait) {
    if (this.#wakes.size === 0) return
    const due = Date.now() + wait
    if (this.#timer !== undefined && this.#due <= due) return
    clearTimeout(this.#timer)
    const self = new WeakRef(this)
    this.#due = due
    this.#timer = setTimeout(() => self.deref()?.#drive(), wait)
    letEnd(this.#timer)
  }

  #drive() {
    this.#timer = undefined
    let wait, woken
    try {
      wait = call(() => this.#wasm.tick())
      woken = call(() => this.#wasm.takeWoken())
    } catch {
      // It was told to whoever waits.
      return
    }
    if (wait !== undefined) this.#in(Math.min(wait, SLEEP_MS_MAX))
    for (const number of woken) this.#wakes.get(number)?.()
  }
}

/** Lets the process end while a timer runs: in Node, and in Deno. */
function letEnd(timer) {
  if (typeof timer === 'object') timer.unref?.()
  else globalThis.Deno?.unrefTimer?.(timer)
}

class NativeWatch {
  #driver
  #number
  #wasm

  constructor(driver, number, made) {
    this.#driver = driver
    this.#number = number
    this.#wasm = made
  }

  /** The next decision; null where there is none yet. */
  poll() {
    const watch = this.#wasm
    const answer = call(() => watch.poll())
    if (answer === undefined) return null
    return answer < AS_JSON ? answer : call(() => watch.takeAnswer())
  }

  close() {
    const watch = this.#wasm
    this.#driver.ended(this.#number)
    call(() => watch.close())
  }
}
