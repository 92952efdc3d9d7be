// What a decision costs from JavaScript: `node bench.mjs [SECONDS]`, beside a release build of the addon, which `DURWARD_NATIVE` names.
// Other engines are measured where `npm install` has put them here. All answer the same questions, and must answer them alike.

import { Pdp } from '../index.mjs'

const seconds = Number(process.argv[2] ?? 1)
const POLICIES = 100

/** Every second one is permitted. */
const questions = Array.from({ length: 200 }, (_, number) => {
  const role = number % POLICIES
  const type = number % 2 === 0 ? role : (role + 1) % POLICIES
  return {
    subject: { id: `user-${number}`, role: `role-${role}`, department: 'ward 7' },
    action: 'read',
    resource: { id: `record-${number}`, type: `type-${type}`, owner: `user-${number % 17}` },
  }
})
const expected = questions.map((_, number) => number % 2 === 0)

const numbers = Array.from({ length: POLICIES }, (_, number) => number)

function durward() {
  const policy = (number) =>
    `policy "p${number}" permit action == "read"; subject.role == "role-${number}"; resource.type == "type-${number}";`
  const named = (text) => Pdp.fromTexts(Object.fromEntries(numbers.map((number) => [`p${number}.sapl`, text(number)])))
  const [pdp, obliging] = [named(policy), named((number) => policy(number).replace(/;$/, '; obligation {"type": "log"}'))]
  const texts = questions.map((question) => JSON.stringify(question))
  const bytes = texts.map((text) => Buffer.from(text))
  return {
    'durward, text': (number) => pdp.decide(texts[number]).permit,
    'durward, bytes': (number) => pdp.decide(bytes[number]).permit,
    'durward, object': (number) => pdp.decide(questions[number]).permit,
    'durward, text, with an obligation': (number) => obliging.decide(texts[number]).permit,
    'JSON.stringify alone': (number) => JSON.stringify(questions[number]).length > 0 && expected[number],
  }
}

async function cedar() {
  const cedar = await import('@cedar-policy/cedar-wasm/nodejs')
  const policies = numbers.map(
    (number) =>
      `permit(principal, action == Action::"read", resource) when { principal.role == "role-${number}" && resource.kind == "type-${number}" };`,
  )
  cedar.preparsePolicySet('all', { staticPolicies: policies.join('\n') })
  const calls = questions.map(({ subject, action, resource }) => ({
    principal: { type: 'User', id: subject.id },
    action: { type: 'Action', id: action },
    resource: { type: 'Record', id: resource.id },
    context: {},
    preparsedPolicySetId: 'all',
    entities: [
      { uid: { type: 'User', id: subject.id }, attrs: { role: subject.role, department: subject.department }, parents: [] },
      { uid: { type: 'Record', id: resource.id }, attrs: { kind: resource.type, owner: resource.owner }, parents: [] },
    ],
  }))
  return { 'cedar-wasm, parsed policies': (number) => cedar.statefulIsAuthorized(calls[number]).response.decision === 'allow' }
}

async function casbin() {
  const { newEnforcer, newModelFromString } = await import('casbin')
  const enforcer = await newEnforcer(
    newModelFromString(`[request_definition]
r = sub, obj, act
[policy_definition]
p = role, type, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub.role == p.role && r.obj.type == p.type && r.act == p.act`),
  )
  await enforcer.addPolicies(numbers.map((number) => [`role-${number}`, `type-${number}`, 'read']))
  return { 'casbin, enforceSync': (number) => enforcer.enforceSync(questions[number].subject, questions[number].resource, 'read') }
}

/** The median of some rounds, in nanoseconds for a decision. */
function measure(decide) {
  const rounds = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end || rounds.length < 5) {
    const start = process.hrtime.bigint()
    for (let number = 0; number < questions.length; number++) decide(number)
    rounds.push(Number(process.hrtime.bigint() - start) / questions.length)
  }
  // The first ones are spent on compiling.
  const settled = rounds.slice(Math.floor(rounds.length / 4)).sort((a, b) => a - b)
  return settled[Math.floor(settled.length / 2)]
}

console.log(`Node ${process.version}, ${POLICIES} policies, ${questions.length} questions`)
for (const make of [durward, cedar, casbin]) {
  let contenders
  try {
    contenders = await make()
  } catch (error) {
    console.log(`${make.name}: not measured: ${error.message.split('\n', 1)[0]}`)
    continue
  }
  for (const [name, decide] of Object.entries(contenders)) {
    questions.forEach((_, number) => {
      if (decide(number) !== expected[number]) throw new Error(`${name} answers question ${number} otherwise`)
    })
    console.log(`${name.padEnd(36)}${Math.round(measure(decide)).toLocaleString('en').padStart(10)} ns`)
  }
}
