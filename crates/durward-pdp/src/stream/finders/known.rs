//! Which attributes there are, for whoever checks policies: [`crate::check`].

use durward_sapl::check::Attribute;

use super::time::ATTRIBUTES;

/// The attributes of the finders that need nothing but the time: `time`, `x509` and `jwt`.
pub fn attributes() -> Vec<Attribute> {
    let attribute = |name: String, of_value, arguments| Attribute { name: name.into(), of_value, arguments };
    let time = ATTRIBUTES
        .iter()
        .map(|(name, [least, most])| attribute(format!("time.{name}"), false, *least..=*most));
    let x509 = ["isCurrentlyValid", "isExpired"].map(|name| attribute(format!("x509.{name}"), true, 0..=0));
    time.chain(x509).chain([attribute("jwt.token".into(), false, 0..=1)]).collect()
}
