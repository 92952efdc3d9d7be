//! `x509`: whether a certificate is valid now.

use durward_ir::Value;
use durward_ir::fault::Evaluated;

use super::or_error;
use crate::stream::finder::{Reading, TimedFinder};
use crate::stream::invocation::{Context, Invocation};

/// When a certificate is valid, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// From then on,
    pub from_ms: i64,
    /// until then.
    pub until_ms: i64,
}

/// The attributes `isCurrentlyValid` and `isExpired` of certificates in PEM. They change at the ends of the validity.
#[derive(Clone, Copy, Debug)]
pub struct X509Finder {
    validity: fn(&str) -> Evaluated<Validity>,
}

impl X509Finder {
    /// `validity` reads a certificate; it must be a function of the text alone.
    pub fn new(validity: fn(&str) -> Evaluated<Validity>) -> X509Finder {
        X509Finder { validity }
    }

    fn try_read(self, invocation: &Invocation, now_ms: i64) -> Result<Reading, String> {
        let Some(Value::Text(certificate)) = &invocation.entity else {
            return Err("a certificate is a text in PEM".into());
        };
        let failed = |fault| format!("the certificate cannot be read: {fault}");
        let Validity { from_ms, until_ms } = (self.validity)(certificate).map_err(failed)?;
        let is_valid = (from_ms..until_ms).contains(&now_ms);
        Ok(Reading {
            value: Ok(Value::Boolean(is_valid != (invocation.name == "x509.isExpired"))),
            next_ms: [from_ms, until_ms].into_iter().find(|bound| now_ms < *bound),
        })
    }
}

impl TimedFinder for X509Finder {
    fn serves(&self, invocation: &Invocation) -> bool {
        let is_known = matches!(&*invocation.name, "x509.isCurrentlyValid" | "x509.isExpired");
        is_known && invocation.entity.is_some() && invocation.arguments.is_empty()
    }

    fn read(&self, invocation: &Invocation, _: &Context, _: i64, now_ms: i64) -> Reading {
        or_error(self.try_read(invocation, now_ms))
    }
}
