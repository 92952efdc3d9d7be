// Reads policies from files, where there are files and WebAssembly cannot reach them. Which of them are policies, the module says.

import { closeSync, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { sep } from 'node:path'
import { getSystemErrorMap } from 'node:util'

/** Deeper is a link that leads back to itself. */
const DEPTH_MAX = 16

/** A file, or the policies in and below a folder: their names and texts. */
export function readPolicies(path, { isPolicy, bytesMax }) {
  const names = []
  const isFolder = asked(path, () => statSync(path).isDirectory())
  if (isFolder) collect(path, 0, isPolicy, names)
  else names.push(path)
  return { isFolder, names, texts: names.map((name) => textOf(name, bytesMax)) }
}

function collect(folder, depth, isPolicy, names) {
  if (depth > DEPTH_MAX) refuse(folder, `directories nest more than ${DEPTH_MAX} deep`)
  for (const name of asked(folder, () => readdirSync(folder))) {
    if (name.startsWith('.')) continue
    const path = folder.endsWith(sep) ? folder + name : folder + sep + name
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) collect(path, depth + 1, isPolicy, names)
    else if (isPolicy(path, depth)) names.push(path)
  }
}

function textOf(path, bytesMax) {
  const status = asked(path, () => statSync(path))
  // Opening a pipe waits for somebody to write.
  if (!status.isFile()) refuse(path, 'neither a file nor a directory')
  const file = asked(path, () => openSync(path))
  try {
    if (fstatSync(file).size > bytesMax) refuse(path, `more than ${bytesMax} bytes, which is more than a policy may have`)
    return asked(path, () => readFileSync(file))
  } finally {
    closeSync(file)
  }
}

function asked(path, ask) {
  try {
    return ask()
  } catch (error) {
    return refuse(path, getSystemErrorMap().get(error.errno)?.[1] ?? error.message)
  }
}

function refuse(source, message) {
  throw new Error(JSON.stringify({ kind: 'policy', message: `${source}: ${message}`, problems: [{ source, message }] }))
}
