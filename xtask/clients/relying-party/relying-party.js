// Applications whose users log in at durward with a browser: `node relying-party.js DURWARD FOLDER [PICTURES]`. The applications are
// openid-client's; the browser is Chromium where `CHROMIUM` names it, else a reader of forms. Says a line for each case.

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import * as oidc from 'openid-client'
import { chromium, reader } from './browsers.js'
import { assert, freePort } from './server.js'

const [durward, folder, pictures] = process.argv.slice(2)
const notes = []

function run(input, ...words) {
  const ran = spawnSync(durward, words, { cwd: folder, input, encoding: 'utf8' })
  if (ran.status !== 0) throw new Error(`durward ${words.join(' ')}: ${ran.stderr}`)
  return ran.stdout
}

/** The code of a device (RFC 6238), this period's or a later one's: each is good once. */
function code(secret, later = 0) {
  const bits = [...secret].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)))
  const moving = Buffer.alloc(8)
  moving.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later))
  const digest = createHmac('sha1', key).update(moving).digest()
  const number = digest.readUInt32BE(digest[19] & 15) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** An application: where the browser comes back to, and the package that speaks for it. */
class Application {
  constructor(id, config, callback) {
    Object.assign(this, { id, config, callback })
  }

  /** Where to send the browser, and what the answer is compared with. */
  async begin(more = {}) {
    const verifier = oidc.randomPKCECodeVerifier()
    const asked = {
      redirect_uri: this.callback,
      scope: 'openid profile',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      ...more,
    }
    this.checks = { pkceCodeVerifier: verifier, expectedState: asked.state, expectedNonce: asked.nonce }
    return asked
  }

  async address(more) {
    return oidc.buildAuthorizationUrl(this.config, await this.begin(more))
  }

  tokens(back, DPoP) {
    return oidc.authorizationCodeGrant(this.config, back.address, this.checks, undefined, DPoP && { DPoP })
  }

  /** A key that tokens are bound to. */
  async key(algorithm) {
    return oidc.getDPoPHandle(this.config, await oidc.randomDPoPKeyPair(algorithm))
  }
}

async function refused(act, error) {
  try {
    await act()
  } catch (thrown) {
    if (thrown.error === error || thrown.cause?.error === error) return
    throw thrown
  }
  throw new Error(`not refused with ${error}`)
}

/** As a service refuses a token. */
async function challenged(act, error) {
  try {
    await act()
  } catch (thrown) {
    if (JSON.stringify(thrown.cause)?.includes(`"${error}"`)) return
    throw thrown
  }
  throw new Error(`not challenged with ${error}`)
}

const cases = {
  async 'a user signs in, and the application learns who they are'({ app, shop, user }) {
    const page = await user.go(await app.address())
    await user.screenshot(join(pictures ?? folder, 'password.png'))
    assert(page.text.includes('name="password"') && !page.text.includes('<script'), page.text)
    const wrong = await user.fill({ username: 'anna', password: 'no such password' })
    assert(wrong.text.includes('role="alert"') && wrong.text.includes('anna'), wrong.text)
    const back = await user.fill({ password: 'correct horse' })
    assert(back.text.includes('signed in'), back.text)
    const tokens = await app.tokens(back)
    const claims = tokens.claims()
    assert(claims.sub === 'anna' && claims.acr === 'urn:durward:acr:level:0', JSON.stringify(claims))
    const known = await oidc.fetchUserInfo(app.config, tokens.access_token, claims.sub)
    assert(known.sub === 'anna', JSON.stringify(known))
    // Another application, without a word to the user.
    const silent = await user.go(await shop.address({ prompt: 'none' }))
    assert((await shop.tokens(silent)).claims().sub === 'anna')
    return tokens
  },

  async 'refresh tokens follow each other, and one that is used again ends them'({ app, shop, user }) {
    const first = await app.tokens(await user.go(await app.address()))
    const second = await oidc.refreshTokenGrant(app.config, first.refresh_token)
    assert(second.refresh_token !== first.refresh_token && second.claims().sub === 'anna')
    await refused(() => oidc.refreshTokenGrant(app.config, first.refresh_token), 'invalid_grant')
    await refused(() => oidc.refreshTokenGrant(app.config, second.refresh_token), 'invalid_grant')
    const other = await shop.tokens(await user.go(await shop.address()))
    await oidc.tokenRevocation(shop.config, other.refresh_token)
    await refused(() => oidc.refreshTokenGrant(shop.config, other.refresh_token), 'invalid_grant')
  },

  async 'a code is good for whoever began, and once'({ app, user }) {
    const back = await user.go(await app.address())
    const { checks } = app
    await app.begin()
    await refused(() => oidc.authorizationCodeGrant(app.config, back.address, { ...checks, pkceCodeVerifier: app.checks.pkceCodeVerifier }), 'invalid_grant')
    app.checks = checks
    const again = await user.go(await app.address())
    await app.tokens(again)
    await refused(() => app.tokens(again), 'invalid_grant')
  },

  async 'a pushed request is all that the browser brings'({ shop, user }) {
    const address = await oidc.buildAuthorizationUrlWithPAR(shop.config, await shop.begin())
    assert([...address.searchParams.keys()].sort().join() === 'client_id,request_uri', address)
    assert((await shop.tokens(await user.go(address))).claims().sub === 'anna')
  },

  async 'a second step and consent are asked for, and a refusal is told'({ asks, fresh, device }) {
    const user = await fresh()
    let page = await user.go(await asks.address({ acr_values: 'urn:durward:acr:level:1' }))
    page = await user.fill({ username: 'berta', password: 'correct horse' })
    assert(page.text.includes('name="code"') && page.text.includes('berta'), page.text)
    await user.screenshot(join(pictures ?? folder, 'second-step.png'))
    page = await user.fill({ code: '000000' })
    assert(page.text.includes('role="alert"'), page.text)
    page = await user.fill({ code: code(device) })
    assert(page.text.includes('name="consent"') && page.text.includes('The Register'), page.text)
    await user.screenshot(join(pictures ?? folder, 'consent.png'))
    const no = await user.press('no')
    assert(no.address.searchParams.get('error') === 'access_denied', no.address)
    page = await user.go(await asks.address())
    const claims = (await asks.tokens(await user.press('yes'))).claims()
    assert(claims.acr === 'urn:durward:acr:level:1' && claims.amr.includes('otp'), JSON.stringify(claims))
    // It is asked once.
    assert((await asks.tokens(await user.go(await asks.address({ prompt: 'none' })))).claims().sub === 'berta')
  },

  async 'an application that asks for a new login gets one'({ app, user }) {
    const first = (await app.tokens(await user.go(await app.address()))).claims()
    const page = await user.go(await app.address({ prompt: 'login' }))
    assert(page.text.includes('name="password"'), page.text)
    const second = (await app.tokens(await user.fill({ username: 'anna', password: 'correct horse' }))).claims()
    assert(second.auth_time >= first.auth_time && second.sid !== first.sid, JSON.stringify([first, second]))
  },

  async 'tokens that are bound to a key are good with that key alone'({ app, shop, user }) {
    const [own, other] = [await app.key('ES256'), await app.key('PS256')]
    const back = await user.go(await app.address({ dpop_jkt: await own.calculateThumbprint() }))
    await refused(() => app.tokens(back, other), 'invalid_grant')
    const tokens = await app.tokens(back, own)
    assert(tokens.token_type === 'dpop', JSON.stringify(tokens))
    const known = (how) => oidc.fetchUserInfo(app.config, tokens.access_token, 'anna', how)
    assert((await known({ DPoP: own })).sub === 'anna' && (await known({ DPoP: own })).sub === 'anna')
    await challenged(() => known({ DPoP: other }), 'invalid_dpop_proof')
    await challenged(() => known(), 'invalid_token')
    const refresh = (DPoP) => oidc.refreshTokenGrant(app.config, tokens.refresh_token, undefined, DPoP && { DPoP })
    await refused(() => refresh(other), 'invalid_grant')
    await refused(() => refresh(), 'invalid_grant')
    assert((await refresh(own)).token_type === 'dpop')
    // A client with a secret, which pushes its request with a proof.
    const [pushes, thief] = [await shop.key('ES512'), await shop.key('RS256')]
    const pushed = await user.go(await oidc.buildAuthorizationUrlWithPAR(shop.config, await shop.begin(), { DPoP: pushes }))
    await refused(() => shop.tokens(pushed, thief), 'invalid_grant')
    assert((await shop.tokens(pushed, pushes)).token_type === 'dpop')
  },

  async 'after signing out nothing is left, in any application'({ app, shop, user }) {
    const [here, there] = [await app.tokens(await user.go(await app.address())), await shop.tokens(await user.go(await shop.address()))]
    const asked = await user.go(oidc.buildEndSessionUrl(shop.config, { post_logout_redirect_uri: shop.callback }))
    assert(asked.text.includes('Sign out?'), asked.text)
    await user.screenshot(join(pictures ?? folder, 'sign-out.png'))
    const out = await user.press()
    assert(out.address.href.startsWith(shop.callback), out.address)
    for (const [application, tokens] of [[app, here], [shop, there]]) {
      await refused(() => oidc.refreshTokenGrant(application.config, tokens.refresh_token), 'invalid_grant')
    }
    const silent = await user.go(await app.address({ prompt: 'none' }))
    assert(silent.address.searchParams.get('error') === 'login_required', silent.address)
    const hinted = await user.go(oidc.buildEndSessionUrl(app.config, { id_token_hint: here.id_token, post_logout_redirect_uri: app.callback }))
    assert(hinted.address.href.startsWith(app.callback), hinted.address)
  },

  async 'a user signs in at another durward, and the application learns who they are here'({ branch, fresh }) {
    const user = await fresh()
    const offered = await user.go(await branch.address())
    assert(offered.text.includes('name="upstream"') && offered.text.includes('name="password"'), offered.text)
    await user.screenshot(join(pictures ?? folder, 'upstream.png'))
    const there = await user.leave('central')
    assert(there.address.href.startsWith(issuer), there.address)
    const back = await user.fillAndGoTo({ username: 'anna', password: 'correct horse' }, branch.callback)
    assert(back.address.href.startsWith(branch.callback), back.address)
    const claims = (await branch.tokens(back)).claims()
    assert(claims.iss === branchIssuer && claims.sub === 'anna' && claims.amr.join() === 'pwd', JSON.stringify(claims))
    // Nobody is asked again.
    assert((await branch.tokens(await user.go(await branch.address({ prompt: 'none' })))).claims().sub === 'anna')
  },

  async 'a request that is wrong is shown, and the browser is sent nowhere'({ app, user }) {
    const page = await user.go(await app.address({ redirect_uri: 'https://elsewhere.example/' }))
    assert(page.text.includes('This did not work') && page.address.pathname === '/oauth2/authorize', page.text)
  },
}

/** A second durward, whose users log in at the first one. */
function prepareBranch(secret) {
  const own = join(folder, 'branch')
  mkdirSync(join(own, 'policies'), { recursive: true })
  writeFileSync(join(own, 'policies/all.sapl'), 'policy "all" permit\n')
  writeFileSync(join(own, 'secret'), `${secret}\n`, { mode: 0o600 })
  const settings = `server.listen = '127.0.0.1:${new URL(branchIssuer).port}'\npolicies.path = 'policies'\n[identity]\nusers = 'users'\ncookie_secure = false
[[identity.upstreams]]\nid = 'central'\nname = 'Central'\nissuer = '${issuer}'\nclient_id = 'shop'\nclient_secret_path = 'secret'\nscopes = ['openid', 'profile']
userinfo = true\ncreate = true
[oauth]\nissuer = '${branchIssuer}'\ndata = 'oauth'\n[[oauth.clients]]\nid = 'app'\npublic = true\ngrants = ['authorization-code']
redirect_uris = ['${callback}branch']\nscopes = ['openid', 'profile']\n`
  writeFileSync(join(own, 'durward.toml'), settings, { mode: 0o600 })
  return own
}

/** The settings and the users; the secrets of an application and of berta's device. */
function prepare(issuer, callback) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'policies'), { recursive: true })
  const made = run('', 'generate', 'basic', '-i', 'shop')
  const [, password] = /shown only now: (\S+)/.exec(made)
  const [, digest] = /password = "([^"]+)"/.exec(made)
  writeFileSync(join(folder, 'policies/all.sapl'), 'policy "all" permit\n')
  const client = (id, more) => `[[oauth.clients]]\nid = '${id}'\ngrants = ['authorization-code', 'refresh-token']
redirect_uris = ['${callback}${id}', '${branchIssuer}/oauth2/upstream/callback/central']\npost_logout_redirect_uris = ['${callback}${id}']\nscopes = ['openid', 'profile']\n${more}\n`
  const settings = `server.listen = '${new URL(issuer).host}'\npolicies.path = 'policies'\n[identity]\nusers = 'users'\ncookie_secure = false
[oauth]\nissuer = '${issuer}'\ndata = 'oauth'\ndpop_nonces_required = true\n${client('app', 'public = true')}${client('shop', `secret = '${digest}'`)}\
${client('asks', "public = true\nconsent = true\nname = 'The Register'")}`
  writeFileSync(join(folder, 'durward.toml'), settings)
  chmodSync(join(folder, 'durward.toml'), 0o600)
  for (const user of ['anna', 'berta']) run('correct horse\n', 'users', 'add', user)
  return { password, device: /secret=([A-Z2-7]+)/.exec(run('', 'users', 'second-step', 'berta'))[1] }
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

const issuer = `http://127.0.0.1:${await freePort()}`
// Browsers keep cookies by name of host, whatever the port.
const branchIssuer = `http://localhost:${await freePort()}`
// An application is another origin, and another site.
const applications = createServer((request, response) => response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title><p>signed in'))
await new Promise((listening) => applications.listen(0, 'localhost', listening))
const callback = `http://localhost:${applications.address().port}/`
const { password, device } = prepare(issuer, callback)
const log = openSync(join(folder, 'durward.log'), 'w')
const server = spawn(durward, ['serve'], { cwd: folder, stdio: ['ignore', log, log] })
const branchServer = spawn(durward, ['serve'], { cwd: prepareBranch(password), stdio: ['ignore', log, log] })
const browser = process.env.CHROMIUM ? await chromium(process.env.CHROMIUM, notes) : reader()
try {
  await ready(issuer, server)
  await ready(branchIssuer, branchServer)
  const discover = (at, id, ...how) => oidc.discovery(new URL(at), id, ...how, { execute: [oidc.allowInsecureRequests] })
  const application = async (id, ...how) => new Application(id, await discover(issuer, id, ...how), callback + id)
  const stage = {
    app: await application('app', undefined, oidc.None()),
    shop: await application('shop', password, oidc.ClientSecretBasic(password)),
    asks: await application('asks', undefined, oidc.None()),
    branch: new Application('branch', await discover(branchIssuer, 'app', undefined, oidc.None()), `${callback}branch`),
    user: await browser.user(),
    fresh: () => browser.user(),
    device,
  }
  for (const [name, act] of Object.entries(cases)) {
    try {
      await act(stage)
      // What the browser says of a page: that its policy stops something, that it is too wide.
      const noted = notes.splice(0).filter((note) => !note.includes('favicon') && !note.includes('status of 400'))
      assert(noted.length === 0, noted.join('; '))
      console.log(`ok ${name}, with ${browser.name}`)
    } catch (error) {
      console.log(`FAILED ${name}, with ${browser.name}: ${error.stack}`)
      if (stage.user === undefined) break
    }
  }
} finally {
  server.kill()
  branchServer.kill()
  applications.close()
  await browser.close()
}
