// Apache with mod_auth_openidc, in front of an application that says what it is told.

import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answers, assert, eventually } from './server.js'

/** All that Apache needs for these texts. */
const MODULES = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'proxy', 'proxy_http', 'auth_openidc']

export class Apache {
  name = 'mod_auth_openidc'
  client = 'shop'
  place = 'https://shop.example.org'

  constructor(folder, port, text) {
    Object.assign(this, { folder: join(folder, 'apache'), port, text })
    this.address = `http://localhost:${port}`
    this.told = `${this.address}/signed-in?logout=backchannel`
  }

  async start(issuer, secret) {
    // An application that says what it is told.
    this.application = createServer((request, response) => {
      const said = request.url === '/bye' ? 'You are signed out.' : JSON.stringify(request.headers)
      response.setHeader('content-type', 'text/plain').end(said)
    })
    await new Promise((listening) => this.application.listen(0, '127.0.0.1', listening))
    const own = this.text('apache', [
      ['https://id.example.org', issuer],
      ['https://shop.example.org', this.address],
      [String.raw`https://shop\.example\.org`, this.address],
      ['http://127.0.0.1:9000', `http://127.0.0.1:${this.application.address().port}`],
      ['the secret of shop', secret],
    ])
    mkdirSync(this.folder, { recursive: true })
    const modules = MODULES.map((name) => `LoadModule ${name}_module ${process.env.APACHE_MODULES}/mod_${name}.so\n`)
    const around = `ServerRoot ${this.folder}\nServerName localhost\nListen 127.0.0.1:${this.port}\nPidFile ${this.folder}/pid\n
DefaultRuntimeDir ${this.folder}\nErrorLog ${this.folder}/error.log\nLogLevel info\n
${process.getuid() === 0 ? 'User www-data\nGroup www-data\n' : ''}`
    writeFileSync(join(this.folder, 'manual.conf'), own)
    writeFileSync(join(this.folder, 'apache.conf'), `${modules.join('')}${around}Include ${this.folder}/manual.conf\n`)
    const log = openSync(join(this.folder, 'output.log'), 'w')
    this.server = spawn(process.env.APACHE, ['-d', this.folder, '-f', join(this.folder, 'apache.conf'), '-DFOREGROUND'], { stdio: ['ignore', log, log] })
    closeSync(log)
    await eventually('Apache answers: see output.log and error.log', () => {
      assert(this.server.exitCode === null, 'Apache does not start: see output.log and error.log')
      return answers(`${this.address}/bye`)
    })
  }

  async stop() {
    this.server?.kill()
    this.application?.close()
  }

  seen(headers) {
    const own = Object.entries(headers).filter(([name]) => name.startsWith('oidc_claim_'))
    const claims = Object.fromEntries(own.map(([name, value]) => [name.slice('oidc_claim_'.length), value]))
    return { user: claims.sub, claims, access_token: headers.oidc_access_token }
  }

  signOut(browser) {
    return browser.go(`${this.address}/signed-in?logout=${encodeURIComponent(`${this.address}/bye`)}`)
  }

  cases({ signedIn, said }) {
    return {
      'pages for a group are for that group': async () => {
        const { browser } = await signedIn()
        assert(this.seen(said(await browser.go(`${this.address}/staff`))).user === 'anna')
        const other = await signedIn('carl')
        const refused = await other.browser.go(`${this.address}/staff`)
        assert(refused.status >= 400 && !refused.text.startsWith('{'), refused.status, refused.text)
      },

      'a browser cannot say who it is': async () => {
        const { browser } = await signedIn('carl')
        const lies = { oidc_claim_sub: 'anna', oidc_claim_groups: 'staff', 'oidc-claim-sub': 'anna', oidc_access_token: 'x' }
        const page = await browser.ask(new URL(`${this.address}/`), { method: 'GET', headers: lies })
        const seen = this.seen(said(page))
        assert(seen.user === 'carl' && !seen.claims.groups && seen.access_token !== 'x', page.text)
        assert(!page.text.includes('mod_auth_openidc_session'), 'the application gets no cookie that would sign it in')
      },

      'nobody is sent to other sites after signing out': async () => {
        const { browser } = await signedIn()
        const out = await browser.go(`${this.address}/signed-in?logout=${encodeURIComponent('https://evil.example/')}`)
        assert(out.address.origin === this.address && out.address.pathname === '/signed-in', out.address, out.text)
      },
    }
  }
}
