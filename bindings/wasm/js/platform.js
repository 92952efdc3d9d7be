// What Node gives to `bindings/node/lib`, where there is no Node: in its place when that is bundled.

const encoder = new TextEncoder()

/** The text in UTF-8, or a copy of bytes. */
export const bytesOf = (text) => (typeof text === 'string' ? encoder.encode(text) : Uint8Array.from(text))

/** How many bytes the text is in UTF-8. */
export function byteLength(text) {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    // Each half of a pair is two of the four bytes of its character.
    else bytes += unit >= 0xd800 && unit < 0xe000 ? 2 : 3
  }
  return bytes
}

export function pathOfUrl(url) {
  return url.href
}

/** Asks a getter or method that only objects of its class have. */
function answers(ask) {
  try {
    ask()
    return true
  } catch {
    return false
  }
}

const getter = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name).get
const tagOf = getter(Object.getPrototypeOf(Uint8Array), Symbol.toStringTag)
const mapSize = getter(Map, 'size')
const setSize = getter(Set, 'size')
const bufferLength = getter(ArrayBuffer, 'byteLength')
// Pages that are not isolated have none.
const sharedLength = typeof SharedArrayBuffer === 'function' ? getter(SharedArrayBuffer, 'byteLength') : undefined
const source = getter(RegExp, 'source')

const isSharedArrayBuffer = (value) => sharedLength !== undefined && answers(() => sharedLength.call(value))
const told = (value) => Object.prototype.toString.call(value)
const BOXED = [Number, String, Boolean, Symbol, BigInt]

/** What `node:util` says of values. */
export const types = {
  isUint8Array: (value) => tagOf.call(value) === 'Uint8Array',
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isAnyArrayBuffer: (value) => isSharedArrayBuffer(value) || answers(() => bufferLength.call(value)),
  isSharedArrayBuffer,
  isDate: (value) => answers(() => Date.prototype.getTime.call(value)),
  isMap: (value) => answers(() => mapSize.call(value)),
  isSet: (value) => answers(() => setSize.call(value)),
  isWeakMap: (value) => answers(() => WeakMap.prototype.has.call(value, value)),
  isWeakSet: (value) => answers(() => WeakSet.prototype.has.call(value, value)),
  isPromise: (value) => value instanceof Promise || told(value) === '[object Promise]',
  isRegExp: (value) => value !== RegExp.prototype && answers(() => source.call(value)),
  isNativeError: (value) => value instanceof Error || told(value) === '[object Error]',
  isBoxedPrimitive: (value) => BOXED.some((kind) => answers(() => kind.prototype.valueOf.call(value)) && typeof value === 'object'),
}
