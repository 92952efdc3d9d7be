//! Policies on their way in.

use std::path::Path;

use durward_embed::{PolicyLimits, is_policy_file};
use wasm_bindgen::prelude::wasm_bindgen;

/// Policies as texts, each with its name.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct WasmTexts(pub(crate) Vec<(String, Vec<u8>)>);

#[wasm_bindgen]
impl WasmTexts {
    /// None.
    #[wasm_bindgen(constructor)]
    pub fn new() -> WasmTexts {
        WasmTexts::default()
    }

    /// One more.
    pub fn add(&mut self, name: String, text: Vec<u8>) {
        self.0.push((name, text));
    }
}

/// Whether a file of this name, so deep below a folder of policies, is one of them.
#[wasm_bindgen(js_name = isPolicyFile)]
pub fn is_policy(name: &str, depth: u32) -> bool {
    is_policy_file(Path::new(name), depth as usize)
}

/// The longest text of a policy, in bytes.
#[wasm_bindgen(js_name = policyBytes)]
pub fn policy_bytes() -> u32 {
    u32::try_from(PolicyLimits::default().bytes_max).unwrap_or(u32::MAX)
}
