// The middleware, in frameworks as their registry has them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { Pdp } from 'durward'
import { guard } from 'durward/express'
import durward from 'durward/fastify'

const require = createRequire(import.meta.url)

const pdp = Pdp.fromTexts({
  'readers.sapl': `policy "readers" permit action == "GET"; subject.role == "reader"; resource =~ "^/records/[0-9]+$";`,
  'admin.sapl': `policy "admin" permit subject.role == "admin";`,
  'logged.sapl': `policy "logged" permit resource == "/logged"; obligation {"type": "log", "who": subject.name} obligation "stamp"`,
  'unknown.sapl': `policy "unknown" permit resource == "/unknown"; obligation {"type": "log"} obligation {"type": "shred"}`,
  'changed.sapl': `policy "changed" permit resource == "/changed"; advice "hint" transform {"id": 7}`,
  'refusing.sapl': `policy "refusing" deny resource == "/refusing"; obligation {"type": "log", "who": "refused"}`,
  'mounted.sapl': `policy "mounted" permit resource == "/api/mounted";`,
})

/** Users as somebody's login would find them. */
const userOf = (request) => {
  const role = request.headers['x-role']
  return role === undefined ? undefined : { role, name: 'anna' }
}

const paths = ['/records/:id', '/logged', '/unknown', '/changed', '/refusing', '/admin']

function express(name) {
  return (options) => {
    const app = require(name)()
    app.use((req, res, next) => {
      req.user = userOf(req)
      next()
    })
    app.use(guard(pdp, options))
    for (const path of paths) app.get(path, (req, res) => res.send(`served ${req.decision.decision}`))
    app.get('/api/mounted', (req, res) => res.send('served'))
    app.use((error, req, res, next) => res.status(500).send(error.message))
    return app.listen(0, '127.0.0.1')
  }
}

function connect(options) {
  const app = require('connect')()
  app.use((req, res, next) => {
    req.user = userOf(req)
    next()
  })
  app.use(guard(pdp, options))
  app.use((req, res) => res.end(`served ${req.decision.decision}`))
  app.use((error, req, res, next) => {
    res.statusCode = 500
    res.end(error.message)
  })
  return app.listen(0, '127.0.0.1')
}

function fastify(name) {
  return async (options) => {
    const app = require(name)()
    app.decorateRequest('user', null)
    app.addHook('onRequest', async (request) => {
      request.user = userOf(request)
    })
    await app.register(durward, { pdp, ...options })
    for (const path of paths) app.get(path, async (request) => `served ${request.decision.decision}`)
    app.get('/open', { config: { durward: false } }, async () => 'open')
    await app.register(async (api) => void api.get('/mounted', async () => 'served'), { prefix: '/api' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    app.server.once('close', () => app.close())
    return app.server
  }
}

const frameworks = {
  'Express 5': express('express'),
  'Express 4': express('express4'),
  Connect: connect,
  'Fastify 5': fastify('fastify'),
  'Fastify 4': fastify('fastify4'),
}

/** Asks without touching the path, which `fetch` would normalise. */
function get(port, path, role, method = 'GET') {
  return new Promise((resolve, reject) => {
    const headers = role === undefined ? {} : { 'x-role': role }
    const asked = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (part) => (body += part))
      response.on('end', () => resolve({ status: response.statusCode, body }))
    })
    asked.on('error', reject).end()
  })
}

async function serving(serve, options, use) {
  const server = await serve(options)
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  try {
    await use((path, role, method) => get(server.address().port, path, role, method))
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

for (const [name, serve] of Object.entries(frameworks)) {
  test(`${name}: who is permitted gets through, others get 403`, () =>
    serving(serve, {}, async (ask) => {
      assert.deepEqual(await ask('/records/7', 'reader'), { status: 200, body: 'served PERMIT' })
      assert.equal((await ask('/records/7?q=1', 'reader')).status, 200)
      assert.equal((await ask('/records/7')).status, 403)
      assert.equal((await ask('/records/7', 'visitor')).status, 403)
      assert.equal((await ask('/admin', 'reader')).status, 403)
      assert.equal((await ask('/admin', 'admin')).status, 200)
      assert.equal((await ask('/records/7', 'reader', 'DELETE')).status, 403)
      assert.equal((await ask('/api/mounted')).status, 200)
    }))

  test(`${name}: addresses that can be read in two ways are refused`, () =>
    serving(serve, {}, async (ask) => {
      for (const path of ['/records//7', '/records/%2e%2e/admin', '/records/..%2fadmin', '/records/7;a=b', '/records/%5c7', '/records/%00']) {
        const { status } = await ask(path, 'admin')
        assert.ok(status >= 400, `${path}: ${status}`)
      }
      assert.equal((await ask('/%61dmin', 'reader')).status, 403)
      assert.notEqual((await ask('/%61dmin', 'admin')).status, 403)
    }))

  test(`${name}: obligations are met, or nobody gets through`, async () => {
    const log = []
    const obligations = {
      log: (duty, { decision, request }) => log.push([duty.who, decision.decision, request.method]),
      stamp: async () => log.push('stamp'),
    }
    await serving(serve, { obligations }, async (ask) => {
      assert.equal((await ask('/logged', 'visitor')).status, 200)
      assert.deepEqual(log.splice(0), [['anna', 'PERMIT', 'GET'], 'stamp'])
      assert.equal((await ask('/unknown', 'visitor')).status, 403)
      assert.deepEqual(log.splice(0), [], 'nothing is done of what cannot be done as a whole')
      assert.equal((await ask('/refusing', 'visitor')).status, 403)
      assert.deepEqual(log.splice(0), [['refused', 'DENY', 'GET']])
    })
    await serving(serve, {}, async (ask) => assert.equal((await ask('/logged', 'visitor')).status, 403))
    const failing = { obligations: () => () => { throw new Error('the log is full') } }
    await serving(serve, failing, async (ask) => {
      const { status, body } = await ask('/logged', 'visitor')
      assert.equal(status, 500)
      assert.ok(body.includes('the log is full'))
    })
  })

  test(`${name}: what stands for the resource is taken, or nobody gets through`, async () => {
    await serving(serve, {}, async (ask) => assert.equal((await ask('/changed')).status, 403))
    const taken = []
    const options = { resource: (resource) => taken.push(resource), advice: { hint: () => { throw new Error('advice') } } }
    await serving(serve, options, async (ask) => assert.equal((await ask('/changed')).status, 200))
    assert.deepEqual(taken, [{ id: 7 }])
  })

  test(`${name}: a subscription of one's own`, async () => {
    const own = { subscription: async (request) => ({ subject: { role: 'admin' }, action: request.method, resource: 1 }) }
    await serving(serve, own, async (ask) => assert.equal((await ask('/admin')).status, 200))
    for (const subscription of [() => ({ subject: NaN }), () => 7, () => { throw new Error('mine') }]) {
      await serving(serve, { subscription }, async (ask) => assert.equal((await ask('/admin', 'admin')).status, 500))
    }
    await serving(serve, { subscription: () => undefined }, async (ask) => assert.equal((await ask('/admin', 'admin')).status, 403))
  })

  test(`${name}: an answer of one's own to what is refused`, async () => {
    const deny = name.startsWith('Fastify')
      ? (request, reply) => reply.code(404).send(request.decision.decision)
      : (request, response) => { response.statusCode = 404; response.end(request.decision.decision) }
    await serving(serve, { deny }, async (ask) => assert.deepEqual(await ask('/admin', 'reader'), { status: 404, body: 'DENY' }))
  })
}

test('Fastify leaves routes alone that say so', () =>
  serving(frameworks['Fastify 5'], {}, async (ask) => assert.deepEqual(await ask('/open'), { status: 200, body: 'open' })))

test('wrong options are refused at once', () => {
  for (const wrong of [undefined, {}, 7]) assert.throws(() => guard(wrong), /needs a decision point/)
  assert.throws(() => guard(pdp, { obligations: 7 }), /`obligations`/)
  assert.throws(() => guard(pdp, { obligations: { log: 7 } }), /`log`/)
  assert.throws(() => guard(pdp, { subscription: 7 }), /`subscription`/)
  assert.throws(() => guard(pdp, { resource: 7 }), /`resource`/)
})

test('the types say what TypeScript needs', () => {
  const tsc = new URL('node_modules/typescript/bin/tsc', import.meta.url)
  const { status, stdout } = spawnSync(process.execPath, [tsc.pathname, '--project', '.'], {
    cwd: new URL('.', import.meta.url).pathname,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout)
})
