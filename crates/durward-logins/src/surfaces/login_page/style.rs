//! The style sheet of the pages: durward's, the theme's colours, the theme's own; and its hash, by which the pages' policy lets it in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::theme::{Scheme, Theme, variables};

/// durward's own.
const STYLE: &str = include_str!("style.css");

/// What stands in `<style>`.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) css: String,
    /// As a source of Content Security Policy: `'sha256-...'`.
    pub(super) source: String,
}

impl Style {
    pub(super) fn of(theme: &Theme) -> Style {
        let (light, dark) = (variables(&theme.light), variables(&theme.dark));
        let colours = match theme.scheme {
            Scheme::Both => {
                format!(":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}")
            }
            Scheme::Light => format!(":root{{{light}}}"),
            Scheme::Dark => format!(":root{{{dark}}}"),
        };
        let css = format!(
            ":root{{color-scheme:{};--radius:{}px}}\n{colours}\n{STYLE}{}",
            theme.scheme.css(),
            theme.radius_px,
            theme.css
        );
        let source = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(css.as_bytes())));
        Style { css, source }
    }
}
