//! The libraries `keys`, `signature` and `x509` and the module `jwt`, with keys, certificates, signatures and tokens that
//! `fixtures/generate.sh` made with OpenSSL.

mod hostile;
mod jwt;
mod keys;
mod signature;
mod x509;

use durward_functions::fixture;
use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("fixtures/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "ed25519.pub",
    "ed448.pub",
    "exchange.crt",
    "koblitz.crt",
    "message",
    "named.crt",
    "nameless.crt",
    "old.crt",
    "p256.pub",
    "p384.pub",
    "p521.pub",
    "plain.crt",
    "pss.pub",
    "rsa1024.pub",
    "rsa2048.pub",
    "rsa4096.pub",
    "rsa512.pub",
    "secp256k1.pub",
    "signatures",
    "tokens",
    "x25519.pub",
];

/// What is in a file beside these tests.
fn file(name: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no fixture {name}")).1
}

/// A public key in PEM.
fn key(name: &str) -> &'static str {
    file(&format!("{name}.pub"))
}

/// The Base64 of a public key, as configurations have it.
fn bare(name: &str) -> String {
    key(name).lines().filter(|line| !line.starts_with("-----")).collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Calls a function of the three libraries.
fn call_with(name: &str, arguments: &[Value]) -> Evaluated<Value> {
    let functions = [crate::keys::FUNCTIONS, crate::signature::FUNCTIONS, crate::x509::FUNCTIONS].concat();
    fixture::call_with(&functions, name, arguments)
}

/// The result as JSON, or the message of the fault.
fn call(name: &str, arguments: &[&str]) -> Result<String, String> {
    let arguments: Vec<Value> = arguments.iter().map(|argument| text(argument)).collect();
    call_with(name, &arguments).map(|value| value.to_json()).map_err(|fault| fault.message)
}
