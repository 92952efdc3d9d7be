//! The library `digest`: digests of the UTF-8 of a text, in lower-case hexadecimal.

use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;
use sha2::Digest;

use crate::table::{row, unchecked};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("digest.sha256", &[Text], digest::<sha2::Sha256>, "The SHA-256 digest of the text."),
    row("digest.sha384", &[Text], digest::<sha2::Sha384>, "The SHA-384 digest of the text."),
    row("digest.sha512", &[Text], digest::<sha2::Sha512>, "The SHA-512 digest of the text."),
    row("digest.sha3_256", &[Text], digest::<sha3::Sha3_256>, "The SHA3-256 digest of the text."),
    row("digest.sha3_384", &[Text], digest::<sha3::Sha3_384>, "The SHA3-384 digest of the text."),
    row("digest.sha3_512", &[Text], digest::<sha3::Sha3_512>, "The SHA3-512 digest of the text."),
    row("digest.md5", &[Text], digest::<md5::Md5>, "The MD5 digest of the text, which proves nothing: it is broken."),
    row("digest.sha1", &[Text], digest::<sha1::Sha1>, "The SHA-1 digest of the text, which proves little: it is weak."),
];

fn digest<D: Digest>(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    Ok(Value::Text(hex(&D::digest(text.as_bytes())).into()))
}

/// Octets in lower-case hexadecimal.
pub(crate) fn hex(octets: &[u8]) -> String {
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
