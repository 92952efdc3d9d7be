//! The library `digest`: digests of the UTF-8 of a text, in lower-case hexadecimal.

use durward_functions::encoding::hex;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;
use sha2::Digest;

/// The functions of the library `digest`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("digest.sha256", &[Text], digest::<sha2::Sha256>, "The SHA-256 digest of the text."),
    row("digest.sha384", &[Text], digest::<sha2::Sha384>, "The SHA-384 digest of the text."),
    row("digest.sha512", &[Text], digest::<sha2::Sha512>, "The SHA-512 digest of the text."),
    row("digest.sha3_256", &[Text], digest::<sha3::Sha3_256>, "The SHA3-256 digest of the text."),
    row("digest.sha3_384", &[Text], digest::<sha3::Sha3_384>, "The SHA3-384 digest of the text."),
    row("digest.sha3_512", &[Text], digest::<sha3::Sha3_512>, "The SHA3-512 digest of the text."),
    row("digest.md5", &[Text], digest::<md5::Md5>,
        "The MD5 digest of the text. MD5 is broken: the digest proves nothing."),
    row("digest.sha1", &[Text], digest::<sha1::Sha1>,
        "The SHA-1 digest of the text. SHA-1 is weak: the digest proves little."),
];

fn digest<D: Digest>(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    Ok(Value::Text(hex(&D::digest(text.as_bytes())).into()))
}

/// A digest in hexadecimal, by the names that Java has for it, its object identifiers among them.
pub(crate) fn digest_by_name(name: &str) -> Option<fn(&[u8]) -> String> {
    fn of<D: Digest>(octets: &[u8]) -> String {
        hex(&D::digest(octets))
    }
    let name = name.to_ascii_uppercase();
    Some(match name.strip_prefix("OID.").filter(|oid| oid.contains('.')).unwrap_or(&name) {
        "MD2" | "1.2.840.113549.2.2" => of::<md2::Md2>,
        "MD5" | "1.2.840.113549.2.5" => of::<md5::Md5>,
        "SHA" | "SHA1" | "SHA-1" | "1.3.14.3.2.26" => of::<sha1::Sha1>,
        "SHA-224" | "SHA224" | "2.16.840.1.101.3.4.2.4" => of::<sha2::Sha224>,
        "SHA-256" | "SHA256" | "2.16.840.1.101.3.4.2.1" => of::<sha2::Sha256>,
        "SHA-384" | "SHA384" | "2.16.840.1.101.3.4.2.2" => of::<sha2::Sha384>,
        "SHA-512" | "SHA512" | "2.16.840.1.101.3.4.2.3" => of::<sha2::Sha512>,
        "SHA-512/224" | "SHA512/224" | "2.16.840.1.101.3.4.2.5" => of::<sha2::Sha512_224>,
        "SHA-512/256" | "SHA512/256" | "2.16.840.1.101.3.4.2.6" => of::<sha2::Sha512_256>,
        "SHA3-224" | "2.16.840.1.101.3.4.2.7" => of::<sha3::Sha3_224>,
        "SHA3-256" | "2.16.840.1.101.3.4.2.8" => of::<sha3::Sha3_256>,
        "SHA3-384" | "2.16.840.1.101.3.4.2.9" => of::<sha3::Sha3_384>,
        "SHA3-512" | "2.16.840.1.101.3.4.2.10" => of::<sha3::Sha3_512>,
        _ => return None,
    })
}
