// What a user sits in front of: Chromium without scripts, on a narrow screen and by keyboard; or, where there is none, a reader of forms
// that keeps cookies as a browser does, as far as these pages need it.

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
    for (const [name, value] of Object.entries(fields)) {
      for (let presses = 0; (await this.focused()) !== name; presses += 1) {
        if (presses === 12) throw new Error(`no way to \`${name}\` by keyboard`)
        await this.page.keyboard.press('Tab')
      }
      await this.page.keyboard.press('ControlOrMeta+A')
      await this.page.keyboard.type(value)
    }
    await this.sent(() => this.page.keyboard.press('Enter'))
    return this.where()
  }

  /** Presses the button with this value, or the only one. */
  async press(value) {
    const button = value === undefined ? 'button' : `button[value="${value}"]`
    await this.page.focus(button)
    await this.sent(() => this.page.keyboard.press('Enter'))
    return this.where()
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

/** A reader of forms. */
export function reader() {
  return { name: 'a reader of forms', user: async () => new Reader(), close: async () => {} }
}

class Reader {
  constructor() {
    this.cookies = new Map()
  }

  go(address) {
    return this.ask(new URL(address), { method: 'GET' })
  }

  async ask(address, options, hops = 0) {
    if (hops > 10) throw new Error('redirected for ever')
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...options.headers, ...(cookie && { cookie }), 'accept-language': 'en' }
    const answer = await fetch(address, { ...options, headers, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [pair, ...rules] = line.split(/; */)
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
      if (rules.some((rule) => /^max-age=0$/i.test(rule))) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const place = answer.headers.get('location')
    if (place !== null) return this.ask(new URL(place, address), { method: 'GET' }, hops + 1)
    this.shown = { address: new URL(address), text: await answer.text() }
    return this.shown
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

  press(value) {
    return this.send(value === undefined ? {} : { consent: value })
  }

  async screenshot() {}
}

function attribute(element, name) {
  const found = new RegExp(` ${name}="([^"]*)"`).exec(element)
  return found?.[1].replace(/&#(\d+);/g, (_, number) => String.fromCharCode(number)).replaceAll('&amp;', '&')
}
