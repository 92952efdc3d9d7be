// What must hold wherever the package runs, on the addon and in WebAssembly, in Node, Deno and browsers: the table of cases, bad input, and
// watches. Nothing here is of Node: `everywhere(durward, cases)` gives the names of what it looked at, or throws.

const asked = { subject: 'anna', action: 'read', resource: 1 }
const permit = { 'p.sapl': 'policy "p" permit' }
const deny = { 'p.sapl': 'policy "p" deny' }

const bytes = (text) => new TextEncoder().encode(text)

function check(isSo, what) {
  if (!isSo) throw new Error(`does not hold: ${what}`)
}

function isSame(a, b) {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return Object.is(a, b)
  const [ours, theirs] = [Object.keys(a).sort(), Object.keys(b).sort()]
  return ours.length === theirs.length && ours.every((key, at) => key === theirs[at] && isSame(a[key], b[key]))
}

function same(actual, expected) {
  check(isSame(actual, expected), `${JSON.stringify(actual)} is ${JSON.stringify(expected)}`)
}

/** What is thrown: of that class, and with a message that has this text or that a pattern finds. */
function refuses(ask, kind, why = '') {
  let given
  try {
    given = ask()
  } catch (error) {
    check(error instanceof kind, `${error?.name}: ${error?.message} is a ${kind.name}`)
    check(why instanceof RegExp ? why.test(error.message) : error.message.includes(why), `${error.message}: says ${why}`)
    return error
  }
  throw new Error(`is not refused: ${JSON.stringify(given)}`)
}

/** What a decision says, as the table has it. */
const said = (decision) => JSON.parse(JSON.stringify(decision))

function decisions({ QuestionError }, pdp, { decide = [], refused = [] }) {
  for (const [subscription, expected] of decide) {
    const text = JSON.stringify(subscription)
    const forms = [subscription, text, bytes(text)]
    for (const form of forms) {
      const decision = pdp.decide(form)
      same(said(decision), expected)
      same(decision.permit, expected.decision === 'PERMIT')
      same(pdp.explain(form).steps[0].outcome, expected.decision)
    }
    same(said(pdp.decideMany(forms)), [expected, expected, expected])
  }
  for (const [text, why] of refused) {
    for (const form of [text, bytes(text)]) {
      refuses(() => pdp.decide(form), QuestionError, why)
      refuses(() => pdp.explain(form), QuestionError, why)
      refuses(() => pdp.watch(form), QuestionError, why)
    }
  }
}

function requests({ QuestionError }, pdp, { requests = [], xml_requests = [], refused_requests = [] }) {
  for (const [request, expected] of requests) {
    same(JSON.parse(pdp.decideRequest(request)), expected)
    same(JSON.parse(pdp.decideRequest(JSON.parse(request))), expected)
    same(pdp.explainRequest(request).steps[0].outcome, expected.Response[0].Decision)
  }
  for (const [request, expected] of xml_requests) {
    check(pdp.decideRequest(request).includes(expected), expected)
    check(pdp.decideRequest(bytes(request)).includes(expected), expected)
  }
  for (const [text, why] of refused_requests) {
    refuses(() => pdp.decideRequest(text), QuestionError, why)
    refuses(() => pdp.explainRequest(text), QuestionError, why)
  }
}

function broken({ Pdp, PolicyError }, texts, why) {
  const error = refuses(() => Pdp.fromTexts(texts), PolicyError)
  check(error.message.startsWith(why), `${error.message} begins with ${why}`)
  const [problem] = error.problems
  check(error.message.startsWith(`${problem.source}:${problem.line}:${problem.column}: `), error.message)
  check(error.message.includes(problem.message), problem.message)
}

const CHECKS = {
  'every case of the table'(durward, cases) {
    check(cases.length > 5, 'the table has cases')
    for (const { policies, broken: texts = [], ...questions } of cases) {
      if (policies !== undefined) {
        const pdp = durward.Pdp.fromTexts(policies)
        decisions(durward, pdp, questions)
        requests(durward, pdp, questions)
      }
      for (const [policy, why] of texts) broken(durward, policy, why)
    }
  },

  'what is no text, no bytes and no object'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    for (const question of [undefined, null, true, 7, NaN, 7n, Symbol('s'), () => asked, class {}]) {
      refuses(() => pdp.decide(question), QuestionError, 'a subscription is a string, a Buffer or an object, not')
      for (const ask of ['explain', 'watch', 'decideRequest', 'explainRequest']) refuses(() => pdp[ask](question), QuestionError)
    }
    const others = [[], [asked], {}, new Date(), new Map(Object.entries(asked)), new Set([asked]), new Float64Array(9), new ArrayBuffer(9)]
    for (const question of others) refuses(() => pdp.decide(question), QuestionError)
  },

  'values that JSON has not'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    const held = { ...asked }
    held.subject = { held }
    refuses(() => pdp.decide(held), QuestionError, 'too deep')
    const values = [
      [NaN, '`v`: NaN'],
      [Infinity, '`v`: Infinity'],
      [7n, '`v`: a BigInt'],
      [() => 1, '`v`: a function'],
      [Symbol('s'), '`v`: a symbol'],
      [['a', undefined], 'undefined cannot be said in JSON'],
      [Promise.resolve(1), 'is an `await` missing'],
      [new Map([['role', 'doctor']]), 'a Map or Set'],
      [new Set(['doctor']), 'a Map or Set'],
      [new WeakMap(), 'a WeakMap or WeakSet'],
      [new WeakSet(), 'a WeakMap or WeakSet'],
      [new Date(NaN), 'an invalid date'],
      [new Error('e'), 'an error'],
      [/e/, 'a regular expression'],
      [new ArrayBuffer(1), 'binary data'],
      [new Uint8Array(1), 'binary data'],
      [Object(NaN), 'NaN'],
      [{ toJSON: () => ({ v: NaN }) }, '`v`: NaN'],
    ]
    for (const [v, why] of values) refuses(() => pdp.decide({ ...asked, subject: { v } }), QuestionError, why)
    same(pdp.decide({ ...asked, subject: { when: new Date(0), name: Object('anna'), nothing: undefined } }).permit, true)
    refuses(() => pdp.decide({ ...asked, subject: undefined }), QuestionError, 'lacks `subject`')
  },

  'half a surrogate pair, and bytes that are no UTF-8'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    for (const text of ['\ud800', '\udc00', 'a\ud83d', '\udfffz']) {
      refuses(() => pdp.decide(`{"subject":"${text}","action":1,"resource":1}`), QuestionError, 'lone surrogate')
      refuses(() => pdp.decide({ ...asked, subject: text }), QuestionError)
      refuses(() => pdp.decide({ ...asked, [text]: 1 }), QuestionError)
      refuses(() => pdp.decideRequest(`<Request>${text}`), QuestionError)
    }
    check(pdp.decide({ ...asked, subject: '\ud83d\ude00' }).permit, 'a whole pair is a character')
    refuses(() => pdp.decide(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x7d)), QuestionError)
    refuses(() => pdp.decide(bytes(JSON.stringify(asked)).fill(0xff, 12, 15)), QuestionError)
  },

  'a text of 100 MiB'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    const why = 'longer than the 4194304 that are read'
    const long = 'a'.repeat(100 << 20)
    refuses(() => pdp.decide(long), QuestionError, `${100 << 20} bytes is ${why}`)
    refuses(() => pdp.decide({ ...asked, subject: long }), QuestionError, why)
    refuses(() => pdp.decide(new Uint8Array(100 << 20)), QuestionError, why)
    refuses(() => pdp.decide('é'.repeat(3 << 20)), QuestionError, why)
    refuses(() => pdp.decideRequest(long), QuestionError, why)
    refuses(() => pdp.watch(long), QuestionError, why)
    same(pdp.decide(asked).permit, true)
  },

  'policies that are too much'({ Pdp, DurwardError, PolicyError }) {
    refuses(() => Pdp.fromTexts({ 'p.sapl': `policy "p" permit // ${'a'.repeat(100 << 20)}` }), PolicyError)
    for (const depth of [50, 500, 5_000, 500_000]) {
      for (const [open, close] of ['()', '[]', '!'].map((pair) => [pair[0], pair[1] ?? ''])) {
        const policy = `policy "p" deny ${open.repeat(depth)}true${close.repeat(depth)};`
        try {
          same(Pdp.fromTexts({ 'p.sapl': policy }).decide(asked).permit, false)
        } catch (error) {
          check(error instanceof PolicyError, `${open} ${depth} deep: ${error.message}`)
        }
      }
    }
    const wrong = [undefined, null, 7, 'p', [], { 'p.sapl': 7 }, { 'p.sapl': undefined }, new Map([[7, 'policy "p" permit']])]
    for (const texts of wrong) refuses(() => Pdp.fromTexts(texts), DurwardError)
    refuses(() => new Pdp(), DurwardError)
    refuses(() => Pdp.fromDir('/no/such/folder'), DurwardError)
    refuses(() => Pdp.fromDir(7), DurwardError)
  },

  'deep questions'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    let deep = 1
    for (let depth = 0; depth < 100_000; depth++) deep = { deep }
    refuses(() => pdp.decide({ ...asked, subject: deep }), QuestionError, 'too deep')
    for (const depth of [100, 1_000, 1_000_000]) {
      const text = `{"subject":${'['.repeat(depth)}${']'.repeat(depth)},"action":1,"resource":1}`
      const request = `{"Request":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`
      for (const ask of [() => pdp.decide(text), () => pdp.explain(text), () => pdp.decideRequest(request)]) {
        try {
          ask()
        } catch (error) {
          check(error instanceof QuestionError, `${depth} deep: ${error.message}`)
        }
      }
      refuses(() => pdp.decideRequest('<a>'.repeat(depth)), QuestionError)
    }
    same(pdp.decide(asked).permit, true)
  },

  'bytes that are gone, and parts of others'({ Pdp, QuestionError }) {
    const pdp = Pdp.fromTexts(permit)
    const text = JSON.stringify(asked)
    const gone = bytes(text)
    structuredClone(gone.buffer, { transfer: [gone.buffer] })
    refuses(() => pdp.decide(gone), QuestionError)
    refuses(() => pdp.decide(new Uint8Array(0)), QuestionError)
    same(pdp.decide(bytes(`xx${text}yy`).subarray(2, 2 + text.length)).permit, true)
    if (typeof SharedArrayBuffer === 'function') {
      const shared = new Uint8Array(new SharedArrayBuffer(text.length))
      shared.set(bytes(text))
      same(pdp.decide(shared).permit, true)
    }
  },

  async 'what is asked after the end'({ Pdp, DurwardError }) {
    const pdp = await Pdp.fromTextsAsync(permit)
    const watch = pdp.watch(asked)
    same((await watch.next()).value.permit, true)
    pdp.close()
    pdp.close()
    same((await watch.next()).done, true)
    const uses = [
      () => pdp.decide(asked),
      () => pdp.decide(JSON.stringify(asked)),
      () => pdp.decide(bytes(JSON.stringify(asked))),
      () => pdp.decideMany([asked]),
      () => pdp.decideRequest('{}'),
      () => pdp.explain(asked),
      () => pdp.explainRequest('{}'),
      () => pdp.watch(asked),
      () => pdp.reload(),
      () => pdp.replace({}),
      () => pdp.snapshot(),
    ]
    for (const use of uses) refuses(use, DurwardError, 'the decision point is closed')
  },

  async 'watches follow policies and time'({ Pdp, PolicyError }) {
    const pdp = Pdp.fromTexts(permit)
    const watch = pdp.watch(asked)
    same((await watch.next()).value.decision, 'PERMIT')
    const next = watch.next()
    same(pdp.replace(deny).id, 2)
    same((await next).value.decision, 'DENY')
    refuses(() => pdp.replace({ 'p.sapl': 'policy' }), PolicyError)
    await pdp.replaceAsync({ 'p.sapl': 'policy "p" permit obligation "log"' })
    same((await watch.next()).value.obligations, ['log'])
    refuses(() => pdp.reload(), PolicyError, 'given as texts')
    pdp.close()
    const clock = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;' })
    const seen = []
    for await (const { decision } of clock.watch(asked)) if (seen.push(decision) === 3) break
    check(seen[0] !== seen[1] && seen[0] === seen[2], seen)
    clock.close()
  },

  'a decision cannot be changed'({ Pdp, Decision }) {
    const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna"; obligation {"a": [{"b": 1}]}' })
    const denied = pdp.decide({ ...asked, subject: 'bob' })
    refuses(() => (denied.permit = true), TypeError)
    same(pdp.decide({ ...asked, subject: 'bob' }), denied)
    const permitted = pdp.decide(asked)
    refuses(() => (permitted.obligations[0].a[0].b = 2), TypeError)
    check(permitted instanceof Decision, 'it is a Decision')
  },

  'errors have the names of their classes'({ Pdp, PolicyError }) {
    same(refuses(() => Pdp.fromTexts({ 'p.sapl': 'polic' }), PolicyError).name, 'PolicyError')
  },
}

export async function everywhere(durward, cases) {
  for (const [name, hold] of Object.entries(CHECKS)) {
    try {
      await hold(durward, cases)
    } catch (error) {
      throw new Error(`${name}: ${error?.stack ?? error}`, { cause: error })
    }
  }
  return Object.keys(CHECKS)
}
