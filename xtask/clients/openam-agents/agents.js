// Applications that agents of OpenAM protect, against durward: `node agents.js DURWARD FOLDER`. The agents are those of two generations
// that the registry has, and a client for browsers; what a browser does is done by a reader of forms. Says a line for each case.

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as ask } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import express from 'express'
import { CallbackType, Config, FRAuth, SessionManager, StepType } from '@forgerock/javascript-sdk'

const require = createRequire(import.meta.url)
const newer = require('@forgerock/openam-agent')
const older = require('openam-agent')

const [durward, folder] = process.argv.slice(2)
const DOMAIN = 'openam.example'
const COOKIE = 'iPlanetDirectoryPro'

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

function run(input, ...words) {
  const ran = spawnSync(durward, words, { cwd: folder, input, encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`durward ${words.join(' ')}: ${ran.stderr}`)
}

/** A port on which something listens until it is left: a connection of somebody else could take it meanwhile. */
async function keptPort() {
  const keeper = createServer()
  await new Promise((listening) => keeper.listen(0, '127.0.0.1', listening))
  return { port: keeper.address().port, leave: () => new Promise((left) => keeper.close(left)) }
}

/** Asks the port of this machine, whatever host the address names. */
function send(address, { method = 'GET', headers = {}, body } = {}) {
  const url = new URL(address)
  return new Promise((answered, failed) => {
    const asked = ask({ host: '127.0.0.1', port: url.port, method, path: url.pathname + url.search, headers: { host: url.host, ...headers } })
    asked.on('error', failed)
    asked.on('response', async (response) => {
      let text = ''
      for await (const part of response) text += part
      answered({ status: response.statusCode, headers: response.headers, text, url })
    })
    asked.end(body)
  })
}

/** A reader of forms. All hosts are of the one domain that cookies are for. */
class Browser {
  cookies = new Map()

  async go(address, options = {}, hops = 0) {
    assert(hops < 10, 'redirected for ever')
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await send(address, { ...options, headers: { ...options.headers, ...(cookie && { cookie }) } })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [pair, ...rules] = line.split(/; */)
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (rules.some((rule) => /^max-age=0$/i.test(rule))) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const place = answer.headers.location
    if (place !== undefined) return this.go(new URL(place, address), {}, hops + 1)
    return (this.shown = answer)
  }

  /** What stands in the form's fields is sent with what is typed. */
  fill(typed) {
    const { text, url } = this.shown
    const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1]
    assert(action !== undefined, 'no form:', text)
    const fields = [...text.matchAll(/<input[^>]*>/g)].map(([input]) => [/ name="([^"]*)"/.exec(input)?.[1], / value="([^"]*)"/.exec(input)?.[1] ?? ''])
    const standing = Object.fromEntries(fields.filter(([name]) => name !== undefined))
    return this.go(new URL(action, url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ ...standing, ...typed }).toString(),
    })
  }

  get token() {
    return this.cookies.get(COOKIE)
  }
}

/** Waits until something holds. */
async function eventually(what, holds) {
  for (const end = Date.now() + 30_000; !(await holds()); await new Promise((rested) => setTimeout(rested, 50))) {
    assert(Date.now() < end, `never: ${what}`)
  }
}

/** An application, its agent, and whether it was told of sessions that ended. */
async function application({ PolicyAgent, CookieShield, PolicyShield }, server, place) {
  const { port } = place
  const ended = []
  const agent = new PolicyAgent({
    serverUrl: server.openam,
    privateIP: '127.0.0.1',
    appUrl: `http://127.0.0.1:${port}`,
    username: 'robot',
    password: 'correct horse',
    realm: '/',
    logLevel: 'error',
    notificationsEnabled: true,
    errorPage: ({ status, message }) => `${status} ${message}`,
  })
  agent.on('session', (session) => ended.push(session))
  const app = express()
  app.use(agent.notifications())
  const [known, allowed] = [agent.shield(new CookieShield({ getProfiles: true })), agent.shield(new PolicyShield('web'))]
  app.get('/open', known, (request, response) => response.json(request.session.data))
  app.get('/silent', agent.shield(new CookieShield({ noRedirect: true })), (request, response) => response.send('in'))
  app.get('/records/:id', known, allowed, (request, response) => response.json(request.session.data.policies))
  app.get('/guarded', allowed, (request, response) => response.send('in'))
  await place.leave()
  const listening = app.listen(port, '127.0.0.1')
  await new Promise((listens) => listening.once('listening', listens))
  return { agent, ended, listening, at: (path) => `http://www.${DOMAIN}:${port}${path}` }
}

/** What each agent does. */
const cases = {
  async 'a user who is not logged in is sent to the login, and then let in'({ app, user }) {
    const form = await user.go(app.at('/open'))
    assert(form.text.includes('name="password"') && form.url.host.startsWith('sso.'), form.url, form.text)
    const wrong = await user.fill({ username: 'demo', password: 'no such password' })
    assert(wrong.text.includes('role="alert"'), wrong.text)
    const shown = await user.fill({ username: 'demo', password: 'correct horse' })
    assert(shown.status === 200, shown.status, shown.text)
    assert(JSON.parse(shown.text).uid !== undefined, shown.text)
    assert((await user.go(app.at('/silent'))).text === 'in')
  },

  async 'a policy decides which records are shown'({ app, user }) {
    const seven = await user.go(app.at('/records/7'))
    assert(seven.status === 200, seven.status, seven.text)
    const [told] = JSON.parse(seven.text)
    assert(told.actions.GET === true && told.actions.POST === false, seven.text)
    assert(JSON.stringify(told.attributes) === '{"uid":["demo"]}', seven.text)
    assert((await user.go(app.at('/records/8'))).status === 403)
    // Nobody in particular is not the agent itself.
    assert((await send(app.at('/guarded'))).status === 403)
  },

  async 'an agent reads the profile of a user with their session'({ app, user }) {
    const client = app.agent.amClient ?? app.agent.openAMClient
    const profile = await client.getProfile('demo', '/', user.token, COOKIE)
    assert(profile.username === 'demo' && profile.dn[0].startsWith('id=demo,'), JSON.stringify(profile))
  },

  async 'an agent is told when a session ends, and lets nobody in any more'({ app, user, server }) {
    const { token } = user
    assert((await user.go(app.at('/silent'))).text === 'in')
    const out = await user.go(`${server.openam}/UI/Logout?goto=${encodeURIComponent(app.at('/open'))}`)
    assert(user.token === undefined, 'the cookie is there')
    assert(out.text.includes('name="password"'), out.url, out.text)
    // The agent has kept the session: it is told, and does not wait until it looks again.
    await eventually('a notification', () => app.ended.some(({ sid, state }) => sid === token && state === 'destroyed'))
    const again = await send(app.at('/silent'), { headers: { cookie: `${COOKIE}=${token}` } })
    assert(again.status === 401, again.status, again.text)
    assert((await send(app.at('/records/7'), { headers: { cookie: `${COOKIE}=${token}` } })).status !== 200)
  },
}

/** What a client for browsers does, which keeps cookies for pages of an application. */
async function withSdk({ server }) {
  const jar = new Map()
  const plain = globalThis.fetch
  globalThis.fetch = async (address, options) => {
    const headers = new Headers(options?.headers)
    if (jar.size > 0) headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
    const answer = await plain(address, { ...options, headers })
    for (const line of answer.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0].split('=')
      if (/max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  try {
    Config.set({ serverConfig: { baseUrl: `${server.local}/`, timeout: 10_000 }, realmPath: 'root' })
    const fill = (step, password) => {
      step.getCallbackOfType(CallbackType.NameCallback).setName('demo')
      step.getCallbackOfType(CallbackType.PasswordCallback).setPassword(password)
      return step
    }
    const refused = await FRAuth.next(fill(await FRAuth.next(), 'no such password'))
    assert(refused.type === StepType.LoginFailure && refused.getCode() === 401, JSON.stringify(refused))
    const success = await FRAuth.next(fill(await FRAuth.next(), 'correct horse'))
    assert(success.type === StepType.LoginSuccess, JSON.stringify(success))
    const token = success.getSessionToken()
    assert(jar.get(COOKIE) === token, [...jar.keys()])
    await SessionManager.logout()
    const validated = await plain(`${server.local}/json/sessions/${token}?_action=validate`, {
      method: 'POST', headers: { 'accept-api-version': 'resource=1.2' },
    })
    assert((await validated.json()).valid === false)
  } finally {
    globalThis.fetch = plain
  }
}

function prepare(listen, ports) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'policies'), { recursive: true })
  writeFileSync(join(folder, 'policies/records.sapl'), `policy "staff get records" permit
  action == "GET"; resource == "/records/7"; "staff" in subject.groups;
obligation { "type": "openam:attributes", "values": { "uid": [subject.user] } }\n`)
  const notified = ports.map((port) => `'http://127.0.0.1:${port}/agent'`).join(', ')
  const origins = ports.map((port) => `'http://www.${DOMAIN}:${port}'`).join(', ')
  writeFileSync(join(folder, 'durward.toml'), `server.listen = '${listen}'\npolicies.path = 'policies'\n[identity]\nusers = 'users'
[openam]\non = true\ncookie_domain = '${DOMAIN}'\ncookie_secure = false\npolicy_group = 'agents'\nnotified = [${notified}]
goto_origins = [${origins}]
danger_legacy_identity = true\n[[openam.applications]]\nname = 'web'\n`)
  chmodSync(join(folder, 'durward.toml'), 0o600)
  run('correct horse\n', 'users', 'add', 'demo', '--group', 'staff')
  run('correct horse\n', 'users', 'add', 'robot', '--group', 'agents')
}

const port = await freePort()
const server = { openam: `http://sso.${DOMAIN}:${port}/openam`, local: `http://127.0.0.1:${port}/openam` }
const places = [await keptPort(), await keptPort()]
prepare(`127.0.0.1:${port}`, places.map((place) => place.port))
const log = openSync(join(folder, 'durward.log'), 'w')
const child = spawn(durward, ['serve'], { cwd: folder, stdio: ['ignore', log, log] })
const applications = []
let code = 1
try {
  await eventually('durward answers: see durward.log', async () => {
    assert(child.exitCode === null, 'durward does not start: see durward.log')
    return (await send(`${server.local}/isAlive.jsp`).catch(() => undefined))?.status === 200
  })
  const play = async (name, act) => {
    try {
      await act()
      console.log(`ok ${name}`)
    } catch (error) {
      console.log(`FAILED ${name}: ${error.stack}`)
    }
  }
  for (const [at, [name, package_]] of [['@forgerock/openam-agent 5.0.1', newer], ['openam-agent 3.1.2', older]].entries()) {
    const stage = { app: await application(package_, server, places[at]), user: new Browser(), server }
    applications.push(stage.app)
    for (const [what, act] of Object.entries(cases)) await play(`${what}, with ${name}`, () => act(stage))
  }
  await play('a page logs its user in with callbacks, and out, with @forgerock/javascript-sdk 4.9.1', () => withSdk({ server }))
  code = 0
} finally {
  for (const { listening } of applications) listening.close()
  child.kill()
  // Agents hold the end of the program up to log themselves out.
  process.reallyExit(code)
}
