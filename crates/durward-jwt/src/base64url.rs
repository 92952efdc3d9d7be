//! Base64 with the alphabet for URLs (RFC 4648, 5), as tokens and keys are written.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// How exactly Base64 must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base64Url {
    /// As RFC 7515 has it: without padding, and bits left over are zero. One text for one content.
    Exact,
    /// As `java.util.Base64` reads: padding may be there, in full, and bits that are left over are ignored.
    Java,
}

const JAVA: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Base64Url {
    /// What the text stands for; `None` for other texts.
    pub fn decode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Base64Url::Exact => URL_SAFE_NO_PAD.decode(text).ok(),
            Base64Url::Java if text.ends_with('=') && !text.len().is_multiple_of(4) => None,
            Base64Url::Java => JAVA.decode(text).ok(),
        }
    }
}

/// The text for bytes, without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
