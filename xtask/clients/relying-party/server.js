// What all programs here want: a free port, a durward of their own, and to be heard when something is not as it should be.

import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, openSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

export async function freePort() {
  const probe = createServer()
  await new Promise((listening) => probe.listen(0, '127.0.0.1', listening))
  const { port } = probe.address()
  await new Promise((closed) => probe.close(closed))
  return port
}

export function assert(holds, ...why) {
  if (!holds) throw new Error(why.map(String).join(' '))
}

/** Waits for what comes sooner or later. */
export async function eventually(what, holds, patience = 60_000) {
  for (const end = Date.now() + patience; ; await new Promise((rested) => setTimeout(rested, 50))) {
    const seen = await holds()
    if (seen) return seen
    assert(Date.now() < end, `never: ${what}`)
  }
}

/** Whether somebody answers there. */
export async function answers(address) {
  try {
    return (await fetch(address, { redirect: 'manual' })).status < 500
  } catch {
    return false
  }
}

/** `durward`, in a folder, with its log there. */
export class Durward {
  constructor(program, folder, issuer) {
    Object.assign(this, { program, folder, issuer })
  }

  run(input, ...words) {
    const ran = spawnSync(this.program, words, { cwd: this.folder, input, encoding: 'utf8' })
    if (ran.status !== 0) throw new Error(`durward ${words.join(' ')}: ${ran.stderr}`)
    return ran.stdout
  }

  /** A secret for a client, and the digest of it for the settings. */
  secret(client) {
    const made = this.run('', 'generate', 'basic', '-i', client)
    return { secret: /shown only now: (\S+)/.exec(made)[1], digest: /password = "([^"]+)"/.exec(made)[1] }
  }

  settings(text) {
    writeFileSync(join(this.folder, 'durward.toml'), text)
    chmodSync(join(this.folder, 'durward.toml'), 0o600)
  }

  async start() {
    const log = openSync(join(this.folder, 'durward.log'), 'a')
    this.server = spawn(this.program, ['serve'], { cwd: this.folder, stdio: ['ignore', log, log] })
    await eventually('durward is ready: see durward.log', async () => {
      assert(this.server.exitCode === null, 'durward does not start: see durward.log')
      return answers(`${this.issuer}/health/ready`)
    })
  }

  async stop() {
    if (this.server === undefined || this.server.exitCode !== null) return
    const gone = new Promise((exit) => this.server.once('exit', exit))
    this.server.kill()
    await gone
  }
}
