// Packages for Node: `node bench.mjs QUESTIONS POLICIES WASM`. See ../README.md.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import path from 'node:path'

const [file, policies, wasm] = process.argv.slice(2)
const require = createRequire(import.meta.url)
const policy = (name) => readFileSync(path.join(policies, name), 'utf8')
const version = (name) => JSON.parse(readFileSync(path.join('node_modules', name, 'package.json'), 'utf8')).version

const questions = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [permitted, user, role, action, record, kind, text] = line.split('\t')
    return { permitted: permitted === 'true', user, role, action, record, kind, text }
  })

async function durward() {
  const { Pdp } = await import('durward')
  const pdp = Pdp.fromTexts({ 'doctors.sapl': policy('doctors.sapl') })
  const texts = questions.map(({ text }) => text)
  const bytes = texts.map((text) => Buffer.from(text))
  const objects = texts.map((text) => JSON.parse(text))
  return {
    'durward, text': (number) => pdp.decide(texts[number]).permit,
    'durward, bytes': (number) => pdp.decide(bytes[number]).permit,
    'durward, object': (number) => pdp.decide(objects[number]).permit,
  }
}

async function cedar() {
  const cedar = require('@cedar-policy/cedar-wasm/nodejs')
  cedar.preparsePolicySet('all', { staticPolicies: policy('doctors.cedar') })
  const calls = questions.map(({ user, role, action, record, kind }) => ({
    principal: { type: 'User', id: user },
    action: { type: 'Action', id: action },
    resource: { type: 'Record', id: record },
    context: {},
    preparsedPolicySetId: 'all',
    entities: [
      { uid: { type: 'User', id: user }, attrs: { role }, parents: [] },
      { uid: { type: 'Record', id: record }, attrs: { kind }, parents: [] },
    ],
  }))
  const decide = (number) => cedar.statefulIsAuthorized(calls[number]).response.decision === 'allow'
  return { [`cedar-wasm ${version('@cedar-policy/cedar-wasm')}`]: decide }
}

async function opa() {
  const { loadPolicy } = require('@open-policy-agent/opa-wasm')
  const loaded = await loadPolicy(readFileSync(wasm))
  const inputs = questions.map(({ text }) => JSON.parse(text))
  const decide = (number) => loaded.evaluate(inputs[number])[0].result === true
  return { [`opa-wasm ${version('@open-policy-agent/opa-wasm')}`]: decide }
}

async function casbin() {
  const { newEnforcer } = require('casbin')
  const enforcer = await newEnforcer(path.join(policies, 'casbin.conf'), path.join(policies, 'casbin.csv'))
  const asked = questions.map(({ role, kind, action }) => [{ role }, { type: kind }, action])
  return { [`casbin ${version('casbin')}`]: (number) => enforcer.enforceSync(...asked[number]) }
}

const contenders = []
for (const make of [durward, cedar, opa, casbin]) {
  try {
    contenders.push(...Object.entries(await make()))
  } catch (error) {
    console.error(`left out: ${make.name}: ${error.message.split('\n', 1)[0]}`)
  }
}
for (const [title, decide] of contenders) {
  questions.forEach(({ permitted, text }, number) => {
    if (decide(number) !== permitted) throw new Error(`${title} answers otherwise: ${text}`)
  })
}

function measure(decide, ms) {
  const end = process.hrtime.bigint() + BigInt(ms) * 1_000_000n
  const start = process.hrtime.bigint()
  let now = start
  let calls = 0
  let permits = 0
  while (now < end) {
    for (let number = 0; number < questions.length; number++) if (decide(number)) permits++
    calls += questions.length
    now = process.hrtime.bigint()
  }
  if (permits === 0) throw new Error('nothing was permitted')
  return Number(now - start) / calls
}

console.log(['ok', ...contenders.map(([title]) => title)].join('\t'))
for await (const line of createInterface({ input: process.stdin })) {
  const [, number, ms] = line.split(' ')
  console.log(`ok ${measure(contenders[number][1], Number(ms))}`)
}
