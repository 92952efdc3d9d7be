// Passkeys in a real browser, with its virtual authenticator: `node passkeys.js DURWARD FOLDER [PICTURES]`, where `CHROMIUM` names Chromium.
// A user enrols one, signs in with it alone and as the second step, at an application and at OpenAM's login page, and removes it; then they set
// up the codes of an authenticator app, and remove them. Says a line for each case.

import { spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { chmodSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import * as oidc from 'openid-client'
import { chromium } from 'playwright-core'

const [durward, folder, pictures] = process.argv.slice(2)
const notes = []

/** Where OpenAM's login page sends users who come from nowhere. */
const ARRIVED = '/health/live'

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
  return ran.stdout
}

/** The settings and the user. Passkeys are for domains, and `localhost` is one to browsers. */
function prepare(issuer, callback) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'policies'), { recursive: true })
  writeFileSync(join(folder, 'policies/all.sapl'), 'policy "all" permit\n')
  const settings = `server.listen = '127.0.0.1:${new URL(issuer).port}'\npolicies.path = 'policies'\n[identity]\nusers = 'users'\n\
cookie_secure = false\nhash_memory_kib = 8\nhash_passes = 1\n[identity.passkeys]\nrp_id = 'localhost'\norigins = ['${issuer}']\n[oauth]\nissuer = '${issuer}'\ndata = 'oauth'\n\
[[oauth.clients]]\nid = 'app'\npublic = true\ngrants = ['authorization-code']\nredirect_uris = ['${callback}']\nscopes = ['openid']\n\
[openam]\non = true\ncookie_secure = false\nsuccess_url = '${ARRIVED}'\n`
  writeFileSync(join(folder, 'durward.toml'), settings)
  chmodSync(join(folder, 'durward.toml'), 0o600)
  run('correct horse\n', 'users', 'add', 'anna')
}

/** The code that an authenticator app shows (RFC 6238), of a secret as it is typed. */
function code(secret) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...secret.replaceAll(' ', '')].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const tag = createHmac('sha1', key).update(counter).digest()
  return String((tag.readUInt32BE(tag[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

async function ready(issuer, server) {
  for (const end = Date.now() + 30_000; ; await new Promise((rested) => setTimeout(rested, 50))) {
    try {
      if ((await fetch(`${issuer}/health/ready`)).ok) return
    } catch {
      // Not yet.
    }
    assert(server.exitCode === null && Date.now() < end, 'durward does not start: see durward.log')
  }
}

/** A user at a browser with an authenticator, who comes from an application. */
class User {
  constructor(browser, app) {
    Object.assign(this, { browser, app })
  }

  async sit(javaScriptEnabled = true) {
    const context = await this.browser.newContext({ javaScriptEnabled, viewport: { width: 320, height: 640 }, locale: 'en-GB' })
    this.page = await context.newPage()
    this.page.on('console', (message) => notes.push(message.text()))
    this.page.on('pageerror', (error) => notes.push(String(error)))
    this.devices = await context.newCDPSession(this.page)
    await this.devices.send('WebAuthn.enable', { enableUI: false })
    const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true }
    const made = await this.devices.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
    })
    this.device = made.authenticatorId
  }

  async begin(more = {}) {
    const verifier = oidc.randomPKCECodeVerifier()
    const asked = {
      redirect_uri: this.app.callback,
      scope: 'openid',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      ...more,
    }
    this.checks = { pkceCodeVerifier: verifier, expectedState: asked.state, expectedNonce: asked.nonce }
    await this.page.goto(String(oidc.buildAuthorizationUrl(this.app.config, asked)))
    const isWide = await this.page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    assert(!isWide, 'wider than the screen')
  }

  async claims() {
    assert(this.page.url().startsWith(this.app.callback), this.page.url(), await this.page.content())
    return (await oidc.authorizationCodeGrant(this.app.config, new URL(this.page.url()), this.checks)).claims()
  }

  async password() {
    await this.page.fill('#username', 'anna')
    await this.page.fill('#password', 'correct horse')
    await this.sent(() => this.page.keyboard.press('Enter'))
  }

  /** At OpenAM's login page, whether they are signed in there or not. */
  async openam(issuer) {
    await this.page.goto(`${issuer}/openam/UI/Login?ForceAuth=true`)
    const isWide = await this.page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
    assert(!isWide, 'wider than the screen')
  }

  /** They were sent on from there, and have the cookie of OpenAM. */
  async arrived() {
    assert(new URL(this.page.url()).pathname === ARRIVED, this.page.url(), await this.page.content())
    const cookies = await this.page.context().cookies()
    const token = cookies.find(({ name }) => name === 'iPlanetDirectoryPro')
    assert(token !== undefined && token.httpOnly, JSON.stringify(cookies))
    const said = await fetch(`${new URL(this.page.url()).origin}/v1/sessions/validate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.value}`, 'content-type': 'application/json' },
    })
    return said.json()
  }

  /** By keyboard, as by pointer. */
  async passkey() {
    const button = this.page.locator('#passkey button')
    await button.focus()
    await this.sent(() => this.page.keyboard.press('Enter'))
  }

  async sent(act) {
    await Promise.all([this.page.waitForNavigation({ waitUntil: 'load' }), act()])
  }

  text() {
    return this.page.content()
  }

  picture(name) {
    return this.page.screenshot({ path: join(pictures ?? folder, name), fullPage: true })
  }
}

const cases = {
  async 'a user enrols a passkey'({ user, issuer }) {
    await user.begin()
    await user.picture('password-or-passkey.png')
    await user.password()
    assert((await user.claims()).amr.join() === 'pwd')
    await user.page.goto(`${issuer}/oauth2/account/passkeys`)
    await user.picture('passkeys.png')
    await user.page.fill('#password', 'correct horse')
    await user.page.fill('#name', 'this browser')
    await user.sent(() => user.page.keyboard.press('Enter'))
    await user.picture('new-passkey.png')
    await user.passkey()
    assert((await user.text()).includes('Your passkeys are changed'), await user.text())
    const { credentials } = await user.devices.send('WebAuthn.getCredentials', { authenticatorId: user.device })
    assert(credentials.length === 1 && credentials[0].isResidentCredential && credentials[0].rpId === 'localhost', JSON.stringify(credentials))
  },

  async 'they sign in with it alone'({ user }) {
    await user.begin({ acr_values: 'urn:durward:acr:level:1' })
    await user.passkey()
    const claims = await user.claims()
    assert(claims.sub === 'anna' && claims.acr === 'urn:durward:acr:level:1', JSON.stringify(claims))
    assert(claims.amr.includes('user') && claims.amr.includes('mfa') && !claims.amr.includes('pwd'), JSON.stringify(claims))
  },

  async 'it is the second step after the password'({ user }) {
    await user.begin({ prompt: 'login' })
    await user.password()
    assert(!(await user.text()).includes('name="code"'), await user.text())
    await user.picture('passkey-step.png')
    await user.passkey()
    const claims = await user.claims()
    assert(claims.amr.includes('pwd') && claims.amr.includes('mfa'), JSON.stringify(claims))
  },

  async 'at the login page of OpenAM, too: alone'({ user, issuer }) {
    await user.openam(issuer)
    await user.picture('openam-password-or-passkey.png')
    await user.passkey()
    const { user: name, level } = await user.arrived()
    assert(name === 'anna' && level === 1, name, level)
  },

  async 'and as the second step after the password'({ user, issuer }) {
    await user.openam(issuer)
    await user.password()
    assert(!(await user.text()).includes('name="code"'), await user.text())
    await user.passkey()
    const { user: name, level } = await user.arrived()
    assert(name === 'anna' && level === 1, name, level)
  },

  async 'whoever the device does not know is told so, and the password is as good'({ user }) {
    await user.devices.send('WebAuthn.setUserVerified', { authenticatorId: user.device, isUserVerified: false })
    await user.begin({ prompt: 'login' })
    await user.page.click('#passkey button')
    await user.page.waitForSelector('#passkey [role="alert"]:not([hidden])')
    assert(await user.page.isVisible('#password'))
    await user.devices.send('WebAuthn.setUserVerified', { authenticatorId: user.device, isUserVerified: true })
    await user.passkey()
    await user.claims()
  },

  async 'without scripts there is no button, and the form is there'({ browser, app }) {
    const user = new User(browser, app)
    await user.sit(false)
    await user.begin()
    assert(!(await user.page.isVisible('#passkey')) && (await user.page.isVisible('#password')))
    await user.password()
    assert((await user.text()).includes('Passkeys need JavaScript'), await user.text())
  },

  async 'a passkey that was removed opens nothing'({ user, issuer }) {
    await user.page.goto(`${issuer}/oauth2/account/passkeys`)
    assert((await user.text()).includes('this browser'), await user.text())
    await user.page.fill('#password', 'correct horse')
    // By keyboard: a click waits for frames, of which a page behind another one draws none.
    await user.page.focus('button[name="remove"]')
    await user.sent(() => user.page.keyboard.press('Enter'))
    assert((await user.text()).includes('Your passkeys are changed'), await user.text())
    await user.begin()
    await user.passkey()
    assert((await user.text()).includes('The passkey was not accepted'), await user.text())
    await user.password()
    assert((await user.claims()).amr.join() === 'pwd')
  },

  async 'a user without scripts sets up codes, signs in with one and removes them'({ browser, app, issuer }) {
    const user = new User(browser, app)
    await user.sit(false)
    await user.begin()
    await user.password()
    await user.page.goto(`${issuer}/oauth2/account/second-step`)
    await user.picture('second-step-off.png')
    await user.page.fill('#password', 'correct horse')
    await user.sent(() => user.page.keyboard.press('Enter'))
    const secret = await user.page.textContent('.secret')
    assert((await user.page.getAttribute('main a', 'href')).includes(`secret=${secret.replaceAll(' ', '')}`))
    await user.picture('new-second-step.png')
    await user.page.fill('#code', code(secret))
    await user.sent(() => user.page.keyboard.press('Enter'))
    await user.picture('recovery-codes.png')
    const recovery = await user.page.locator('.secret li').allTextContents()
    assert(recovery.length === 10, await user.text())
    await user.begin()
    await user.password()
    await user.page.fill('#code', recovery[0])
    await user.sent(() => user.page.keyboard.press('Enter'))
    const claims = await user.claims()
    assert(claims.amr.includes('otp') && claims.amr.includes('mfa'), JSON.stringify(claims))
    await user.openam(issuer)
    await user.password()
    await user.page.fill('#code', recovery[1])
    await user.sent(() => user.page.keyboard.press('Enter'))
    assert((await user.arrived()).level === 1)
    await user.page.goto(`${issuer}/oauth2/account/second-step`)
    await user.picture('second-step-on.png')
    await user.page.fill('#code', recovery[2])
    await user.sent(() => user.page.keyboard.press('Enter'))
    assert((await user.text()).includes('The codes are removed'), await user.text())
    await user.begin()
    await user.password()
    assert((await user.claims()).amr.join() === 'pwd')
  },
}

const issuer = `http://localhost:${await freePort()}`
const applications = createServer((request, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title><p>signed in'))
await new Promise((listening) => applications.listen(0, '127.0.0.1', listening))
const callback = `http://127.0.0.1:${applications.address().port}/app`
prepare(issuer, callback)
const log = openSync(join(folder, 'durward.log'), 'w')
const server = spawn(durward, ['serve'], { cwd: folder, stdio: ['ignore', log, log] })
const quiet = ['--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ['--no-sandbox', ...quiet] })
try {
  await ready(issuer, server)
  const config = await oidc.discovery(new URL(issuer), 'app', undefined, oidc.None(), { execute: [oidc.allowInsecureRequests] })
  const app = { config, callback }
  const user = new User(browser, app)
  await user.sit()
  for (const [name, act] of Object.entries(cases)) {
    try {
      await act({ browser, app, user, issuer })
      // What the browser says of a page: that its policy stops something.
      const noted = notes.splice(0).filter((note) => !note.includes('favicon') && !note.includes('status of 4'))
      assert(noted.length === 0, noted.join('; '))
      console.log(`ok ${name}, with Chromium ${browser.version()}`)
    } catch (error) {
      console.log(`FAILED ${name}, with Chromium ${browser.version()}: ${error.stack}`)
    }
  }
} finally {
  server.kill()
  applications.close()
  await browser.close()
}
