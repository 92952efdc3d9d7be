// Policies on their way in, and the addon on its own.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { DurwardError, Pdp, PolicyError } from 'durward'

const asked = { subject: 1, action: 1, resource: 1 }
const permit = 'policy "p" permit'
const deny = 'policy "p" deny'

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'durward-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('policies of a folder are read again', (t) => {
  const path = folder(t)
  const file = join(path, 'p.sapl')
  writeFileSync(file, permit)
  const pdp = Pdp.fromDir(path)
  assert.equal(pdp.decide(asked).decision, 'PERMIT')
  writeFileSync(file, 'policy "p" denyy')
  assert.throws(() => pdp.reload(), (error) => error instanceof PolicyError && error.message.includes('p.sapl:1:'))
  assert.equal(pdp.decide(asked).decision, 'PERMIT')
  writeFileSync(file, deny)
  assert.equal(pdp.reload().id, 2)
  assert.equal(pdp.decide(asked).decision, 'DENY')
  rmSync(path, { recursive: true })
  assert.throws(() => pdp.reload(), PolicyError)
  assert.equal(pdp.decide(asked).decision, 'DENY')
})

test('the same on another thread', async (t) => {
  const path = folder(t)
  const file = join(path, 'p.sapl')
  writeFileSync(file, permit)
  const pdp = await Pdp.fromDirAsync(pathToFileURL(path))
  assert.equal(pdp.decide(asked).decision, 'PERMIT')
  writeFileSync(file, 'policy "p" denyy')
  await assert.rejects(pdp.reloadAsync(), (error) => error instanceof PolicyError && error.problems[0].line === 1)
  writeFileSync(file, deny)
  assert.equal((await pdp.reloadAsync()).id, 2)
  assert.equal(pdp.decide(asked).decision, 'DENY')
  await assert.rejects(Pdp.fromDirAsync(join(path, 'none')), (error) => error instanceof PolicyError)
  await assert.rejects(Pdp.fromDirAsync(7), DurwardError)
})

test('texts take the place of texts', async () => {
  const pdp = await Pdp.fromTextsAsync(new Map([['p.sapl', Buffer.from(permit)]]))
  assert.equal(pdp.decide(asked).permit, true)
  const snapshot = pdp.replace({ 'p.sapl': deny })
  assert.deepEqual([snapshot.id, snapshot.documents, snapshot.policies], [2, 1, 1])
  assert.equal(pdp.decide(asked).permit, false)
  await pdp.replaceAsync({ 'p.sapl': permit })
  assert.equal(pdp.decide(asked).permit, true)
  await assert.rejects(pdp.replaceAsync({ 'p.sapl': 'policy' }), PolicyError)
  assert.deepEqual([pdp.decide(asked).permit, pdp.snapshot().id], [true, 3])
  assert.throws(() => pdp.reload(), /given as texts/)
})

test('all problems are listed, each with its place', () => {
  assert.throws(
    () => Pdp.fromTexts({ 'a.sapl': 'policy "a" permitt', 'b.sapl': 'polic' }),
    (error) => {
      const places = error.problems.map(({ source, line, column }) => [source, line, column])
      assert.deepEqual(places, [['a.sapl', 1, 12], ['b.sapl', 1, 1]])
      assert.ok(error.problems[0].help.includes('`permit`'))
      assert.equal(error.name, 'PolicyError')
      return true
    },
  )
})

test('what are no policies is refused', () => {
  for (const texts of [undefined, null, 7, 'p', [], { 'p.sapl': 7 }, { 'p.sapl': undefined }, new Map([[7, permit]])]) {
    assert.throws(() => Pdp.fromTexts(texts), DurwardError)
  }
  for (const path of [undefined, null, 7, {}, '', '/no/such/folder', 'a\0b', '\ud800']) {
    assert.throws(() => Pdp.fromDir(path), DurwardError)
  }
  assert.throws(() => new Pdp(), DurwardError)
})

test('an addon that is missing is said to be, with what to do', () => {
  const script = 'require("durward")'
  const run = (native) =>
    spawnSync(process.execPath, ['-e', script], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { ...process.env, DURWARD_NATIVE: native },
    })
  const missing = run('/no/such.node')
  assert.equal(missing.status, 1)
  assert.match(missing.stderr, /durward has no addon for \S+/)
  assert.match(missing.stderr, /DURWARD_NATIVE, \/no\/such.node: not there/)
  assert.match(missing.stderr, /Install @durward\/|There is no package for this platform/)
})

test('an addon that cannot be loaded is told apart from one that is not there', () => {
  const error = spawnSync(process.execPath, ['-e', 'require("durward")'], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, DURWARD_NATIVE: fileURLToPath(import.meta.url) },
  })
  assert.equal(error.status, 1)
  assert.match(error.stderr, /DURWARD_NATIVE, \S+load.test.mjs: .+/)
  assert.doesNotMatch(error.stderr, /not there/)
})
