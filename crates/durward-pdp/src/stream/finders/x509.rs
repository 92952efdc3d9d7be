//! `x509`: whether a certificate is valid now.

use durward_ir::fault::Evaluated;
use durward_ir::{Fault, Value};
use durward_library::x509::validity;
use durward_sapl::check::Attribute;

use super::or_error;
use crate::stream::finder::{Reading, TimedFinder};
use crate::stream::invocation::{Context, Invocation};

/// The attributes `isCurrentlyValid` and `isExpired` of certificates in PEM. They change at the ends of the validity; one
/// that is not valid yet counts as expired, as in SAPL.
#[derive(Clone, Copy, Debug, Default)]
pub struct X509Finder;

/// For whoever checks policies.
pub(super) fn attributes() -> Vec<Attribute> {
    let attribute = |name: &str| Attribute { name: name.into(), of_value: true, arguments: 0..=0 };
    ["x509.isCurrentlyValid", "x509.isExpired"].map(attribute).into()
}

fn try_read(invocation: &Invocation, now_ms: i64) -> Evaluated<Reading> {
    let certificate = invocation.entity.as_ref().and_then(Value::as_text);
    let certificate = certificate.ok_or_else(|| Fault::processing("a certificate is a text in PEM"))?;
    let validity = validity(certificate).map_err(|fault| Fault::processing(fault.to_string()))?;
    let [from, until] =
        [validity.not_before_s, validity.not_after_s].map(|second| second.saturating_mul(1_000));
    let is_valid = (from..until).contains(&now_ms);
    Ok(Reading {
        value: Ok(Value::Boolean(is_valid != (invocation.name == "x509.isExpired"))),
        next_ms: [from, until].into_iter().find(|bound| now_ms < *bound),
    })
}

impl TimedFinder for X509Finder {
    fn serves(&self, invocation: &Invocation) -> bool {
        let is_known = matches!(&*invocation.name, "x509.isCurrentlyValid" | "x509.isExpired");
        is_known && invocation.entity.is_some() && invocation.arguments.is_empty()
    }

    fn read(&self, invocation: &Invocation, _: &Context, _: i64, now_ms: i64) -> Reading {
        or_error(try_read(invocation, now_ms))
    }
}
