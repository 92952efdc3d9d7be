'use strict'

// What Node gives. Where there is no Node, a module of `bindings/wasm/js` stands in its place.

const { types } = require('node:util')
const { fileURLToPath } = require('node:url')

/** The text in UTF-8, or a copy of bytes. */
const bytesOf = (text) => Buffer.from(text)

/** How many bytes the text is in UTF-8. */
const byteLength = (text) => Buffer.byteLength(text)

module.exports = { types, bytesOf, byteLength, pathOfUrl: fileURLToPath }
