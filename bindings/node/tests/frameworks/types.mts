// What compiles, and what must not.

import { readFileSync } from 'node:fs'
import express from 'express'
import Fastify from 'fastify'
import durward, { Decision, Pdp, PolicyError, QuestionError } from 'durward'
import { guard } from 'durward/express'
import plugin, { durward as named } from 'durward/fastify'

const pdp: Pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit', 'b.xml': readFileSync('b.xml') })
const decision: Decision = pdp.decide({ subject: { role: 'doctor', since: new Date() }, action: 'read', resource: 7 })
if (decision.permit) for (const obligation of decision.obligations ?? []) console.log(obligation)
switch (decision.decision) {
  case 'PERMIT':
  case 'DENY':
  case 'SUSPEND':
  case 'NOT_APPLICABLE':
  case 'INDETERMINATE':
    break
  default:
    decision.decision satisfies never
}
const permits: boolean[] = pdp.decideMany(['{}', new Uint8Array(1)]).map((one) => one.permit)
for (const one of pdp.decideMany([], { returnErrors: true })) if (one instanceof QuestionError) console.log(one.message)
const response: string = pdp.decideRequest({ Request: {} })
console.log(permits, response, pdp.explain('{}').text, pdp.snapshot().policies, durward.Pdp)

try {
  await pdp.reloadAsync()
} catch (error) {
  if (error instanceof PolicyError) console.log(error.problems[0]?.line)
  if (error instanceof QuestionError) console.log(error.message)
}

for await (const { permit } of pdp.watch('{}').unref()) console.log(permit)

// @ts-expect-error: a subscription has an action
pdp.decide({ subject: 1, resource: 1 })
// @ts-expect-error: a number is no question
pdp.decide(7)
// @ts-expect-error: decisions are not changed
decision.permit = true
// @ts-expect-error: a decision point is made by fromDir or fromTexts
new Pdp()

const app = express()
app.use(guard(pdp))
app.get('/', guard<express.Request, express.Response>(pdp, {
  subscription: (req) => ({ subject: req.ip, action: req.method, resource: req.params }),
  obligations: { log: (duty, { response, decision }) => response.set('x-log', String(decision.permit)) },
  deny: (req, res) => res.status(404).json(req.decision?.decision),
}))

const fastify = Fastify()
await fastify.register(plugin, { pdp, subscription: (request) => ({ subject: 1, action: request.method, resource: request.url }) })
await fastify.register(named, { pdp, deny: (request, reply) => reply.code(404).send(request.decision?.decision) })
fastify.get('/', { config: { durward: false } }, async (request) => request.decision)
