// The table of cases that every package for another language must hold: `cases.json` beside these files.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { DurwardError, Pdp, PolicyError, QuestionError } from 'durward'

const cases = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)))

/** What a decision says, as the table has it. */
const said = (decision) => JSON.parse(JSON.stringify(decision))

const refuses = (ask, kind, why) =>
  assert.throws(ask, (error) => {
    assert.ok(error instanceof kind && error instanceof DurwardError, error)
    assert.ok(error.message.includes(why), `${error.message}: lacks ${why}`)
    return true
  })

function hold(pdp, { decide = [], requests = [], xml_requests = [], refused = [], refused_requests = [] }) {
  for (const [subscription, expected] of decide) {
    const forms = [subscription, JSON.stringify(subscription), Buffer.from(JSON.stringify(subscription))]
    for (const form of forms) {
      const decision = pdp.decide(form)
      assert.deepEqual(said(decision), expected)
      assert.equal(decision.permit, expected.decision === 'PERMIT')
      assert.equal(pdp.explain(form).steps[0].outcome, expected.decision)
    }
    assert.deepEqual(said(pdp.decideMany(forms)), [expected, expected, expected])
  }
  for (const [request, expected] of requests) {
    assert.deepEqual(JSON.parse(pdp.decideRequest(request)), expected)
    assert.deepEqual(JSON.parse(pdp.decideRequest(JSON.parse(request))), expected)
    assert.equal(pdp.explainRequest(request).steps[0].outcome, expected.Response[0].Decision)
  }
  for (const [request, expected] of xml_requests) {
    assert.ok(pdp.decideRequest(request).includes(expected))
    assert.ok(pdp.decideRequest(Buffer.from(request)).includes(expected))
  }
  for (const [text, why] of refused) {
    for (const form of [text, Buffer.from(text)]) {
      refuses(() => pdp.decide(form), QuestionError, why)
      refuses(() => pdp.explain(form), QuestionError, why)
      refuses(() => pdp.watch(form), QuestionError, why)
    }
  }
  for (const [text, why] of refused_requests) {
    refuses(() => pdp.decideRequest(text), QuestionError, why)
    refuses(() => pdp.explainRequest(text), QuestionError, why)
  }
}

test('every case of the table holds', () => {
  assert.ok(cases.length > 5)
  for (const { policies, broken = [], ...questions } of cases) {
    if (policies !== undefined) hold(Pdp.fromTexts(policies), questions)
    for (const [texts, why] of broken) {
      assert.throws(
        () => Pdp.fromTexts(texts),
        (error) => {
          assert.ok(error instanceof PolicyError)
          assert.ok(error.message.startsWith(why), error.message)
          const [problem] = error.problems
          assert.ok(error.message.startsWith(`${problem.source}:${problem.line}:${problem.column}: `))
          assert.ok(error.message.includes(problem.message))
          return true
        },
      )
    }
  }
})

test('both ways to load the package give the same classes', () => {
  const durward = createRequire(import.meta.url)('durward')
  assert.equal(durward.Pdp, Pdp)
  assert.equal(durward.QuestionError, QuestionError)
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
