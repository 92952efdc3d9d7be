// Makes the files of the package `@durward/wasm32` out of what `wasm-bindgen --target web` wrote and the JavaScript of `bindings/node`:
// `node build.mjs SOURCES GLUE OUT`, where SOURCES is this folder, and `node_modules` beside this file has esbuild and binaryen.

import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const [sources, glue, out] = process.argv.slice(2).map((path) => resolve(path))
const js = join(sources, 'js')

/** Puts other modules in the place of those of `bindings/node/lib` that need Node. */
const instead = (modules) => ({
  name: 'instead',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^durward-wasm-glue$/ }, () => ({ path: 'durward_wasm.js', namespace: 'glue' }))
    onLoad({ filter: /.*/, namespace: 'glue' }, ({ path }) => ({ contents: readFileSync(join(glue, path), 'utf8') }))
    onResolve({ filter: /^\.\/(native|platform)\.js$/ }, ({ path, resolveDir }) => {
      const other = modules[path]
      return other !== undefined && resolveDir.endsWith(join('node', 'lib')) ? { path: join(js, other) } : undefined
    })
  },
})

async function bundle(entry, outfile, format, modules) {
  await build({
    // Names of modules stay in what is made: those of the repository, not of this machine.
    absWorkingDir: resolve(sources, '../..'),
    entryPoints: [join(js, entry)],
    outfile: join(out, outfile),
    bundle: true,
    format,
    // Private members and `#x in y` are kept: Node 18, and browsers of 2022.
    target: 'es2022',
    // Deno gives the module compiled, and asks for no permission.
    supported: { 'import-source': true },
    external: ['./durward_wasm_bg.wasm'],
    platform: outfile === 'web.mjs' ? 'browser' : 'node',
    plugins: [instead(modules)],
    minifyWhitespace: true,
    minifySyntax: true,
    // Errors say the names of their classes.
    keepNames: true,
    banner: { js: '// durward: made of bindings/wasm/js and bindings/node/lib.' },
    // The generated JavaScript looks for the module beside itself, unless it is given one: here it always is.
    logOverride: { 'empty-import-meta': 'silent' },
    logLevel: 'warning',
  })
}

/** Smaller and faster; what is no instruction goes. */
function optimize(from, to) {
  const binaryen = dirname(createRequire(import.meta.url).resolve('binaryen/package.json'))
  const flags = ['-Os', '--strip-debug', '--strip-producers', '--strip-target-features']
  execFileSync(process.execPath, [join(binaryen, 'bin/wasm-opt'), from, ...flags, '-o', to], { stdio: 'inherit' })
}

// By this name the generated JavaScript looks for it, and bundlers find it there.
const name = 'durward_wasm_bg.wasm'
const wasm = join(out, name)
optimize(join(glue, name), wasm)
await bundle('web.js', 'web.mjs', 'esm', { './native.js': 'native-web.js', './platform.js': 'platform.js' })
await bundle('index.js', 'deno.mjs', 'esm', { './native.js': 'native-deno.js', './platform.js': 'platform-node.js' })
await bundle('index.js', 'node.mjs', 'esm', { './native.js': 'native-node.js', './platform.js': 'platform-node.js' })
await bundle('node-addon.js', 'addon.cjs', 'cjs', {})
copyFileSync(join(js, 'browser.js'), join(out, 'browser.mjs'))
const size = (name) => readFileSync(join(out, name)).length.toLocaleString('en')
const zipped = (name) => gzipSync(readFileSync(join(out, name)), { level: 9 }).length.toLocaleString('en')
for (const file of [name, 'web.mjs', 'deno.mjs', 'node.mjs', 'addon.cjs']) console.log(`${file}: ${size(file)} bytes, ${zipped(file)} with gzip`)
