//! The library `mac`: message authentication codes of the UTF-8 of texts, in lower-case hexadecimal.
//!
//! `isValidHmac` knows the HMACs of the JDK by the JDK's names, in upper and lower case.

use durward_functions::encoding::hex;
use durward_functions::encoding::read_hex;
use durward_functions::jvm::length;
use durward_functions::limits::{check_text_length, shown};
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;
use hmac::digest::block_api::BlockSizeUser;
use hmac::{KeyInit, Mac, SimpleHmac};
use sha2::Digest;

/// The functions of the library `mac`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("mac.hmacSha256", &[Text, Text], |a| write(a, hmac::<sha2::Sha256>),
        "The HMAC-SHA256 of a message (first) under a key (second); an error when the key is empty."),
    row("mac.hmacSha384", &[Text, Text], |a| write(a, hmac::<sha2::Sha384>),
        "The HMAC-SHA384 of a message (first) under a key (second); an error when the key is empty."),
    row("mac.hmacSha512", &[Text, Text], |a| write(a, hmac::<sha2::Sha512>),
        "The HMAC-SHA512 of a message (first) under a key (second); an error when the key is empty."),
    row("mac.timingSafeEquals", &[Text, Text], timing_safe_equals,
        "Whether two codes in hexadecimal are equal, compared in constant time; an error when one is not \
         hexadecimal."),
    row("mac.isValidHmac", &[Text, Text, Text, Text], is_valid_hmac,
        "Whether a message (first) has this code in hexadecimal (second), under a key (third) and with an \
         algorithm (fourth) such as `HmacSHA256`; an error for other algorithms, an empty key, and a code that is \
         not hexadecimal."),
];

type MacFn = fn(&str, &str) -> Evaluated<Vec<u8>>;

fn hmac<D: Digest + BlockSizeUser>(message: &str, key: &str) -> Evaluated<Vec<u8>> {
    let mut mac = <SimpleHmac<D> as KeyInit>::new_from_slice(key.as_bytes())
        .map_err(|_| Fault::processing("the key has a wrong length"))?;
    mac.update(message.as_bytes());
    Ok(mac.finalize().into_bytes().to_vec())
}

fn algorithm(name: &str) -> Option<MacFn> {
    Some(match name.to_ascii_uppercase().as_str() {
        "HMACMD5" => hmac::<md5::Md5>,
        "HMACSHA1" => hmac::<sha1::Sha1>,
        "HMACSHA224" => hmac::<sha2::Sha224>,
        "HMACSHA256" => hmac::<sha2::Sha256>,
        "HMACSHA384" => hmac::<sha2::Sha384>,
        "HMACSHA512" => hmac::<sha2::Sha512>,
        "HMACSHA512/224" => hmac::<sha2::Sha512_224>,
        "HMACSHA512/256" => hmac::<sha2::Sha512_256>,
        "HMACSHA3-224" => hmac::<sha3::Sha3_224>,
        "HMACSHA3-256" => hmac::<sha3::Sha3_256>,
        "HMACSHA3-384" => hmac::<sha3::Sha3_384>,
        "HMACSHA3-512" => hmac::<sha3::Sha3_512>,
        _ => return None,
    })
}

fn compute(message: &str, key: &str, compute: MacFn) -> Evaluated<Vec<u8>> {
    check_text_length(length(message))?;
    check_text_length(length(key))?;
    if key.is_empty() {
        return Err(Fault::processing("the key of a message authentication code is empty"));
    }
    compute(message, key)
}

fn write(arguments: &[Value], algorithm: MacFn) -> Evaluated<Value> {
    let [Value::Text(message), Value::Text(key)] = arguments else { return unchecked() };
    Ok(Value::Text(hex(&compute(message, key, algorithm)?).into()))
}

fn octets(code: &str) -> Evaluated<Vec<u8>> {
    read_hex(code).ok_or_else(|| Fault::processing("a message authentication code must be hexadecimal"))
}

fn timing_safe_equals(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(a), Value::Text(b)] = arguments else { return unchecked() };
    Ok(Value::Boolean(same(&octets(a)?, &octets(b)?)))
}

fn is_valid_hmac(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(message), Value::Text(expected), Value::Text(key), Value::Text(name)] = arguments else {
        return unchecked();
    };
    let Some(algorithm) = algorithm(name) else {
        return Err(Fault::processing(format!(
            "`{}` is no known algorithm: write `HmacSHA256`",
            shown(name)
        )));
    };
    let computed = compute(message, key, algorithm)?;
    Ok(Value::Boolean(same(&computed, &octets(expected)?)))
}

/// In a time that depends on the lengths alone.
fn same(a: &[u8], b: &[u8]) -> bool {
    bool::from(subtle::ConstantTimeEq::ct_eq(a, b))
}
