// Decisions that follow one another.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Pdp, QuestionError } from 'durward'

const asked = { subject: 'anna', action: 'read', resource: 1 }
const permit = { 'p.sapl': 'policy "p" permit' }
const deny = { 'p.sapl': 'policy "p" deny' }

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

test('other policies give another decision', async () => {
  const pdp = Pdp.fromTexts(permit)
  const watch = pdp.watch(asked)
  assert.equal((await watch.next()).value.decision, 'PERMIT')
  const next = watch.next()
  pdp.replace(deny)
  assert.equal((await next).value.decision, 'DENY')
  assert.throws(() => pdp.replace({ 'p.sapl': 'policy' }))
  pdp.replace({ 'p.sapl': 'policy "p" permit obligation "log"' })
  assert.deepEqual((await watch.next()).value.obligations, ['log'])
  watch.close()
})

test('time gives another decision', async () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;' })
  const decisions = []
  for await (const { decision } of pdp.watch(asked)) {
    decisions.push(decision)
    if (decisions.length === 3) break
  }
  assert.notEqual(decisions[0], decisions[1])
  assert.equal(decisions[0], decisions[2])
})

test('a loop ends when its watch is closed, by itself or with the decision point', async () => {
  for (const end of [(pdp, watch) => watch.close(), (pdp) => pdp.close(), (pdp, watch) => watch.return()]) {
    const pdp = Pdp.fromTexts(permit)
    const watch = pdp.watch(asked)
    const seen = []
    for await (const { decision } of watch) {
      seen.push(decision)
      setImmediate(() => end(pdp, watch))
    }
    assert.deepEqual(seen, ['PERMIT'])
    assert.deepEqual(await watch.next(), { value: undefined, done: true })
    watch.close()
  }
})

test('leaving a loop closes its watch', async () => {
  const pdp = Pdp.fromTexts(permit)
  const watch = pdp.watch(asked)
  for await (const decision of watch) {
    assert.ok(decision.permit)
    break
  }
  assert.equal((await watch.next()).done, true)
  await assert.rejects(pdp.watch(asked).throw(new Error('mine')), /mine/)
})

test('several who wait get one decision each, in their order', async () => {
  const pdp = Pdp.fromTexts(permit)
  const watch = pdp.watch(asked)
  const waiting = [watch.next(), watch.next(), watch.next()]
  assert.equal((await waiting[0]).value.decision, 'PERMIT')
  pdp.replace(deny)
  assert.equal((await waiting[1]).value.decision, 'DENY')
  watch.close()
  assert.equal((await waiting[2]).done, true)
})

test('many watches of many decision points', async () => {
  const points = Array.from({ length: 20 }, () => Pdp.fromTexts(permit))
  const watches = points.flatMap((pdp) => Array.from({ length: 20 }, () => pdp.watch(asked)))
  for (const watch of watches) assert.equal((await watch.next()).value.permit, true)
  const next = watches.map((watch) => watch.next())
  for (const pdp of points) pdp.replace(deny)
  for (const { value } of await Promise.all(next)) assert.equal(value.permit, false)
  for (const pdp of points) pdp.close()
})

test('who waits is not collected as garbage, nor is the decision point', async () => {
  let pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;' })
  const next = (async () => {
    const seen = []
    for await (const { decision } of pdp.watch(asked)) if (seen.push(decision) === 2) return seen
  })()
  await new Promise(setImmediate)
  pdp = undefined
  const timer = setInterval(gc, 20)
  const seen = await next
  clearInterval(timer)
  assert.notEqual(seen[0], seen[1])
})

test('watches that nobody holds are collected', async () => {
  const pdp = Pdp.fromTexts(permit)
  let collected = 0
  const registry = new FinalizationRegistry(() => (collected += 1))
  for (let number = 0; number < 100; number++) {
    const watch = pdp.watch(asked)
    await watch.next()
    registry.register(watch)
  }
  for (let round = 0; round < 200 && collected < 90; round++) {
    gc()
    await new Promise(setImmediate)
  }
  assert.ok(collected >= 90, `${collected} of 100`)
  pdp.replace(deny)
})

test('a question that is none is refused at once', () => {
  const pdp = Pdp.fromTexts(permit)
  assert.throws(() => pdp.watch({}), QuestionError)
  assert.throws(() => pdp.watch(undefined), QuestionError)
})

/** Runs a script in a process of its own; far more time than it needs. */
function run(script) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    timeout: 60_000,
  })
  return { status, signal, stdout, stderr }
}

const head = `import { Pdp } from 'durward'
const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit' })
const watch = pdp.watch({ subject: 1, action: 1, resource: 1 })
console.log((await watch.next()).value.decision)
`

test('a watch that nobody waits for does not keep the process alive', () => {
  assert.deepEqual(run(head), { status: 0, signal: null, stdout: 'PERMIT\n', stderr: '' })
})

test('who waits keeps the process alive, unless they say otherwise', () => {
  const waits = run(`${head}
    setTimeout(() => pdp.replace({ 'p.sapl': 'policy "p" deny' }), 100).unref()
    console.log((await watch.next()).value.decision)`)
  assert.deepEqual(waits, { status: 0, signal: null, stdout: 'PERMIT\nDENY\n', stderr: '' })
  const lets = run(`${head}
    watch.next().then(() => console.log('never'))
    watch.unref().ref().unref()`)
  assert.deepEqual(lets, { status: 0, signal: null, stdout: 'PERMIT\n', stderr: '' })
})

test('a process may end while decisions change', () => {
  const ends = run(`${head}
    const clock = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit time.secondOf(<time.now>) % 2 == 0;' })
    for (let number = 0; number < 50; number++) {
      const watch = clock.watch({ subject: number, action: 1, resource: 1 })
      await watch.next()
      watch.next()
    }
    for (let number = 0; number < 50; number++) pdp.replace({ 'p.sapl': number % 2 ? 'policy "p" permit' : 'policy "p" deny' })
    process.exit(0)`)
  assert.deepEqual(ends, { status: 0, signal: null, stdout: 'PERMIT\n', stderr: '' })
})
