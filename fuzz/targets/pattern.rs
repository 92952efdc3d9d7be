//! Regular expressions: none takes the process down or hangs it, whatever it is matched with.
//!
//! The first line of an input is the pattern, the rest is the text.
#![no_main]

use durward_ir::function::Pattern;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((pattern, text)) = input.split_once('\n') else { return };
    if let Ok(pattern) = Pattern::compile(pattern) {
        let _ = pattern.is_match(text);
    }
});
