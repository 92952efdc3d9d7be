//! What policies of XACML see of a subscription, and what their obligations are in a decision of SAPL.
//!
//! The four values become the four categories that requests of XACML usually have: `subject` is the access subject, and
//! `action`, `resource` and `environment` are what they are called. Of an object, each key is an attribute; of an array
//! behind a key, each element is a value. A value that is no object is the attribute that identifies: `subject-id`,
//! `action-id`, `resource-id`. Numbers are `integer` where they are whole and `double` besides, booleans are `boolean`, and
//! a text is of whatever data type a policy asks for, if it can be read as such. What does not fit is not there.

use std::borrow::Cow;

use durward_ir::AttributeName;
use durward_ir::combine::{Assignment, NamedDuty};
use durward_ir::datatype::Decimal;
use durward_ir::path::Element;
use durward_ir::question::Reading;
use durward_ir::value::{DataType, ObjectBuilder, Value};

use crate::subscription::Subscription;

/// The categories and what identifies in them.
const CATEGORIES: [(Element, &str, &str); 4] = [
    (
        Element::Subject,
        "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject",
        "urn:oasis:names:tc:xacml:1.0:subject:subject-id",
    ),
    (
        Element::Action,
        "urn:oasis:names:tc:xacml:3.0:attribute-category:action",
        "urn:oasis:names:tc:xacml:1.0:action:action-id",
    ),
    (
        Element::Resource,
        "urn:oasis:names:tc:xacml:3.0:attribute-category:resource",
        "urn:oasis:names:tc:xacml:1.0:resource:resource-id",
    ),
    (Element::Environment, "urn:oasis:names:tc:xacml:3.0:attribute-category:environment", ""),
];

/// What a policy reads.
pub(crate) fn read<'s>(subscription: &'s Subscription, name: &AttributeName) -> Reading<'s> {
    let known = CATEGORIES.into_iter().find(|(_, category, _)| *category == name.category.as_str());
    let Some((element, _, identifier)) = known.filter(|_| name.issuer.is_none()) else {
        return Reading::Absent;
    };
    let value = subscription.element(element);
    let value = match value.as_object() {
        Some(object) => object.get(&name.id).unwrap_or(&Value::Undefined),
        None if name.id == identifier => value,
        None => return Reading::Absent,
    };
    let values: Vec<Value> = match value.as_array() {
        Some(elements) => elements.iter().filter_map(|element| typed(element, name.data_type)).collect(),
        None => typed(value, name.data_type).into_iter().collect(),
    };
    match values.as_slice() {
        [] => Reading::Absent,
        [only] => Reading::Made(only.clone()),
        _ => Reading::Many(Cow::Owned(values)),
    }
}

fn typed(value: &Value, data_type: DataType) -> Option<Value> {
    if let Some(text) = value.as_text() {
        return Value::parse(data_type, text).ok();
    }
    if let Some(number) = value.as_number() {
        if data_type == DataType::Integer && number.is_integer() {
            return Value::parse(data_type, &number.to_plain()).ok();
        }
        return (data_type == DataType::Double).then(|| Value::Double(number.to_f64()));
    }
    (data_type == DataType::Boolean && value.as_boolean().is_some()).then(|| value.clone())
}

/// An obligation or advice of XACML as an object: `id` and `attributes`.
pub(crate) fn duty(duty: &NamedDuty) -> Value {
    let mut object = ObjectBuilder::with_capacity(2);
    object.insert("id", Value::Text(duty.id.clone()));
    object.insert("attributes", Value::array(duty.assignments.iter().map(attribute)));
    Value::Object(object.finish().into())
}

fn attribute(assignment: &Assignment) -> Value {
    let mut object = ObjectBuilder::with_capacity(4);
    object.insert("id", Value::Text(assignment.id.clone()));
    if let Some(category) = &assignment.category {
        object.insert("category", Value::Text(category.clone()));
    }
    if let Some(issuer) = &assignment.issuer {
        object.insert("issuer", Value::Text(issuer.clone()));
    }
    object.insert("value", plain(&assignment.value));
    Value::Object(object.finish().into())
}

/// A value of XACML as one of JSON: numbers and booleans as such, the rest as text.
fn plain(value: &Value) -> Value {
    let number = if let Value::Integer(integer) = value {
        Decimal::parse(&integer.to_string()).ok()
    } else if let Value::Double(double) = value {
        Decimal::from_f64(*double)
    } else {
        None
    };
    if matches!(value, Value::Boolean(_) | Value::Text(_)) {
        return value.clone();
    }
    number.map_or_else(|| Value::Text(value.lexical().into()), Value::Number)
}
