// A collector of OpenTelemetry that durward tells what it decides: `node collector.mjs DURWARD FOLDER`, with the collector in the variable COLLECTOR.
// What it was sent is read from what its debug exporter prints. Says a line for each case.

import { spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const [durward, folder] = process.argv.slice(2)
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const PATIENCE_MS = 60_000

function assert(holds, ...why) {
  if (!holds) throw new Error(why.map(String).join(' '))
}

async function freePort() {
  const probe = createServer()
  await new Promise((listening) => probe.listen(0, '127.0.0.1', listening))
  const { port } = probe.address()
  await new Promise((closed) => probe.close(closed))
  return port
}

async function eventually(what, isSo) {
  const end = Date.now() + PATIENCE_MS
  for (;;) {
    const found = await isSo()
    if (found) return found
    if (Date.now() > end) throw new Error(`never: ${what}`)
    await new Promise((over) => setTimeout(over, 50))
  }
}

const POLICY = `<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="records" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides"><Target/>
  <Rule RuleId="doctors" Effect="Permit"><Target><AnyOf><AllOf>
    <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
      <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject" AttributeId="role"
        DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
    </Match></AllOf></AnyOf></Target></Rule></Policy>`

mkdirSync(join(folder, 'policies'), { recursive: true })
const [http, otlp] = [await freePort(), await freePort()]
writeFileSync(join(folder, 'policies/records.xml'), POLICY)
writeFileSync(join(folder, 'headers'), 'x-scope: orders\n', { mode: 0o600 })
writeFileSync(
  join(folder, 'durward.toml'),
  `policies.path = "policies"
server.listen = "127.0.0.1:${http}"
[otlp]
endpoint = "http://127.0.0.1:${otlp}"
service_name = "pdp-of-the-test"
resource = { "deployment.environment.name" = "test" }
headers_path = "headers"
batch_time_ms = 50
`,
)
writeFileSync(
  join(folder, 'collector.yaml'),
  `receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${otlp}
exporters:
  debug:
    verbosity: detailed
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces: { receivers: [otlp], exporters: [debug] }
    logs: { receivers: [otlp], exporters: [debug] }
`,
)

const children = []
function start(program, words, log) {
  const out = openSync(join(folder, log), 'a')
  const child = spawn(program, words, { cwd: folder, stdio: ['ignore', out, out] })
  children.push(child)
  return child
}

const printed = () => readFileSync(join(folder, 'collector.log'), 'utf8')

/** The spans, or log records, that the collector printed, each as a text. */
function items(mark) {
  return printed()
    .split(new RegExp(`^${mark} #\\d+$`, 'm'))
    .slice(1)
    .map((text) => text.split(/^\t\{"resource"/m)[0])
}

/** The value of a line of an item. */
function field(item, name) {
  return item.match(new RegExp(`^ *(?:-> )?${name.replaceAll('.', '\\.')} *: (.*)$`, 'm'))?.[1]
}

async function decide(role, headers = {}) {
  const attributes = role ? [{ AttributeId: 'role', Value: role }] : []
  const body = JSON.stringify({ Request: { AccessSubject: { Attribute: attributes } } })
  const answer = await fetch(`http://127.0.0.1:${http}/pdp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  return (await answer.json()).Response[0].Decision
}

async function metric(name) {
  const text = await (await fetch(`http://127.0.0.1:${http}/metrics`)).text()
  const line = text.split('\n').find((line) => line.startsWith(`${name} `))
  return Number(line?.split(' ').pop())
}

const cases = {
  async 'a request and its decision are spans of the trace of whoever asked'() {
    const traceparent = `00-${TRACE}-${PARENT}-01`
    assert((await decide('doctor', { traceparent, tracestate: 'rojo=1', 'x-request-id': 'first' })) === 'Permit')
    const spans = await eventually('two spans', () => {
      const found = items('Span').filter((span) => field(span, 'Trace ID') === TRACE)
      return found.length === 2 && found
    })
    const request = spans.find((span) => field(span, 'Kind') === 'Server')
    const decision = spans.find((span) => field(span, 'Kind') === 'Internal')
    assert(field(request, 'Name') === 'POST /pdp' && field(request, 'Parent ID') === PARENT, request)
    assert(field(request, 'http.response.status_code') === 'Int(200)', request)
    assert(field(request, 'TraceState') === 'rojo=1', request)
    assert(field(decision, 'Parent ID') === field(request, 'ID'), request, decision)
    assert(field(decision, 'durward.surface') === 'Str(xacml)', decision)
    assert(field(decision, 'durward.decision') === 'Str(Permit)', decision)
    assert(field(decision, 'durward.policies') === 'Slice(["records"])', decision)
    assert(field(decision, 'durward.request_id') === 'Str(first)', decision)
    assert(field(decision, 'Start time') <= field(decision, 'End time'), decision)
    assert(/service\.name: Str\(pdp-of-the-test\)/.test(printed()), 'whose spans they are')
    assert(/deployment\.environment\.name: Str\(test\)/.test(printed()), 'where it runs')
  },

  async 'a line of the decision log is a log record of the same trace'() {
    const record = await eventually('a record', () => items('LogRecord').find((record) => field(record, 'Trace ID') === TRACE))
    assert(field(record, 'SeverityText') === 'INFO' && field(record, 'EventName') === 'durward.decision', record)
    const line = JSON.parse(field(record, 'Body').slice('Str('.length, -1))
    assert(line.decision === 'Permit' && line.trace_id === TRACE && line.request_id === 'first', record)
    assert(line.attributes[0].attributes[0].id === 'role' && !record.includes('doctor'), 'names without values', record)
  },

  async 'what could not be decided is an error, with its reason'() {
    assert((await decide('')) === 'Indeterminate')
    const span = await eventually('a span', () => items('Span').find((span) => field(span, 'Status code') === 'Error'))
    assert(field(span, 'Status message').includes('attribute `role` is missing'), span)
    await eventually('a record', () => items('LogRecord').find((record) => field(record, 'SeverityText') === 'WARN'))
  },

  async 'a trace that its caller does not record has no spans here, and its decision is logged'() {
    const trace = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    assert((await decide('doctor', { traceparent: `00-${trace}-${PARENT}-00` })) === 'Permit')
    await eventually('a record', () => items('LogRecord').find((record) => field(record, 'Trace ID') === trace))
    // Spans of a later request have come as well.
    const last = 'b'.repeat(32)
    await decide('doctor', { traceparent: `00-${last}-${PARENT}-01` })
    await eventually('later spans', () => items('Span').some((span) => field(span, 'Trace ID') === last))
    assert(!items('Span').some((span) => field(span, 'Trace ID') === trace), 'not recorded')
  },

  async 'decisions go on without the collector, and what it takes again is sent again'() {
    const before = await metric('durward_otlp_items_total{signal="traces",result="sent"}')
    assert(before >= 6, before)
    collector.kill('SIGTERM')
    await new Promise((ended) => collector.once('exit', ended))
    for (let number = 0; number < 20; number += 1) assert((await decide('doctor')) === 'Permit')
    await eventually('they are given up', async () => (await metric('durward_otlp_items_total{signal="traces",result="failed"}')) > 0)
    collector = start(process.env.COLLECTOR, ['--config', 'file:collector.yaml'], 'collector.log')
    const trace = 'c'.repeat(32)
    await eventually('a span after it came back', async () => {
      await decide('doctor', { traceparent: `00-${trace}-${PARENT}-01` })
      return items('Span').some((span) => field(span, 'Trace ID') === trace)
    })
  },

  async 'what was decided before the end is sent before the end'() {
    const trace = 'd'.repeat(32)
    assert((await decide('doctor', { traceparent: `00-${trace}-${PARENT}-01` })) === 'Permit')
    server.kill('SIGTERM')
    const code = await new Promise((ended) => server.once('exit', ended))
    assert(code === 0, 'durward ended with', code)
    await eventually('both spans', () => items('Span').filter((span) => field(span, 'Trace ID') === trace).length === 2)
  },
}

let collector = start(process.env.COLLECTOR, ['--config', 'file:collector.yaml'], 'collector.log')
const server = start(durward, ['serve', '--config', 'durward.toml'], 'durward.log')
let code = 1
try {
  await eventually('durward is ready', async () => (await fetch(`http://127.0.0.1:${http}/health/ready`).catch(() => ({ ok: false }))).ok)
  await eventually('the collector is ready', () => printed().includes('Everything is ready'))
  for (const [name, check] of Object.entries(cases)) {
    try {
      await check()
      console.log(`ok ${name}`)
    } catch (error) {
      console.log(`FAILED ${name}: ${error.message}`)
    }
  }
  code = 0
} finally {
  for (const child of children) child.kill('SIGKILL')
}
process.exitCode = code
