// Envoy in front of an application, asking durward as the manual says: `node envoy.mjs DURWARD FOLDER`, with the manual's folder in `MANUAL` and
// Envoy's program in `ENVOY`. Says a line for each case.

import { spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { Durward, assert, eventually, freePort } from '../relying-party/server.js'

const [program, folder] = process.argv.slice(2)

/** The blocks of a page of the manual in a language. */
function blocks(page, language) {
  const text = readFileSync(join(process.env.MANUAL, page), 'utf8')
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, block]) => block)
}

/** A text with others in the place of some of it, which must be there. */
const replaced = (text, places) =>
  places.reduce((text, [from, to]) => {
    assert(text.includes(from), `the manual has no ${from}`)
    return text.replaceAll(from, to)
  }, text)

const indented = (text, count) => text.replace(/^(?=.)/gm, ' '.repeat(count))

/** An application: it tells what it got. */
class Application {
  async start() {
    this.port = await freePort()
    this.seen = []
    this.server = createServer(async (request, response) => {
      let bytes = 0
      for await (const piece of request) bytes += piece.length
      const { method, url, headers } = request
      this.seen.push({ method, url, headers, bytes })
      response.end(JSON.stringify(this.seen.at(-1)))
    })
    await new Promise((listening) => this.server.listen(this.port, '127.0.0.1', listening))
  }
}

/** The manual's configuration, over gRPC or over HTTP, for these ports. */
function configuration(flavour, { durward, application, listener, admin }, change = (text) => text) {
  const [whole, , filter, cluster] = blocks('gateways-envoy.md', 'yaml')
  let text = whole
  if (flavour === 'http') {
    const ownFilter = /^ {18}- name: envoy\.filters\.http\.ext_authz\n[^]*?(?=^ {18}- name: envoy\.filters\.http\.router)/m
    const ownCluster = /^ {4}- name: durward\n[^]*/m
    assert(ownFilter.test(text) && ownCluster.test(text), 'the manual has another file')
    text = text.replace(ownFilter, () => indented(filter, 18)).replace(ownCluster, () => indented(cluster, 4))
  }
  text = replaced(change(text), [
    ['0.0.0.0, port_value: 8000', `127.0.0.1, port_value: ${listener}`],
    ['port_value: 8080', `port_value: ${durward}`],
    ['port_value: 3000', `port_value: ${application}`],
    ['timeout: 5s', 'timeout: 1s'],
  ])
  return `${text}admin:\n  address: { socket_address: { address: 127.0.0.1, port_value: ${admin} } }\n`
}

class Envoy {
  constructor(name, flavour, durward, change) {
    Object.assign(this, { name, flavour, durward, change })
  }

  async start() {
    const [listener, admin] = [await freePort(), await freePort()]
    Object.assign(this, { port: listener, admin })
    const path = join(folder, `${this.name}.yaml`)
    const places = { durward: this.durward, application: application.port, listener, admin }
    writeFileSync(path, configuration(this.flavour, places, this.change))
    const log = openSync(join(folder, `${this.name}.log`), 'a')
    const words = ['-c', path, '--use-dynamic-base-id', '--concurrency', '1', '-l', 'warning']
    this.process = spawn(process.env.ENVOY, words, { stdio: ['ignore', log, log] })
    await eventually(`Envoy is ready: see ${this.name}.log`, async () => {
      assert(this.process.exitCode === null, `Envoy does not start: see ${this.name}.log`)
      const ready = await send(admin, 'GET', '/ready').catch(() => undefined)
      return ready?.status === 200
    })
    return this
  }

  /** A number of Envoy's own statistics. */
  async statistic(name) {
    const { text } = await send(this.admin, 'GET', `/stats?filter=${name}`)
    return Number(/: (\d+)/.exec(text)?.[1] ?? NaN)
  }

  async stop() {
    const gone = new Promise((exit) => this.process.once('exit', exit))
    this.process.kill()
    await gone
  }
}

/** A request, whose path is sent as it is. */
function send(port, method, path, headers = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const asked = ask({ host: '127.0.0.1', port, method, path, headers, agent: false }, async (response) => {
      let text = ''
      for await (const piece of response) text += piece
      resolve({ status: response.statusCode, headers: response.headers, text })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

/** What comes of it, and whether the application got anything. */
async function through(envoy, method, path, headers, body) {
  const before = application.seen.length
  const answer = await send(envoy.port, method, path, headers, body)
  return { ...answer, passed: application.seen.length - before, got: application.seen.at(-1) }
}

async function refused(envoy, status, method, path, headers, body) {
  const answer = await through(envoy, method, path, headers, body)
  const is = typeof status === 'number' ? answer.status === status : status.includes(answer.status)
  assert(is && answer.passed === 0, method, path, answer.status, `passed: ${answer.passed}`, answer.text)
  return answer
}

async function passes(envoy, method, path, headers, body) {
  const answer = await through(envoy, method, path, headers, body)
  assert(answer.status === 200 && answer.passed === 1, method, path, answer.status, answer.text)
  return answer.got
}

const bearer = (token) => ({ Authorization: `Bearer ${token}` })

/** What holds over gRPC and over HTTP. */
const both = {
  async 'who may is let through, by a token or a cookie, and the application learns who it is'(envoy) {
    for (const headers of [bearer(anna), { Cookie: `theme=dark; durward_session=${anna}` }]) {
      const got = await passes(envoy, 'GET', '/papers/7?x=1&y=%2F', headers)
      assert(got.url === '/papers/7?x=1&y=%2F', got.url)
      assert(got.headers['x-auth-user'] === 'anna' && got.headers['x-auth-groups'] === 'staff', JSON.stringify(got))
    }
  },

  async 'who may not gets 401 or 403, with what durward says'(envoy) {
    const nobody = await refused(envoy, 401, 'GET', '/papers/7')
    assert(nobody.headers['www-authenticate'] === 'Bearer', JSON.stringify(nobody.headers))
    assert(nobody.text === 'log in first\n' && nobody.headers['content-type'].startsWith('text/plain'), nobody.text)
    await refused(envoy, 401, 'GET', '/papers/7', bearer('nonsense'))
    await refused(envoy, 401, 'GET', '/papers/7', { Cookie: 'durward_session=over' })
    for (const [method, path, token, reason] of [
      ['GET', '/papers/7', berta, 'policy'],
      ['GET', '/secret', anna, 'route'],
      ['DELETE', '/papers/7', anna, 'route'],
      ['POST', '/papers/7', anna, 'route'],
      ['OPTIONS', '/papers/7', anna, 'route'],
    ]) {
      const answer = await refused(envoy, 403, method, path, bearer(token))
      assert(answer.headers['x-durward-reason'] === reason, JSON.stringify(answer.headers))
      assert(!('x-auth-user' in answer.headers), JSON.stringify(answer.headers))
    }
  },

  async 'a forged identity header never reaches the application'(envoy) {
    const forged = { 'X-Auth-User': 'root', 'x-auth-groups': 'administrators' }
    const known = await passes(envoy, 'GET', '/papers/7', { ...bearer(anna), ...forged })
    assert(known.headers['x-auth-user'] === 'anna' && known.headers['x-auth-groups'] === 'staff', JSON.stringify(known))
    const nobody = await passes(envoy, 'GET', '/', forged)
    assert(!nobody.headers['x-auth-user'] && !nobody.headers['x-auth-groups'], JSON.stringify(nobody))
    // To some applications it is the same name.
    const answer = await send(envoy.port, 'GET', '/', { X_Auth_User: 'root' })
    assert(answer.status === 400, answer.status)
  },

  async 'a path that can be read in two ways is refused'(envoy) {
    for (const path of [
      '/papers/../secret', '/papers/%2e%2e/secret', '/papers/..%2fsecret', '/papers/7%2f..%2f..%2fsecret', '/papers//7', '//papers/7',
      '/papers/7;x=1', '/papers/..;/secret', '/papers/7%00', '/papers/7%0d%0aX:%20y', '/papers/7\\..', '/papers/7%5c..',
      '/papers/%252e%252e/secret', '/papers/7%', '/papers/%ff', '/papers/./7', '/%2e%2e/papers/7', '/papers/7#/secret',
    ]) {
      await refused(envoy, [400, 403], 'GET', path, bearer(anna))
    }
    const got = await passes(envoy, 'GET', '/p%61pers/7', bearer(anna))
    assert(got.url === '/p%61pers/7', got.url)
  },

  async 'a header that names another method or path is refused'(envoy) {
    for (const name of ['X-HTTP-Method-Override', 'X-Original-URL', 'X-Rewrite-URL']) {
      await refused(envoy, 403, 'GET', '/papers/7', { ...bearer(anna), [name]: '/secret' })
    }
  },

  async 'fields by which other gateways speak mean nothing'(envoy) {
    const forged = {
      'X-Original-URI': '/', 'X-Original-Method': 'GET', 'X-Forwarded-Uri': '/', 'X-Forwarded-Method': 'GET', 'X-Forwarded-Host': 'a.example',
      'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Proto': 'ftp', 'X-Envoy-Auth-Partial-Body': 'x', 'X-Durward-Proxy-Authorization': 'Bearer x',
    }
    await refused(envoy, 401, 'GET', '/papers/7', forged)
    await passes(envoy, 'GET', '/papers/7', { ...bearer(anna), ...forged })
  },

  async 'two credentials are nobody'(envoy) {
    await refused(envoy, 401, 'GET', '/papers/7', { Authorization: [`Bearer ${anna}`, `Bearer ${berta}`] })
    await refused(envoy, 401, 'GET', '/papers/7', { Cookie: `durward_session=${anna}; durward_session=${berta}` })
  },

  async 'obligations are met, and one that is not known is a denial'(envoy) {
    const gone = await refused(envoy, 410, 'GET', '/papers/gone', bearer(berta))
    assert(gone.text === '<p>gone</p>' && gone.headers['content-type'].startsWith('text/html'), gone.text)
    const sent = await refused(envoy, 302, 'GET', '/papers/moved', bearer(berta))
    assert(sent.headers.location === '/papers/7', JSON.stringify(sent.headers))
    const unknown = await refused(envoy, 403, 'GET', '/papers/unknown', bearer(berta))
    assert(unknown.headers['x-durward-reason'] === 'obligation', JSON.stringify(unknown.headers))
    const tier = await passes(envoy, 'GET', '/papers/tier', { ...bearer(berta), 'X-Tier': 'gold' })
    assert(tier.headers['x-tier'] === 'slow', JSON.stringify(tier))
  },

  async 'the health of durward is known'(envoy) {
    await eventually('a health check succeeds', async () => (await envoy.statistic('cluster.durward.health_check.success')) > 0)
    assert((await envoy.statistic('cluster.durward.health_check.failure')) === 0, 'a health check failed')
  },
}

const grpc = {
  async 'a header is removed before the application gets the request'(envoy) {
    const got = await passes(envoy, 'GET', '/papers/secretive', { ...bearer(berta), 'X-Client': 'x' })
    assert(!('x-client' in got.headers), JSON.stringify(got))
  },

  async 'any method is asked about'(envoy) {
    const answer = await refused(envoy, 403, 'PROPFIND', '/papers/7', bearer(anna))
    assert(answer.headers['x-durward-reason'] === 'route', JSON.stringify(answer.headers))
  },

  async 'raw headers are read too'() {
    const raw = (text) => replaced(text, [['failure_mode_allow: false', 'failure_mode_allow: false\n                      encode_raw_headers: true']])
    await beside('raw', 'grpc', ports.durward, raw, async (envoy) => {
      await passes(envoy, 'GET', '/papers/7', bearer(anna))
      await refused(envoy, 403, 'GET', '/papers/7', bearer(berta))
    })
  },

  async 'a route of Envoy may say what is asked, as far as the settings let it'() {
    const [, route] = blocks('gateways-envoy.md', 'yaml')
    const routed = (text) =>
      replaced(text, [['                      routes:\n', indented(replaced(route, [['/reports', '/papers/report']]), 22)]])
    await beside('routed', 'grpc', ports.durward, routed, async (envoy) => {
      const got = await passes(envoy, 'GET', '/papers/report', bearer(anna))
      assert(got.url === '/papers/report', got.url)
    })
    const tenant = (text) => routed(text).replace('durward.resource_type: report', 'durward.tenant: other')
    await beside('tenant', 'grpc', ports.durward, tenant, (envoy) => refused(envoy, 403, 'GET', '/papers/report', bearer(anna)))
  },

  async 'a body beyond what Envoy keeps changes nothing'() {
    const bodied = (partial) => (text) =>
      replaced(text, [['failure_mode_allow: false', `failure_mode_allow: false\n                      with_request_body: { max_request_bytes: 1000, allow_partial_message: ${partial} }`]])
    const body = 'x'.repeat(50_000)
    await beside('partial', 'grpc', ports.durward, bodied(true), async (envoy) => {
      const got = await passes(envoy, 'GET', '/papers/7', { ...bearer(anna), 'Content-Length': body.length }, body)
      assert(got.bytes === body.length, got.bytes)
      await refused(envoy, 403, 'GET', '/papers/7', { ...bearer(berta), 'Content-Length': body.length }, body)
    })
    await beside('whole', 'grpc', ports.durward, bodied(false), async (envoy) => {
      await refused(envoy, 413, 'GET', '/papers/7', { ...bearer(anna), 'Content-Length': body.length }, body)
    })
  },
}

/** Another Envoy, for a while. */
async function beside(name, flavour, durward, change, work) {
  const envoy = await new Envoy(name, flavour, durward, change).start()
  try {
    await work(envoy)
  } finally {
    await envoy.stop()
  }
}

/** Something in the place of durward that answers calls over gRPC with this. */
async function impostor(answer, work) {
  const server = createHttp2Server()
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    stream.resume()
    // Healthy: what is tested is what it answers to checks.
    if (headers[':path'].endsWith('/Health/Check')) return message('0801')(stream)
    answer(stream)
  })
  const sessions = new Set()
  server.on('session', (session) => sessions.add(session))
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  try {
    await work(server.address().port)
  } finally {
    for (const session of sessions) session.destroy()
    await new Promise((closed) => server.close(closed))
  }
}

/** A message in hexadecimal digits, and trailers. */
const message = (hexadecimal, status = '0') => (stream) => {
  const bytes = Buffer.from(hexadecimal, 'hex')
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(bytes.length, 1)
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end(Buffer.concat([prefix, bytes]))
}

/** What Envoy makes of answers: why durward writes none of these. */
const traps = {
  async 'to Envoy, a response without a code is a permit, whatever else it says'() {
    for (const hexadecimal of ['', '0a00', '0a020800', '0a0212001a00', '12050a0308c901']) {
      await impostor(message(hexadecimal), (port) => beside('trap', 'grpc', port, undefined, (envoy) => passes(envoy, 'GET', '/papers/7')))
    }
  },

  async 'to Envoy, a code is a denial, whatever else it says'() {
    for (const [hexadecimal, status] of [
      ['0a020807', 403],
      ['0a020810', 403],
      // With an `ok_response`.
      ['1a000a020807', 403],
      // With a `denied_response` of 401.
      ['12050a030891030a020810', 401],
    ]) {
      await impostor(message(hexadecimal), (port) =>
        beside('code', 'grpc', port, undefined, (envoy) => refused(envoy, status, 'GET', '/papers/7')))
    }
  },

  async 'an authorizer that fails lets nothing through'() {
    for (const answer of [
      // Trailers alone, with each status that could be meant as a denial.
      (stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true }),
      (stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' }, { endStream: true }),
      // A status of success without a message.
      (stream) => stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' }, { endStream: true }),
      // A permit, and then a failure.
      message('0a020800', '13'),
      // Half a message.
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
        stream.write(Buffer.from('00000000040a02', 'hex'), () => stream.close(8))
      },
      // A permit without trailers.
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
        stream.end(Buffer.from('00000000040a020800', 'hex'))
      },
      (stream) => {
        stream.respond({ ':status': 200, 'content-type': 'application/json' })
        stream.end('{}')
      },
      // Nothing at all.
      () => {},
    ]) {
      await impostor(answer, (port) => beside('failing', 'grpc', port, undefined, (envoy) => refused(envoy, 403, 'GET', '/papers/7')))
    }
  },

  async 'an authorizer over HTTP that fails lets nothing through'() {
    for (const answer of [
      'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal',
      'HTTP/1.1 200',
      'HTTP/1.1 204 No Content\r\n\r\n',
      'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n',
      'nonsense\r\n\r\n',
      undefined,
    ]) {
      const server = createTcpServer((socket) => {
        socket.on('error', () => {})
        if (answer === undefined) return
        socket.once('data', (bytes) => {
          const isHealth = bytes.toString('latin1').startsWith('GET /health/ready')
          socket.end(isHealth ? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n' : answer)
        })
      })
      await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
      await beside('failing-http', 'http', server.address().port, undefined, (envoy) =>
        refused(envoy, [204, 403, 503], 'GET', '/papers/7', bearer(anna)))
      server.close()
    }
  },
}

/** With durward gone, and back again. */
const down = {
  async 'while durward is down nothing is let through, and afterwards everything is as before'(envoy) {
    await durward.stop()
    for (const headers of [{}, bearer(anna)]) await refused(envoy, 403, 'GET', '/papers/7', headers)
    await refused(envoy, 403, 'GET', '/')
    await durward.start()
    await eventually('requests pass again', async () => (await send(envoy.port, 'GET', '/')).status === 200)
  },
}

const POLICIES = {
  obligations: `
policy "a paper that is gone"
deny resource.type == "paper"; resource.id == "gone";
obligation { "type": "http:answer", "status": 410, "body": "<p>gone</p>", "content_type": "text/html" }
`,
  moved: `
policy "a paper that has moved"
deny resource.type == "paper"; resource.id == "moved";
obligation { "type": "http:redirect", "location": "/papers/7" }
`,
  unknown: `
policy "a paper with a watermark"
permit resource.type == "paper"; resource.id == "unknown";
obligation { "type": "watermark" }
`,
  tier: `
policy "a paper that is read slowly"
permit resource.type == "paper"; resource.id == "tier";
obligation { "type": "http:set-header", "name": "X-Tier", "value": "slow" }
`,
  secretive: `
policy "a paper whose reader stays unknown"
permit resource.type == "paper"; resource.id == "secretive"; environment.door == "envoy";
obligation { "type": "http:remove-header", "name": "X-Client" }
`,
  report: `
policy "reports of finance"
permit resource.type == "report"; environment.extensions.team == "finance"; environment.client == "127.0.0.1";
`,
}

function prepare() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'policies'), { recursive: true })
  const [settings] = blocks('gateways.md', 'toml')
  const more = replaced(settings, [['[doors]\non = true\n', '[doors]\non = true\nheaders = ["X-Tier"]\nextensions = ["resource_type"]\n']])
  durward.settings(`server.listen = "127.0.0.1:${ports.durward}"\npolicies.path = "policies"\n${more}`)
  const [papers, pages] = blocks('gateways.md', 'sapl')
  for (const [name, text] of Object.entries({ papers, pages, ...POLICIES })) writeFileSync(join(folder, 'policies', `${name}.sapl`), text)
  durward.run('correct horse\n', 'users', 'add', 'anna', '--group', 'staff')
  durward.run('correct horse\n', 'users', 'add', 'berta', '--group', 'guests')
}

async function token(user) {
  return eventually(`${user} logs in`, async () => {
    const body = JSON.stringify({ user, password: 'correct horse' })
    const answer = await send(ports.durward, 'POST', '/v1/login', { 'Content-Type': 'application/json' }, body)
    return answer.status === 200 ? JSON.parse(answer.text).token : undefined
  })
}

async function run(name, work) {
  try {
    await work()
    console.log(`ok ${name}`)
  } catch (error) {
    console.log(`FAILED ${name}: ${error.stack}`)
  }
}

const ports = { durward: await freePort() }
const durward = new Durward(program, folder, `http://127.0.0.1:${ports.durward}`)
const application = new Application()
await application.start()
prepare()
await durward.start()
let anna, berta
try {
  for (const flavour of ['grpc', 'http']) {
    // Sessions end with a durward that keeps them in memory.
    anna = await token('anna')
    berta = await token('berta')
    const tier = (text) => (flavour === 'grpc' ? text : replaced(text, [['- exact: x-auth-groups\n', '- exact: x-auth-groups\n                              - exact: x-tier\n']]))
    const envoy = await new Envoy(flavour, flavour, ports.durward, tier).start()
    for (const cases of [both, flavour === 'grpc' ? grpc : {}, down]) {
      for (const [name, work] of Object.entries(cases)) await run(`${name}, over ${flavour}`, () => work(envoy))
    }
    await envoy.stop()
  }
  for (const [name, work] of Object.entries(traps)) await run(name, work)
} finally {
  await durward.stop()
  application.server.close()
}
process.exit(0)
