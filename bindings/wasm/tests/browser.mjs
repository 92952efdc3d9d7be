// What holds everywhere, in Chromium: `node browser.mjs FOLDER`, where FOLDER is served, with the packages below `node_modules`.
// `CHROMIUM` names the browser. Beside this file, playwright-core is installed.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, resolve, sep } from 'node:path'
import { chromium } from 'playwright-core'

const folder = resolve(process.argv[2])
const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.json': 'application/json', '.wasm': 'application/wasm' }

const page = `<!doctype html>
<meta charset="utf-8">
<script type="importmap">{ "imports": {
  "durward": "/node_modules/durward/wasm.mjs",
  "durward/web": "/node_modules/durward/web.mjs",
  "@durward/wasm32": "/node_modules/@durward/wasm32/browser.mjs",
  "@durward/wasm32/web": "/node_modules/@durward/wasm32/web.mjs"
} }</script>`

const server = createServer(async (request, response) => {
  const path = resolve(folder, `.${new URL(request.url, 'http://localhost').pathname}`)
  try {
    if (path === folder) return response.writeHead(200, { 'content-type': TYPES['.html'] }).end(page)
    if (!path.startsWith(folder + sep)) return response.writeHead(404).end()
    const body = await readFile(path)
    return response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' }).end(body)
  } catch {
    return response.writeHead(404).end()
  }
})

/** In the page. */
async function inPage() {
  const [{ default: durward, ...named }, { everywhere }] = await Promise.all([import('durward'), import('/tests/everywhere.mjs')])
  const cases = await (await fetch('/tests/cases.json')).json()
  const names = await everywhere(durward, cases)
  if (named.Pdp !== durward.Pdp) throw new Error('both ways to import the package give the same classes')
  const web = await import('durward/web')
  // The same module of JavaScript, which is loaded already.
  if (web.Pdp !== durward.Pdp) throw new Error('the package is there twice')
  try {
    durward.Pdp.fromDir('policies')
  } catch (error) {
    if (error.message.includes('there are no files here')) return names.length
  }
  throw new Error('a browser has no files')
}

/** In a worker, where the module is compiled by somebody else. */
async function inWorker() {
  const script = `
    const { initSync, Pdp } = await import(location.origin + '/node_modules/@durward/wasm32/web.mjs')
    const module = await WebAssembly.compileStreaming(fetch('/node_modules/@durward/wasm32/durward_wasm_bg.wasm'))
    initSync(module)
    const pdp = Pdp.fromTexts({ 'p.sapl': 'policy "p" permit subject == "anna";' })
    const ask = (subject) => pdp.decide({ subject, action: 1, resource: 1 }).decision
    postMessage([ask('anna'), ask('bob')].join(' '))`
  const address = URL.createObjectURL(new Blob([script.replaceAll("fetch('", "fetch(location.origin + '")], { type: 'text/javascript' }))
  return await new Promise((tell, fail) => {
    const worker = new Worker(address, { type: 'module' })
    worker.onmessage = ({ data }) => tell(data)
    worker.onerror = ({ message }) => fail(new Error(`worker: ${message}`))
  })
}

await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: ['--no-sandbox', ...quiet],
})
try {
  const tab = await browser.newPage()
  const errors = []
  tab.on('pageerror', (error) => errors.push(error))
  await tab.goto(`http://127.0.0.1:${server.address().port}/`)
  const count = await tab.evaluate(inPage)
  const decided = await tab.evaluate(inWorker)
  if (decided !== 'PERMIT DENY') throw new Error(`in a worker: ${decided}`)
  if (errors.length > 0) throw errors[0]
  console.log(`chromium ${browser.version()}: ${count} hold`)
} finally {
  await browser.close()
  server.close()
}
