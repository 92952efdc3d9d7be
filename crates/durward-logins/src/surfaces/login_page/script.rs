//! The one script there is, on pages that offer a passkey; and its hash, by which the policy of these pages lets it in, and nothing else.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// What stands in `<script>`.
pub(super) const SCRIPT: &str = include_str!("passkey.js");

/// As a source of Content Security Policy: `'sha256-...'`.
pub(super) static SOURCE: LazyLock<String> =
    LazyLock::new(|| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(SCRIPT.as_bytes()))));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_read_the_script_as_it_is_hashed() {
        // What would end the element, or is read as another character.
        assert!(!SCRIPT.contains("</") && !SCRIPT.contains("<!--") && !SCRIPT.contains('\r'));
        assert!(SOURCE.starts_with("'sha256-"));
    }
}
