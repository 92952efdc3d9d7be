//! Keys as PEM (RFC 7468): a header line, Base64, and a footer line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::BundleError;
use crate::error::failed;

/// Longest text of a key: ten times what any here needs.
const TEXT_BYTES_MAX: usize = 4096;

/// The bytes between the lines for `label`, or those of Base64 without such lines.
///
/// # Errors
/// Another label, or no Base64. The text is in no message.
pub(crate) fn read(text: &str, label: &str) -> Result<Vec<u8>, BundleError> {
    if text.len() > TEXT_BYTES_MAX {
        return failed("it is longer than a key");
    }
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let inside = match text.split_once(&begin) {
        Some((_, rest)) => match rest.split_once(&end) {
            Some((inside, _)) => inside,
            None => return failed(format!("the line `{end}` is missing")),
        },
        None if text.contains("-----BEGIN") => return failed(format!("it is no `{label}` in PEM form")),
        None => text,
    };
    let base64: String = inside.split_whitespace().collect();
    STANDARD.decode(base64).map_err(|_| BundleError::new(format!("it is no `{label}`: no Base64")))
}

/// A key of at most 48 bytes as PEM: one line of Base64.
pub(crate) fn write(bytes: &[u8], label: &str) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(bytes))
}
