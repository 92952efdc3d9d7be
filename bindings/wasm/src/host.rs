//! What JavaScript gives: the time, and a place for what goes wrong.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use durward_embed::Clock;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    /// Milliseconds since 1970.
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;

    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(message: &str);
}

pub(crate) fn clock() -> Clock {
    Arc::new(|| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "what is no time is 1970"
        )]
        let since = Duration::from_millis(date_now() as u64);
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    })
}

/// Called once, before anything else: says where durward panics. The panic itself is an exception without a message.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| console_error(&format!("durward: {panic}"))));
}
