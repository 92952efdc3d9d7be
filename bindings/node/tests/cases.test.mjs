// The table of cases that every package for another language must hold, `cases.json` beside these files; and what else holds everywhere.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import durward, { Pdp, QuestionError } from 'durward'
import { everywhere } from './everywhere.mjs'

const cases = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)))

/** What a decision says, as the table has it. */
const said = (decision) => JSON.parse(JSON.stringify(decision))

test('every case of the table holds, and bad input is refused', async () => {
  assert.ok((await everywhere(durward, cases)).length > 10)
})

test('both ways to load the package give the same classes', () => {
  const required = createRequire(import.meta.url)('durward')
  assert.equal(required.Pdp, Pdp)
  assert.equal(required.QuestionError, QuestionError)
})

test('of many questions those that are none are errors, thrown or in their place', () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna";' })
  const ask = (subject) => ({ subject, action: 1, resource: 1 })
  const [anna, none, bob] = pdp.decideMany([ask('anna'), 'no JSON', ask('bob')], { returnErrors: true })
  assert.equal(anna.permit, true)
  assert.ok(none instanceof QuestionError && none.permit === undefined)
  assert.equal(bob.decision, 'DENY')
  assert.throws(() => pdp.decideMany([ask('anna'), 'no JSON']), QuestionError)
  assert.deepEqual(said(pdp.decideMany(new Set([ask('anna')]))), [{ decision: 'PERMIT' }])
})

test('an explanation is words and values', () => {
  const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna";' })
  const explained = pdp.explain({ subject: 'bob', action: 1, resource: 1 })
  assert.ok(explained.text.includes('`subject` is `"bob"`'), explained.text)
  assert.equal(String(explained), explained.text)
  assert.deepEqual(said(explained), explained.steps)
  assert.equal(explained.steps[0].outcome, 'DENY')
})
