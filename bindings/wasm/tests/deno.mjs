// What holds everywhere, in Deno: `deno run --allow-read deno.mjs`. With files.

import durward from 'durward'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { everywhere } from './everywhere.mjs'

const cases = JSON.parse(Deno.readTextFileSync(new URL('cases.json', import.meta.url)))
const names = await everywhere(durward, cases)

const folder = mkdtempSync('deno-policies-')
try {
  mkdirSync(`${folder}/below`)
  writeFileSync(`${folder}/p.sapl`, 'policy "p" permit')
  writeFileSync(`${folder}/below/p.sapl`, 'policy "below" deny')
  const pdp = durward.Pdp.fromDir(folder)
  const asked = { subject: 1, action: 1, resource: 1 }
  const first = pdp.decide(asked).decision
  writeFileSync(`${folder}/p.sapl`, 'policy "p" deny')
  const { id, documents } = pdp.reload()
  const seen = [first, pdp.decide(asked).decision, id, documents].join(' ')
  if (seen !== 'PERMIT DENY 2 1') throw new Error(`policies of a folder: ${seen}`)
} finally {
  rmSync(folder, { recursive: true })
}

console.log(`deno ${Deno.version.deno}: ${names.length} hold`)
