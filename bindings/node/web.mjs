// WebAssembly that is loaded by `init` or `initSync`, for places that have their own way to get at the module.
export * from '@durward/wasm32/web'
export { default } from '@durward/wasm32/web'
