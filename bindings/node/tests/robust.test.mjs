// What must never crash, and never be a permit.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { Decision, DurwardError, Pdp, QuestionError } from 'durward'

const all = Pdp.fromTexts({ 'all.sapl': 'policy "all" permit' })
const asked = { subject: 'anna', action: 'read', resource: 1 }

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

const refused = (question, why) =>
  assert.throws(
    () => all.decide(question),
    (error) => {
      assert.ok(error instanceof QuestionError, `${error}`)
      if (why !== undefined) assert.match(error.message, why)
      return true
    },
  )

test('what is no text, no bytes and no object is refused', () => {
  for (const question of [undefined, null, true, 7, NaN, 7n, Symbol('s'), () => asked, class {}]) {
    refused(question, /a subscription is a string, a Buffer or an object, not/)
    assert.throws(() => all.decideRequest(question), QuestionError)
    assert.throws(() => all.explain(question), QuestionError)
    assert.throws(() => all.explainRequest(question), QuestionError)
    assert.throws(() => all.watch(question), QuestionError)
  }
  for (const question of [[], [asked], {}, new Date(), new Map(Object.entries(asked)), new Set([asked])]) refused(question)
  for (const question of [new Float64Array(9), new DataView(new ArrayBuffer(9)), new ArrayBuffer(9)]) refused(question)
})

test('values that JSON has not are refused, with their name', () => {
  const held = { ...asked }
  held.subject = { held }
  refused(held, /too deep/)
  for (const value of [NaN, Infinity, -Infinity]) refused({ ...asked, subject: { age: value } }, /`age`: -?(NaN|Infinity)/)
  refused({ ...asked, subject: { n: 7n } }, /`n`: a BigInt cannot be said in JSON/)
  refused({ ...asked, subject: () => 1 }, /`subject`: a function/)
  refused({ ...asked, subject: Symbol('s') }, /`subject`: a symbol/)
  refused({ ...asked, subject: ['a', undefined] }, /undefined cannot be said in JSON/)
  refused({ ...asked, subject: Promise.resolve('anna') }, /is an `await` missing/)
  refused({ ...asked, subject: new Map([['role', 'doctor']]) }, /a Map or Set/)
  refused({ ...asked, subject: new Date(NaN) }, /an invalid date/)
  refused({ ...asked, subject: new Error('e') }, /an error/)
  refused({ ...asked, subject: /e/ }, /a regular expression/)
  refused({ ...asked, subject: Buffer.from('e').buffer }, /binary data/)
  refused({ ...asked, subject: { toJSON: () => ({ age: NaN }) } }, /`age`: NaN/)
  refused({ ...asked, subject: undefined }, /lacks `subject`/)
  refused({ toJSON: () => undefined })
  refused({ toJSON: () => 7 })
})

test('values that JSON has are taken as JSON.stringify takes them', () => {
  class User {
    constructor() {
      this.role = 'doctor'
      this.nothing = undefined
    }
    can() {}
  }
  const pdp = Pdp.fromTexts({
    'p.sapl': 'policy "p" permit subject.role == "doctor" & resource == "2020-01-01T00:00:00.000Z" & undefined == subject.nothing;',
  })
  const date = new Date(Date.UTC(2020, 0, 1))
  assert.equal(pdp.decide({ subject: new User(), action: 1, resource: date }).decision, 'PERMIT')
  const bare = Object.assign(Object.create(null), { role: 'doctor' })
  assert.equal(pdp.decide({ subject: bare, action: 1, resource: date }).decision, 'PERMIT')
})

test('lone surrogates are refused in every form', () => {
  for (const text of ['\ud800', '\udc00', 'a\ud83d', '\udfffz']) {
    refused(`{"subject":"${text}","action":1,"resource":1}`, /lone surrogate/)
    refused({ ...asked, subject: text })
    refused({ ...asked, [text]: 1 })
    assert.throws(() => all.decideRequest(`<Request>${text}`), QuestionError)
  }
  assert.ok(all.decide({ ...asked, subject: '\ud83d\ude00' }).permit)
})

test('bytes that are no UTF-8 are refused', () => {
  refused(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))
  refused(Buffer.from('{"subject":"\ud800","action":1,"resource":1}', 'utf16le'))
  refused(Buffer.from(JSON.stringify(asked), 'latin1').fill(0xff, 12, 15))
})

test('a text of 100 MiB is refused', () => {
  const long = 'a'.repeat(100 << 20)
  const why = /longer than the 4194304 that are read/
  refused(long, why)
  refused({ ...asked, subject: long }, why)
  refused(Buffer.alloc(100 << 20, 'a'), why)
  refused('é'.repeat(3 << 20), why)
  assert.throws(() => all.decideRequest(long), why)
  assert.throws(() => all.explainRequest(Buffer.alloc(100 << 20, '<')), why)
})

test('deep questions are refused', () => {
  let deep = 1
  for (let depth = 0; depth < 100_000; depth++) deep = { deep }
  refused({ ...asked, subject: deep }, /too deep/)
  const text = `{"subject":${'['.repeat(1e6)}${']'.repeat(1e6)},"action":1,"resource":1}`
  refused(text)
})

test('bytes that are shared or gone do no harm', () => {
  const text = JSON.stringify(asked)
  const shared = new Uint8Array(new SharedArrayBuffer(text.length))
  shared.set(Buffer.from(text))
  assert.ok(all.decide(shared).permit)
  const gone = Uint8Array.from(Buffer.from(text))
  structuredClone(gone.buffer, { transfer: [gone.buffer] })
  refused(gone)
  refused(new Uint8Array(0))
  const part = Buffer.from(`xx${text}yy`).subarray(2, 2 + text.length)
  assert.ok(all.decide(part).permit)
})

test('what is asked after the end is an error', async () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit' })
  assert.ok(pdp.decide(asked).permit)
  const reloading = pdp.replaceAsync({ 'p.sapl': 'policy "p" deny' })
  pdp.close()
  pdp.close()
  await reloading
  const uses = [
    () => pdp.decide(asked),
    () => pdp.decide(JSON.stringify(asked)),
    () => pdp.decide(Buffer.from(JSON.stringify(asked))),
    () => pdp.decideMany([asked]),
    () => pdp.decideRequest('{}'),
    () => pdp.explain(asked),
    () => pdp.explainRequest('{}'),
    () => pdp.watch(asked),
    () => pdp.reload(),
    () => pdp.replace({}),
    () => pdp.snapshot(),
  ]
  for (const use of uses) {
    assert.throws(use, (error) => error instanceof DurwardError && error.message === 'the decision point is closed')
  }
  await assert.rejects(pdp.reloadAsync(), /is closed/)
  await assert.rejects(pdp.replaceAsync({}), /is closed/)
})

test('a decision point is never taken for another one', () => {
  const text = (name) => ({ 'p.sapl': `policy "p" permit subject == "${name}";` })
  const ask = (name) => ({ ...asked, subject: name })
  let points = new Map()
  for (let round = 0; round < 30; round++) {
    for (let number = 0; number < 10; number++) points.set(`${round}.${number}`, Pdp.fromTexts(text(`${round}.${number}`)))
    let index = 0
    for (const [name, pdp] of points) {
      assert.equal(pdp.decide(ask(name)).permit, true)
      assert.equal(pdp.decide(ask('0.0')).permit, name === '0.0')
      index += 1
      if (name !== '0.0' && index % 3 === 0) points.delete(name)
      if (index % 7 === 0) pdp.close()
      if (index % 7 === 0) points.delete(name)
    }
    gc()
  }
})

test('a decision cannot be changed', () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna"; obligation {"a": [{"b": 1}]}' })
  const denied = pdp.decide({ ...asked, subject: 'bob' })
  assert.throws(() => (denied.permit = true), TypeError)
  assert.equal(pdp.decide({ ...asked, subject: 'bob' }).permit, false)
  const permitted = pdp.decide(asked)
  assert.throws(() => permitted.obligations.pop(), TypeError)
  assert.throws(() => (permitted.obligations[0].a[0].b = 2), TypeError)
  assert.ok(permitted instanceof Decision)
  assert.equal(denied, pdp.decide({ ...asked, subject: 'bob' }), 'plain decisions are made once')
})

test('names of prototypes are keys as any other', () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit obligation {"__proto__": {"permit": true}, "constructor": 1}' })
  const { obligations } = pdp.decide('{"subject":{"__proto__":{"role":"doctor"}},"action":1,"resource":1}')
  assert.equal(obligations[0].permit, undefined)
  assert.equal({}.permit, undefined)
})

test('an object that changes while it is read does no harm', () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna";' })
  const shifting = { get subject() { pdp.replace({ 'p.sapl': 'policy "p" deny' }); return 'anna' }, action: 1, resource: 1 }
  assert.equal(pdp.decide(shifting).permit, false)
  const failing = { get subject() { throw new Error('mine') }, action: 1, resource: 1 }
  assert.throws(() => pdp.decide(failing), /mine/)
  const closing = { toJSON() { pdp.close(); return asked } }
  assert.throws(() => pdp.decide(closing), /is closed/)
})

test('the addon itself refuses wrong types', () => {
  const require = createRequire(import.meta.url)
  const native = require('../node_modules/durward/lib/native.js')
  const text = JSON.stringify(asked)
  const pdp = native.fromTexts(['p.sapl'], [Buffer.from('policy "p" permit')])
  assert.equal(native.decideText(pdp.number(), text), 0)
  for (const number of [1e6, -1, 2 ** 32, NaN]) if (number >>> 0 !== 0) assert.throws(() => native.decideText(number, text), /is closed|not a decision point/)
  for (const wrong of [undefined, null, 7, {}, [], Symbol('s'), () => 1]) {
    assert.throws(() => native.decideText(pdp.number(), wrong))
    assert.throws(() => native.decideBytes(pdp.number(), wrong))
    if (wrong !== null && typeof wrong !== 'number') assert.throws(() => native.decideText(wrong, text))
    assert.throws(() => pdp.decideRequest(wrong))
    assert.throws(() => pdp.watch(Buffer.from(text), typeof wrong === 'function' ? 7 : wrong))
    assert.throws(() => native.open(wrong))
    assert.throws(() => native.fromTexts(wrong, 7))
    assert.throws(() => native.NativePdp.prototype.explain.call(wrong, Buffer.from(text)))
    assert.throws(() => native.NativePdp.prototype.explain.call(new (class {})(), Buffer.from(text)))
  }
  assert.throws(() => native.NativeWatch.prototype.poll.call(pdp))
})

test('garbage is collected while questions are answered', () => {
  for (let round = 0; round < 200; round++) {
    const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna"; obligation subject' })
    const watch = pdp.watch(asked)
    for (let number = 0; number < 20; number++) {
      assert.equal(pdp.decide({ ...asked, subject: `nobody ${number}` }).permit, false)
      assert.deepEqual(pdp.decide(asked).obligations, ['anna'])
    }
    if (round % 10 === 0) gc()
    if (round % 3 === 0) watch.close()
  }
  gc()
})

/** Runs a script in a worker and gives what it posts; the worker may be ended before it is done. */
function inWorker(script, after) {
  const text = `const { parentPort } = require('node:worker_threads')
    const { Pdp } = require('durward')
    const asked = ${JSON.stringify(asked)}
    ${script}`
  return new Promise((resolve, reject) => {
    const worker = new Worker(text, { eval: true })
    let told
    worker.once('message', (message) => {
      told = message
      after?.(worker)
    })
    worker.once('error', reject)
    worker.once('exit', () => resolve(told))
  })
}

test('worker threads have decision points of their own', async () => {
  const script = `
    const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna";' })
    let permits = 0
    for (let number = 0; number < 2000; number++) {
      if (pdp.decide(asked).permit) permits += 1
      if (pdp.decide({ ...asked, subject: 'bob' }).permit) permits += 10000
    }
    parentPort.postMessage(permits)`
  const told = await Promise.all(Array.from({ length: 8 }, () => inWorker(script)))
  assert.deepEqual(told, Array(8).fill(2000))
})

test('a worker with open watches ends by itself, and may be ended', async () => {
  const script = `
    const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;' })
    const watches = Array.from({ length: 50 }, () => pdp.watch(asked))
    Promise.all(watches.map((watch) => watch.next())).then((first) => {
      for (const watch of watches) watch.next().then(() => {})
      if (END === 'itself') for (const watch of watches) watch.unref()
      for (let number = 0; number < 20; number++) pdp.replaceAsync({ 'p.sapl': number % 2 ? 'policy "p" permit' : 'policy "p" deny' })
      parentPort.postMessage(first.length)
    })`
  const itself = await inWorker(`const END = 'itself'; ${script}`)
  assert.equal(itself, 50)
  for (let round = 0; round < 5; round++) {
    assert.equal(await inWorker(`const END = 'ended'; ${script}`, (worker) => worker.terminate()), 50)
  }
})
