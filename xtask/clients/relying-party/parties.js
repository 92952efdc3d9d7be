// Programs of others, in front of an application or inside one, whose users log in at durward as the manual says: `node parties.js DURWARD
// FOLDER`, with the manual's page in `MANUAL`, and either `APACHE` and `OPENSSL`, or `JAVA` and `SPRING`. Says a line for each case.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Apache } from './apache.js'
import { Spring } from './spring.js'
import { reader } from './browsers.js'
import { Durward, assert, eventually, freePort } from './server.js'

const [program, folder] = process.argv.slice(2)
const manual = readFileSync(process.env.MANUAL, 'utf8')

/** A text of the manual, with the addresses of this run in the place of the examples'. */
function text(language, places) {
  const [, block] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(manual)
  return places.reduce((block, [from, to]) => {
    assert(block.includes(from), `the manual's ${language} has no ${from}`)
    return block.replaceAll(from, to)
  }, block)
}

/** What pages of the application say of their user: JSON, or a page of durward's. */
const said = (page) => {
  assert(page.status === 200 && page.text.startsWith('{'), page.status, page.address, page.text)
  return JSON.parse(page.text)
}

const asksToLogIn = (page) => page.address.origin === durward.issuer && page.text.includes('name="password"')

async function signedIn(name = 'anna') {
  const browser = await browsers.user()
  const page = await browser.go(`${party.address}/`)
  assert(asksToLogIn(page), page.address, page.text)
  return { browser, page: await browser.fill({ username: name, password: 'correct horse' }) }
}

/** The claims of a token, unverified: the party has verified it. */
const claims = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())

/** A logout at durward itself, without a word to the application's browser. */
async function leave(browser) {
  const asked = await browser.go(`${durward.issuer}/oauth2/logout`)
  assert(asked.text.includes('Sign out?'), asked.text)
  const out = await browser.press()
  assert(out.text.includes('You are signed out'), out.text)
}

/** An access token for another client of the browser's user, without this party. */
async function tokenOf(client, browser, redirect_uri) {
  const asked = new URLSearchParams({ client_id: client, redirect_uri, response_type: 'code', scope: 'openid profile' })
  const back = await browser.stoppedAt(new URL(redirect_uri).origin, () => browser.go(`${durward.issuer}/oauth2/authorize?${asked}`))
  const body = new URLSearchParams({ grant_type: 'authorization_code', code: back.searchParams.get('code'), redirect_uri })
  const authorization = `Basic ${Buffer.from(`${client}:${secrets[client].secret}`).toString('base64')}`
  const answer = await fetch(`${durward.issuer}/oauth2/token`, { method: 'POST', body, headers: { authorization } })
  return (await answer.json()).access_token
}

const cases = {
  async 'a user signs in, and the application learns who they are'() {
    const { browser, page } = await signedIn()
    const seen = party.seen(said(page))
    assert(seen.user === 'anna' && seen.claims.groups.includes('staff'), page.text)
    const again = party.seen(said(await browser.go(`${party.address}/`)))
    assert(again.access_token === seen.access_token, 'a token that is good is kept')
    assert(claims(seen.access_token).client_id === party.client, seen.access_token)
    // Where the browser was sent: with a challenge (RFC 7636), which durward checks for whoever sends one.
    const other = await browsers.user()
    const place = await other.stoppedAt(durward.issuer, () => other.go(`${party.address}/`))
    assert(place.searchParams.get('code_challenge_method') === 'S256' && place.searchParams.get('nonce'), place)
  },

  async 'a code of somebody else signs nobody in'() {
    const stranger = await browsers.user()
    await stranger.go(`${party.address}/`)
    const code = await stranger.stoppedAt(party.address, () => stranger.fill({ username: 'carl', password: 'correct horse' }))
    assert(code.origin === party.address && code.searchParams.get('code'), code)
    // In another browser, which has begun nothing, and in one that has.
    for (const begun of [false, true]) {
      const victim = await browsers.user()
      if (begun) await victim.go(`${party.address}/`)
      await victim.go(code)
      assert(asksToLogIn(await victim.go(`${party.address}/`)), victim.shown.text)
    }
  },

  async 'after signing out in the application nobody is signed in at durward'() {
    const { browser } = await signedIn()
    const out = await party.signOut(browser)
    assert(out.address.href === `${party.address}/bye` && out.text.includes('signed out'), out.address, out.text)
    const page = await browser.go(`${party.address}/`)
    assert(asksToLogIn(page), page.text)
  },

  async 'who signs out at durward is signed out of the application, which hears of it'() {
    const { browser } = await signedIn()
    const other = await signedIn('carl')
    await leave(browser)
    await eventually('the session of the application ends', async () => asksToLogIn(await browser.go(`${party.address}/`)))
    assert(party.seen(said(await other.browser.go(`${party.address}/`))).user === 'carl', 'another user stays')
  },

  async 'what is no logout token of durward ends nothing'() {
    const { browser, page } = await signedIn()
    const { id_token, access_token } = party.seen(said(page))
    const none = Buffer.from('{"alg":"none","typ":"logout+jwt"}').toString('base64url')
    const body = { ...claims(access_token), aud: party.client, jti: 'x', events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }
    const unsigned = `${none}.${Buffer.from(JSON.stringify(body)).toString('base64url')}.`
    for (const token of ['x', access_token, unsigned, id_token ?? unsigned]) {
      const answer = await fetch(party.told, { method: 'POST', body: new URLSearchParams({ logout_token: token }) })
      assert(answer.status === 400, answer.status, await answer.text())
    }
    assert(party.seen(said(await browser.go(`${party.address}/`))).user === 'anna')
  },
}

/** With tokens that live for a minute, and an application that nobody tells of logouts. */
const casesOfRefresh = {
  async 'tokens are refreshed before they expire'() {
    const { browser, page } = await signedIn()
    const tokens = new Set([party.seen(said(page)).access_token])
    for (let views = 0; views < 3; views += 1) tokens.add(party.seen(said(await browser.go(`${party.address}/`))).access_token)
    assert(tokens.size >= 3, tokens.size)
  },

  async 'when a session has ended at durward the next refresh ends it in the application'() {
    const { browser } = await signedIn()
    const other = await signedIn('carl')
    durward.run('', 'users', 'disable', 'anna')
    // Spring answers 500 where a refresh fails, and has the user log in with the next page.
    await eventually('the session of the application ends', async () => asksToLogIn(await browser.go(`${party.address}/`)))
    const refused = await browser.fill({ username: 'anna', password: 'correct horse' })
    assert(refused.text.includes('role="alert"'), refused.text)
    assert(party.seen(said(await other.browser.go(`${party.address}/`))).user === 'carl', 'another user stays')
  },
}

/** Settings of durward, as the manual has them; the secrets of its clients. */
function prepare() {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const key = ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:3072', '-out', join(folder, 'rs256.pem')]
  assert(spawnSync('sh', ['-c', 'umask 077; "$0" "$@"', process.env.OPENSSL, ...key]).status === 0, 'no key')
  const made = { shop: durward.secret('shop'), orders: durward.secret('orders') }
  let settings = text('toml', [['https://id.example.org', durward.issuer], [party.place, party.address]])
  // An audience is a name, and no address: it stays, here as in the application.
  settings = settings.replaceAll(`${party.address}/api`, `${party.place}/api`)
  for (const { digest } of Object.values(made)) settings = settings.replace('$argon2id$...', digest)
  // Neither TLS nor a folder of policies.
  settings = settings.replace('[identity]\n', `[server]\nlisten = '${new URL(durward.issuer).host}'\n[identity]\ncookie_secure = false\n`)
  durward.settings(settings)
  durward.run('correct horse\n', 'users', 'add', 'anna', '--group', 'staff')
  durward.run('correct horse\n', 'users', 'add', 'carl')
  return { settings, secrets: made }
}

async function judge(cases) {
  for (const [name, act] of Object.entries(cases)) {
    try {
      await act()
      console.log(`ok ${name}, with ${party.name}`)
    } catch (error) {
      console.log(`FAILED ${name}, with ${party.name}: ${error.stack}`)
    }
  }
}

const durward = new Durward(program, folder, `http://127.0.0.1:${await freePort()}`)
// Another origin, and another site.
const Party = process.env.APACHE === undefined ? Spring : Apache
const party = new Party(folder, await freePort(), text)
const browsers = reader()
// Whoever ends this, at whatever moment, ends what it has started.
process.once('SIGTERM', () => process.exit(1))
process.once('exit', () => [party.server, durward.server].forEach((started) => started?.kill()))
const { settings, secrets } = prepare()
try {
  await durward.start()
  await party.start(durward.issuer, secrets[party.client].secret)
  await judge({ ...cases, ...party.cases({ signedIn, said, claims, tokenOf }) })
  await durward.stop()
  durward.settings(settings.replace('algorithms =', 'token_lifetime_s = 60\nalgorithms =').replaceAll(/^backchannel.*\n/gm, ''))
  await durward.start()
  await judge(casesOfRefresh)
} finally {
  await party.stop()
  await durward.stop()
}
