'use strict'

// Finds the addon: a local build beside `package.json`, or the package of this platform, or, where neither serves, the one of WebAssembly.

const { existsSync } = require('node:fs')
const path = require('node:path')

/** Platforms that have a package: `@durward/` and this name. */
const PACKAGED = ['linux-x64-gnu', 'linux-x64-musl', 'linux-arm64-gnu', 'linux-arm64-musl']

/** The platform, as its package is called. */
function platform() {
  const name = `${process.platform}-${process.arch}`
  return process.platform === 'linux' ? `${name}-${isMusl() ? 'musl' : 'gnu'}` : name
}

/** Whether the C library is not glibc, which says its version here. */
function isMusl() {
  // Looking up the machine's own name on the network takes time.
  const { report } = process
  const isExcluded = report.excludeNetwork
  report.excludeNetwork = true
  try {
    return report.getReport().header.glibcVersionRuntime === undefined
  } finally {
    report.excludeNetwork = isExcluded
  }
}

/** Where the addon may be, the best first: the place in words, and how to load what is there. */
function places(name) {
  const own = process.env.DURWARD_NATIVE
  if (own) return [[`DURWARD_NATIVE, ${own}`, () => open(path.resolve(own))]]
  const everywhere = ['WebAssembly, the package @durward/wasm32', () => require('@durward/wasm32/addon')]
  if (process.env.DURWARD_WASM === '1') return [everywhere]
  const file = path.join(__dirname, '..', `durward.${name}.node`)
  return [
    [`a local build, ${file}`, () => open(file)],
    [`the package @durward/${name}`, () => require(`@durward/${name}`)],
    everywhere,
  ]
}

/** Loads a file whatever its name ends with: cargo's ends with `.so`. */
function open(file) {
  if (!existsSync(file)) throw Object.assign(new Error(`no file ${file}`), { code: 'MODULE_NOT_FOUND' })
  const addon = { exports: {} }
  process.dlopen(addon, file)
  return addon.exports
}

function load() {
  const name = platform()
  const failures = []
  for (const [place, get] of places(name)) {
    try {
      return get()
    } catch (error) {
      failures.push(`- ${place}: ${error.code === 'MODULE_NOT_FOUND' ? 'not there' : error.message}`)
    }
  }
  const lines = [`durward has no addon for ${name}. It was looked for in`, ...failures, advice(name)]
  throw Object.assign(new Error(lines.join('\n')), { code: 'DURWARD_NO_ADDON' })
}

function advice(name) {
  if (process.env.DURWARD_WASM === '1') return 'Install @durward/wasm32, or take DURWARD_WASM out of the environment.'
  if (PACKAGED.includes(name)) {
    return (
      `Install @durward/${name}, which npm does by itself unless it is told to leave out optional dependencies ` +
      `(--omit=optional), or unless the lock file was written on another platform: npm/cli#4828.`
    )
  }
  return (
    'There is no package for this platform but @durward/wasm32, which npm installs unless it is told to leave out optional dependencies ' +
    '(--omit=optional). Or build the addon: `cargo build --profile optimised -p durward-node`.'
  )
}

module.exports = load()
