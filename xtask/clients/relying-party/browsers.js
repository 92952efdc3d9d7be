// What a user sits in front of: Chromium without scripts, on a narrow screen and by keyboard; or, where there is none, a reader of forms
// that keeps cookies as a browser does, as far as these pages need it.

import { request } from 'node:http'

/** Chromium, of which `CHROMIUM` names the program. */
export async function chromium(program, notes) {
  const { chromium } = await import('playwright-core')
  const quiet = ['--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
  const browser = await chromium.launch({ executablePath: program, headless: true, args: ['--no-sandbox', ...quiet] })
  const context = () => browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 640 }, locale: 'en-GB' })
  return {
    name: `Chromium ${browser.version()}`,
    async user() {
      const page = await (await context()).newPage()
      page.on('console', (message) => notes.push(message.text()))
      page.on('pageerror', (error) => notes.push(String(error)))
      return new Seated(page, notes)
    },
    close: () => browser.close(),
  }
}

/** A user at Chromium. */
class Seated {
  constructor(page, notes) {
    this.page = page
    this.notes = notes
  }

  async go(address) {
    await this.page.goto(String(address))
    const { wide, tall } = await this.page.evaluate(() => ({
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      tall: document.title,
    }))
    if (wide) this.notes.push(`wider than the screen: ${tall}`)
    return this.where()
  }

  async where() {
    return { address: new URL(this.page.url()), text: await this.page.content() }
  }

  /** Types into the fields as they come, from the one that has the focus on, and presses Enter. */
  async fill(fields) {
    await this.type(fields)
    await this.sent(() => this.page.keyboard.press('Enter'))
    return this.where()
  }

  async type(fields) {
    for (const [name, value] of Object.entries(fields)) {
      for (let presses = 0; (await this.focused()) !== name; presses += 1) {
        if (presses === 12) throw new Error(`no way to \`${name}\` by keyboard`)
        await this.page.keyboard.press('Tab')
      }
      await this.page.keyboard.press('ControlOrMeta+A')
      await this.page.keyboard.type(value)
    }
  }

  /** Presses the button with this value, or the only one. */
  async press(value) {
    const button = value === undefined ? 'button' : `button[value="${value}"]`
    await this.page.focus(button)
    await this.sent(() => this.page.keyboard.press('Enter'))
    return this.where()
  }

  /** Presses the button of another provider, and goes where it leads; back from there, the same way. */
  async leave(id) {
    await this.page.focus(`button[name="upstream"][value="${id}"]`)
    await this.elsewhere(() => this.page.keyboard.press('Enter'))
    return this.where()
  }

  /** As `fill`, where pages that lead on by themselves follow. */
  async fillAndGoTo(fields, place) {
    await this.type(fields)
    await this.page.keyboard.press('Enter')
    await this.page.waitForURL((address) => address.href.startsWith(place))
    return this.where()
  }

  async elsewhere(act) {
    const { origin } = new URL(this.page.url())
    await act()
    await this.page.waitForURL((address) => address.origin !== origin)
  }

  focused() {
    return this.page.evaluate(() => document.activeElement?.getAttribute('name'))
  }

  async sent(act) {
    await Promise.all([this.page.waitForNavigation({ waitUntil: 'load' }), act()])
  }

  screenshot(path) {
    return this.page.screenshot({ path, fullPage: true })
  }
}

/** What browsers send when they go somewhere; `fetch` would say that a script asks, to which some programs answer otherwise. */
const NAVIGATION = { accept: 'text/html,*/*;q=0.8', 'accept-language': 'en', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

/** One request and its answer, with nothing followed. */
export function exchange(address, { method = 'GET', headers = {}, body = '' } = {}) {
  return new Promise((answered, failed) => {
    const length = method === 'GET' ? {} : { 'content-length': Buffer.byteLength(body) }
    let seen
    const done = () => answered({ status: seen.answer.statusCode, headers: seen.answer.headers, text: Buffer.concat(seen.parts).toString() })
    // mod_auth_openidc sends a second answer behind some errors. Browsers pass over it.
    const isWhole = (error) => seen !== undefined && error.code === 'HPE_CLOSED_CONNECTION'
    const asked = request(address, { method, headers: { ...headers, ...length }, agent: false }, (answer) => {
      seen = { answer, parts: [] }
      answer.on('data', (part) => seen.parts.push(part)).on('end', done)
      answer.on('error', failed)
    })
    asked.on('error', (error) => (isWhole(error) ? done() : failed(error))).end(body)
  })
}

/** A reader of forms. */
export function reader() {
  return { name: 'a reader of forms', user: async () => new Reader(), close: async () => {} }
}

class Reader {
  constructor() {
    /** By host and name: a port is no other place for a cookie. */
    this.cookies = new Map()
  }

  go(address) {
    return this.ask(new URL(address), { method: 'GET' })
  }

  async ask(address, options, hops = 0) {
    if (hops > 10) throw new Error('redirected for ever')
    const own = `${address.hostname} `
    const kept = [...this.cookies].filter(([key]) => key.startsWith(own))
    const cookie = kept.map(([key, value]) => `${key.slice(own.length)}=${value}`).join('; ')
    const headers = { ...NAVIGATION, ...options.headers, ...(cookie && { cookie }) }
    const answer = await exchange(address, { ...options, headers })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [pair, ...rules] = line.split(/; */)
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      const ends = rules.map((rule) => /^expires=(.*)$/i.exec(rule)?.[1]).find((end) => end !== undefined)
      const isOver = rules.some((rule) => /^max-age=0$/i.test(rule)) || (ends !== undefined && new Date(ends) < new Date())
      if (isOver) this.cookies.delete(own + name)
      else this.cookies.set(own + name, value)
    }
    const place = answer.headers.location
    const next = place === undefined ? refresh(answer.text, address) : new URL(place, address)
    if (next !== undefined && next.origin === this.closed) return (this.shown = { address: next, status: answer.status, text: '' })
    if (next !== undefined) return this.ask(next, { method: 'GET' }, hops + 1)
    this.shown = { address: new URL(address), status: answer.status, text: answer.text }
    return this.shown
  }

  /** The address at this origin to which it is sent, and does not go. */
  async stoppedAt(origin, act) {
    this.closed = origin
    try {
      return (await act()).address
    } finally {
      this.closed = undefined
    }
  }

  /** What stands in the form's fields is sent with what is typed. */
  send(typed) {
    const text = this.shown.text
    const action = attribute(/<form[^>]*>/.exec(text)?.[0] ?? '', 'action')
    if (action === undefined) throw new Error(`no form: ${text}`)
    const fields = [...text.matchAll(/<input[^>]*>/g)].map(([input]) => [attribute(input, 'name'), attribute(input, 'value') ?? ''])
    const standing = Object.fromEntries(fields.filter(([name]) => name !== undefined))
    return this.ask(new URL(action, this.shown.address), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...standing, ...typed }).toString(),
    })
  }

  fill(fields) {
    return this.send(fields)
  }

  leave(id) {
    return this.send({ upstream: id })
  }

  fillAndGoTo(fields) {
    return this.send(fields)
  }

  press(value) {
    return this.send(value === undefined ? {} : { consent: value })
  }

  async screenshot() {}
}

/** Where a page leads on by itself. */
function refresh(text, address) {
  const element = /<meta http-equiv="refresh"[^>]*>/.exec(text)?.[0]
  return element === undefined ? undefined : new URL(attribute(element, 'content').replace('0; url=', ''), address)
}

function attribute(element, name) {
  const found = new RegExp(` ${name}="([^"]*)"`).exec(element)
  return found?.[1].replace(/&#(\d+);/g, (_, number) => String.fromCharCode(number)).replaceAll('&amp;', '&')
}
