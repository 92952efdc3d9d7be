// What happens when durward panics, which is an exception from a module that cannot be asked any more. The modules here are false ones.

import assert from 'node:assert/strict'
import { test } from 'node:test'

const bytes = new Uint8Array(1)

/** An addon over a module that has one decision point and one watch; `panics` says which calls fail. */
async function addonOf(panics) {
  const fail = (name, given) => {
    if (panics.has(name)) throw new WebAssembly.RuntimeError('unreachable')
    return given
  }
  const watch = { poll: () => fail('poll'), takeAnswer: () => '{}', close: () => fail('close') }
  const pdp = {
    decideText: () => fail('decideText', 0),
    decideBytes: () => fail('decideBytes', 0),
    tick: () => fail('tick'),
    takeWoken: () => [],
    watch: () => watch,
    snapshot: () => '{}',
  }
  class WasmTexts {
    add() {}
  }
  const { addon } = await import(`../js/addon.js?${Math.random()}`)
  return addon({ WasmTexts, fromTexts: () => pdp })
}

const failed = (error) => {
  assert.equal(JSON.parse(error.message).kind, 'panic')
  return true
}

test('after a panic nothing is answered', async () => {
  const panics = new Set()
  const { decideBytes, decideText, fromTexts } = await addonOf(panics)
  const pdp = fromTexts(['p.sapl'], [bytes])
  assert.equal(decideText(pdp, '{}'), 0)
  panics.add('decideBytes')
  assert.throws(() => decideBytes(pdp, bytes), failed)
  panics.clear()
  assert.throws(() => decideText(pdp, '{}'), failed)
  assert.throws(() => decideBytes(pdp, bytes), failed)
  assert.throws(() => pdp.snapshot(), failed)
  assert.throws(() => fromTexts(['p.sapl'], [bytes]), failed)
})

for (const where of ['tick', 'decideText']) {
  test(`whoever waits learns of a panic in ${where}`, async () => {
    const panics = new Set()
    const { decideText, fromTexts } = await addonOf(panics)
    const pdp = fromTexts(['p.sapl'], [bytes])
    let watch
    const woken = new Promise((wake) => (watch = pdp.watch(bytes, wake)))
    assert.equal(watch.poll(), null)
    panics.add(where)
    if (where === 'decideText') assert.throws(() => decideText(pdp, '{}'), failed)
    const alive = setInterval(() => {}, 1000)
    await woken
    clearInterval(alive)
    assert.throws(() => watch.poll(), failed)
  })
}

test('wrong types are refused before they reach the module', async () => {
  const { decideBytes, decideText, fromTexts, open } = await addonOf(new Set())
  const pdp = fromTexts([], [])
  for (const wrong of [undefined, null, 7, {}, [], Symbol('s'), () => 1]) {
    assert.throws(() => decideText(pdp, wrong), TypeError)
    assert.throws(() => decideBytes(pdp, wrong), TypeError)
    assert.throws(() => decideText(wrong, '{}'), TypeError)
    assert.throws(() => pdp.decideRequest(wrong), TypeError)
    assert.throws(() => pdp.watch(bytes, typeof wrong === 'function' ? 7 : wrong), TypeError)
    assert.throws(() => Object.getPrototypeOf(pdp).explain.call(wrong, bytes), TypeError)
    assert.throws(() => open(wrong), TypeError)
    assert.throws(() => fromTexts([wrong], [bytes]), TypeError)
    assert.throws(() => fromTexts(['p.sapl'], [wrong]), TypeError)
  }
  assert.equal(decideText(pdp, '{}'), 0)
})
