// An application with Spring Security, compiled before: `SPRING` is its class path.

import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answers, assert, eventually } from './server.js'

export class Spring {
  name = 'Spring Security'
  client = 'orders'
  place = 'https://orders.example.org'

  constructor(folder, port, text) {
    Object.assign(this, { folder: join(folder, 'spring'), port, text })
    this.address = `http://localhost:${port}`
    this.told = `${this.address}/logout/connect/back-channel/durward`
  }

  async start(issuer, secret) {
    mkdirSync(this.folder, { recursive: true })
    const settings = this.text('yaml', [['https://id.example.org', issuer], ['the secret of orders', secret]])
    writeFileSync(join(this.folder, 'application.yaml'), settings)
    const log = openSync(join(this.folder, 'output.log'), 'w')
    // Short runs: what compiles quickly is ready soonest.
    const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', '-cp', process.env.SPRING, 'Orders']
    const own = [`--server.port=${this.port}`, '--server.address=127.0.0.1', `--spring.config.location=file:${this.folder}/`]
    this.server = spawn(process.env.JAVA, [...flags, ...own], { cwd: this.folder, stdio: ['ignore', log, log] })
    closeSync(log)
    await eventually('Spring answers: see output.log', () => {
      assert(this.server.exitCode === null, 'Spring does not start: see output.log')
      return answers(`${this.address}/bye`)
    })
  }

  async stop() {
    this.server?.kill()
  }

  seen(page) {
    return page
  }

  /** The page asks, and its form has Spring's token against forms of other sites. */
  async signOut(browser) {
    await browser.go(`${this.address}/logout`)
    return browser.press()
  }

  cases({ signedIn, said, claims, tokenOf }) {
    const call = (token) => fetch(`${this.address}/api/me`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
    return {
      'the API takes tokens that are for it, and no others': async () => {
        const { browser, page } = await signedIn()
        const { access_token, id_token } = this.seen(said(page))
        const answer = await call(access_token)
        assert(answer.status === 200, answer.status, answer.headers.get('www-authenticate'))
        const told = await answer.json()
        assert(told.user === 'anna' && told.for.includes('https://orders.example.org/api'), JSON.stringify(told))
        const [head, body, signature] = access_token.split('.')
        const others = Buffer.from(JSON.stringify({ ...claims(access_token), sub: 'carl' })).toString('base64url')
        // Of the same issuer and user, and for nobody but `userinfo`.
        const elsewhere = await tokenOf('shop', browser, 'https://shop.example.org/signed-in')
        assert(claims(elsewhere).sub === 'anna' && !claims(elsewhere).aud.includes('https://orders.example.org/api'), elsewhere)
        for (const token of [undefined, 'x', id_token, elsewhere, `${head}.${others}.${signature}`, `${head}.${body}.`]) {
          assert((await call(token)).status === 401, token)
        }
      },
    }
  }
}
