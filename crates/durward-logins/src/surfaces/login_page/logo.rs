//! A logo: a small picture, which stands in the page itself as data.
//!
//! A picture in `<img>` runs no script and loads nothing, whatever is in it, and needs no request that would have to be answered without
//! a session.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durward_settings::ConfigError;

use super::file;

/// The largest logo: it goes into each page.
const LOGO_BYTES_MAX: u64 = 64 * 1024;

/// A picture as an address.
#[derive(Clone, Debug)]
pub(super) struct Logo {
    /// `data:image/svg+xml;base64,...`
    pub(super) address: String,
}

impl Logo {
    pub(super) fn read(path: &Path) -> Result<Logo, ConfigError> {
        let content = file::bytes(path, LOGO_BYTES_MAX)?;
        let Some(kind) = kind(&content) else {
            let message = "is no picture of a kind that a logo can have: SVG, PNG, JPEG, WebP";
            return Err(file::wrong(path, message.to_owned()));
        };
        Ok(Logo { address: format!("data:{kind};base64,{}", STANDARD.encode(&content)) })
    }
}

/// The media type, by what is in the file.
fn kind(content: &[u8]) -> Option<&'static str> {
    if content.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    if content.starts_with(&[0xff, 0xd8, 0xff]) {
        return Some("image/jpeg");
    }
    if content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    let text = std::str::from_utf8(content).ok()?;
    let is_svg = text.trim_start_matches('\u{feff}').trim_start().starts_with('<') && text.contains("<svg");
    is_svg.then_some("image/svg+xml")
}
