// Where there is no Node: WebAssembly, loaded when this is imported. `web.mjs` leaves that to whoever imports it.
export * from '@durward/wasm32'
export { default } from '@durward/wasm32'
