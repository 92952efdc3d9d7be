//! Obligations and advice as XACML's responses have them.

use durward_ir::Value;
use durward_ir::combine::Duty as IrDuty;
use durward_xacml::response::{Assignment, Duty};
use smol_str::SmolStr;

/// The identifier of an obligation or advice that a SAPL policy gave, which has none.
pub(crate) const PLAIN_ID: &str = "urn:durward:sapl:duty";

/// The identifier of its only attribute: the value as text, JSON where it is no text.
pub(crate) const PLAIN_VALUE_ID: &str = "urn:durward:sapl:value";

/// A duty for a response of XACML.
pub(crate) fn to_xacml(duty: IrDuty) -> Duty {
    let named = match duty {
        IrDuty::Named(named) => named,
        IrDuty::Plain(value) => return plain(&value),
    };
    let assignments = named
        .assignments
        .into_iter()
        .map(|one| Assignment { id: one.id, category: one.category, issuer: one.issuer, value: one.value })
        .collect();
    Duty { id: named.id, assignments }
}

fn plain(value: &Value) -> Duty {
    let value = Value::Text(SmolStr::new(value.lexical()));
    let id = SmolStr::new_static(PLAIN_VALUE_ID);
    let assignments = vec![Assignment { id, category: None, issuer: None, value }];
    Duty { id: SmolStr::new_static(PLAIN_ID), assignments }
}
