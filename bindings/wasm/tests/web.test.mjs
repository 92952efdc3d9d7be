// The package as a browser has it, here in Node: loaded by hand, and by itself.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as durward from 'durward/web'
import { everywhere } from './everywhere.mjs'

const cases = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)))
const module = readFileSync(createRequire(import.meta.url).resolve('@durward/wasm32/durward_wasm_bg.wasm'))
const permit = { 'p.sapl': 'policy "p" permit' }

test('before it is loaded nothing is answered, and loading can be tried again', async () => {
  const { DurwardError, Pdp, init, initSync } = durward
  assert.throws(() => Pdp.fromTexts(permit), (error) => error instanceof DurwardError && /is not loaded: call `init`/.test(error.message))
  await assert.rejects(init(new Response('no module', { headers: { 'content-type': 'text/plain' } })))
  assert.throws(() => initSync(new Uint8Array(8)))
  assert.throws(() => Pdp.fromTexts(permit), /is not loaded/)
})

test('what holds everywhere holds in WebAssembly', async () => {
  durward.initSync(module)
  durward.initSync(module)
  await durward.init(module)
  assert.ok((await everywhere(durward, cases)).length > 10)
})

test('policies come as texts, where there are no files', async () => {
  const { DurwardError, Pdp } = durward
  const refused = (error) => error instanceof DurwardError && /give them to `Pdp.fromTexts`/.test(error.message)
  assert.throws(() => Pdp.fromDir('policies'), refused)
  assert.throws(() => Pdp.fromDir(new URL('file:///policies')), refused)
  await assert.rejects(Pdp.fromDirAsync('policies'), refused)
})

test('functions that are left out are refused by name', () => {
  const text = 'policy "p" permit digest.sha256("a") == "b";'
  assert.throws(() => durward.Pdp.fromTexts({ 'p.sapl': text }), (error) => {
    assert.match(error.message, /p.sapl:1:\d+: this build is without the function `digest.sha256`/)
    return true
  })
})

test('the package of WebAssembly stands alone', async () => {
  const { Pdp } = await import('@durward/wasm32')
  assert.notEqual(Pdp, durward.Pdp)
  assert.ok(Pdp.fromTexts(permit).decide({ subject: 1, action: 1, resource: 1 }).permit)
})

test('a stack that is at its end gives an exception, and never a permit', async () => {
  // A module of its own: the exception may come from where nothing can be asked after it.
  const { Pdp, initSync } = await import(`${import.meta.resolve('@durward/wasm32/web')}?alone`)
  initSync(module)
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna"; obligation {"a": [subject]}' })
  const bob = { subject: 'bob', action: 1, resource: 1 }
  let permits = 0
  const deep = () => {
    try {
      deep()
    } catch {
      if (pdp.decide(bob).permit) permits += 1
    }
  }
  deep()
  assert.equal(permits, 0)
})

test('the package for Node takes WebAssembly where there is no addon, and where it is asked to', () => {
  const native = createRequire(import.meta.url)('../node_modules/durward/lib/native.js')
  assert.equal(native.isWasm, true)
  const script = 'console.log(require("./node_modules/durward/lib/native.js").isWasm)'
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const run = (env) => spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', cwd, env: { ...process.env, ...env } })
  assert.equal(run({ DURWARD_WASM: '1' }).stdout, 'true\n')
  const own = run({ DURWARD_WASM: '1', DURWARD_NATIVE: '/no/such.node' })
  assert.match(own.stderr, /DURWARD_NATIVE, \/no\/such.node: not there/)
})
