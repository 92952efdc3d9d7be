//! Regular expressions: none takes the process down or hangs it, whatever it is matched with.
//!
//! The first line of an input is the pattern, the rest is the text.

use durward_ir::function::Pattern;

pub(crate) fn run(input: &[u8]) {
    let input = crate::text(input);
    let Some((pattern, text)) = input.split_once('\n') else { return };
    if let Ok(pattern) = Pattern::compile(pattern) {
        let _ = pattern.is_match(text);
    }
}
