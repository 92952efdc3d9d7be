//! How attribute finders are to be asked: what the call says, else what the configuration says, else defaults.

use durward_ir::question::FinderOptions;
use durward_ir::structure::kind_of;
use durward_ir::value::{Object, Value};

use super::Lowering;
use crate::syntax::Span;
use crate::syntax::tree::AttributeCall;

/// The variable of the configuration that holds options.
const VARIABLE: &str = "attributeFinderOptions";

/// The shortest time before a finder that failed is asked again: a shorter one helps nobody, and keeps the finder from
/// recovering.
const BACKOFF_MS_MIN: u64 = 50;

/// The options of a call.
pub(super) fn of<'t>(lowering: &mut Lowering<'t, '_, '_>, call: &'t AttributeCall) -> FinderOptions {
    let span = call.options.as_ref().map_or(call.span, |options| options.span);
    let mut options = FinderOptions::default();
    let configured = lowering.configuration.variable(VARIABLE).cloned();
    match configured {
        None => {}
        Some(Value::Object(object)) => take(lowering, span, &object, &mut options),
        Some(other) => {
            let kind = kind_of(&other);
            lowering.refuse(span, format!("the variable `{VARIABLE}` must be an object, not {kind}"), None);
        }
    }
    if let Some(object) = own(lowering, call) {
        take(lowering, span, &object, &mut options);
    }
    options
}

fn own<'t>(lowering: &mut Lowering<'t, '_, '_>, call: &'t AttributeCall) -> Option<std::sync::Arc<Object>> {
    let written = call.options.as_ref()?;
    let id = lowering.expression(written);
    let facts = lowering.builder.facts(id);
    if facts.depends || facts.is_relative {
        let message = "options of an attribute cannot depend on the subscription or on other attributes";
        lowering.refuse(written.span, message, Some("write constants, or variables of `pdp.json`"));
        return None;
    }
    match lowering.builder.value_of(id) {
        Some(Value::Object(object)) => Some(object.clone()),
        Some(other) => {
            let message = format!("options of an attribute must be an object, not {}", kind_of(other));
            lowering.refuse(written.span, message, None);
            None
        }
        None => {
            let reason = lowering.builder.fault_of(id).map(|fault| fault.message.clone()).unwrap_or_default();
            lowering.refuse(written.span, format!("the options of the attribute fail: {reason}"), None);
            None
        }
    }
}

/// Takes what the object says. Other keys mean nothing.
fn take(lowering: &mut Lowering<'_, '_, '_>, span: Span, object: &Object, options: &mut FinderOptions) {
    let mut number = |key: &str, least: u64, option: &mut u64| {
        let Some(value) = object.get(key) else { return };
        let whole = value.as_number().and_then(durward_ir::datatype::Decimal::to_i64);
        match whole.and_then(|whole| u64::try_from(whole).ok()) {
            Some(whole) if whole >= least => *option = whole,
            Some(_) | None => {
                let message = format!("the option `{key}` must be a whole number from {least}");
                lowering.refuse(span, message, None);
            }
        }
    };
    number("initialTimeOutMs", 1, &mut options.initial_timeout_ms);
    number("pollIntervalMs", 1, &mut options.poll_interval_ms);
    number("backoffMs", BACKOFF_MS_MIN, &mut options.backoff_ms);
    number("retries", 0, &mut options.retries);
    match object.get("fresh") {
        None => {}
        Some(Value::Boolean(fresh)) => options.fresh = *fresh,
        Some(_) => lowering.refuse(span, "the option `fresh` must be true or false", None),
    }
}
