//! Secrets sealed one by one: objects and arrays stay as they are, every other value becomes a text `ENC[...]` with a
//! token for the JSON of the value.

use std::collections::BTreeSet;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::json;
use durward_ir::value::ObjectBuilder;

use crate::error::failed;
use crate::keyring::{Keyring, RecipientKey};
use crate::{BundleError, token};

/// The token in a sealed text.
fn token_of(value: &Value) -> Option<&str> {
    let Value::Text(text) = value else { return None };
    text.strip_prefix("ENC[")?.strip_suffix(']')
}

/// Seals every value. What is sealed already is sealed once more: it may be a text that only looks so.
///
/// # Errors
/// The system has no randomness.
pub fn seal(recipient: &RecipientKey, value: &Value) -> Result<Value, BundleError> {
    each(value, &|leaf| {
        let token = token::seal(recipient, leaf.to_json().as_bytes())?;
        Ok(Value::Text(format!("ENC[{token}]").into()))
    })
}

/// Opens every value.
///
/// # Errors
/// One that is not sealed, whose key is not there, or that was changed.
pub fn unseal(keyring: &Keyring, value: &Value) -> Result<Value, BundleError> {
    each(value, &|leaf| {
        let Some(token) = token_of(leaf) else { return failed("a value is not sealed") };
        let plain = token::open(keyring, token)?;
        match json::read(&plain) {
            Ok(plain @ (Value::Text(_) | Value::Number(_) | Value::Boolean(_) | Value::Null)) => Ok(plain),
            Ok(_) | Err(_) => failed("a sealed value is no text, number, truth value or `null`"),
        }
    })
}

/// Seals every value to somebody else.
///
/// # Errors
/// As [`unseal`] and [`seal`].
pub fn reseal(keyring: &Keyring, recipient: &RecipientKey, value: &Value) -> Result<Value, BundleError> {
    seal(recipient, &unseal(keyring, value)?)
}

/// Whether every value looks sealed; whether it is shows when it is opened.
pub fn is_sealed(value: &Value) -> bool {
    match (value, value.as_array()) {
        (Value::Object(object), _) => object.iter().all(|(_, value)| is_sealed(value)),
        (_, Some(elements)) => elements.iter().all(is_sealed),
        (leaf, None) => token_of(leaf).is_some(),
    }
}

/// The identifiers of the keys that values are sealed to.
///
/// # Errors
/// A value that is sealed to nobody.
pub fn recipients(value: &Value) -> Result<BTreeSet<String>, BundleError> {
    let mut found = BTreeSet::new();
    collect(value, &mut found)?;
    Ok(found)
}

fn collect(value: &Value, found: &mut BTreeSet<String>) -> Result<(), BundleError> {
    if let Value::Object(object) = value {
        return object.iter().try_for_each(|(_, value)| collect(value, found));
    }
    if let Some(elements) = value.as_array() {
        return elements.iter().try_for_each(|value| collect(value, found));
    }
    let Some(token) = token_of(value) else { return failed("a value is not sealed") };
    found.insert(token::recipient(token)?);
    Ok(())
}

/// Replaces every value that is no object and no array. Errors say under which name, which is no secret.
fn each(value: &Value, replace: &dyn Fn(&Value) -> Result<Value, BundleError>) -> Result<Value, BundleError> {
    if let Value::Object(object) = value {
        let mut replaced = ObjectBuilder::with_capacity(object.len());
        for (name, value) in object.iter() {
            replaced
                .insert(name.as_str(), each(value, replace).map_err(|error| error.of(format!("`{name}`")))?);
        }
        return Ok(Value::Object(Arc::new(replaced.finish())));
    }
    match value.as_array() {
        Some(elements) => {
            let replaced =
                elements.iter().map(|value| each(value, replace)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::array(replaced))
        }
        None => replace(value),
    }
}
