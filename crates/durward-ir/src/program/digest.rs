//! Equal expressions become one: what they are found by, and when two of them are interchangeable.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use super::expression::Expr;
use crate::value::{Operand, Value};

/// What an expression is found by. Expressions that are [`same`] have the same one.
pub(super) fn digest(expr: &Expr) -> u64 {
    let mut hasher = foldhash::fast::FixedState::with_seed(1).build_hasher();
    std::mem::discriminant(expr).hash(&mut hasher);
    match expr {
        Expr::Constant(Operand::One(value)) => hash_value(value, &mut hasher),
        Expr::Constant(Operand::Bag(values)) => {
            values.iter().for_each(|value| hash_value(value, &mut hasher))
        }
        Expr::Attribute { slot, must_be_present } => (slot, must_be_present).hash(&mut hasher),
        Expr::Selector(selector) => (&selector.path.path, &selector.path.category).hash(&mut hasher),
        Expr::Call(function, args) | Expr::Contextual(function, args) => {
            (function.id, args).hash(&mut hasher)
        }
        Expr::Lazy(lazy, args) => (std::mem::discriminant(lazy), args).hash(&mut hasher),
        Expr::HigherOrder(kind, function, args) => {
            (std::mem::discriminant(kind), function.id, args).hash(&mut hasher);
        }
        Expr::Matches(pattern, arg) => (std::ptr::from_ref(pattern.as_ref()), arg).hash(&mut hasher),
        Expr::All(args) | Expr::Any(args) => args.hash(&mut hasher),
        Expr::Match(matching) => {
            (matching.function.id, matching.bag).hash(&mut hasher);
            hash_value(&matching.literal, &mut hasher);
        }
        Expr::Failed(fault) => fault.message.hash(&mut hasher),
        Expr::Part(slot) => slot.hash(&mut hasher),
        Expr::IsOneOf(slot, atoms) => (slot, atoms).hash(&mut hasher),
        Expr::Structured(structured) => structured.hash(&mut hasher),
    }
    hasher.finish()
}

/// Keys of an object that is hashed as a whole. Of a larger one the hash has only the size, the first and the last
/// key: configurations have large objects.
const HASHED_KEYS_MAX: usize = 64;

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    if let Value::Object(object) = value
        && object.len() > HASHED_KEYS_MAX
    {
        return (object.len(), object.keys().next(), object.keys().next_back()).hash(hasher);
    }
    (value.data_type(), value.lexical()).hash(hasher);
}

/// Whether two expressions are interchangeable.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Constant(Operand::One(a)), Expr::Constant(Operand::One(b))) => same_value(a, b),
        (Expr::Constant(Operand::Bag(a)), Expr::Constant(Operand::Bag(b))) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_value(a, b))
        }
        (
            Expr::Attribute { slot: a, must_be_present: a_must },
            Expr::Attribute { slot: b, must_be_present: b_must },
        ) => (a, a_must) == (b, b_must),
        (Expr::Selector(a), Expr::Selector(b)) => a == b,
        (Expr::Call(f, a), Expr::Call(g, b)) | (Expr::Contextual(f, a), Expr::Contextual(g, b)) => {
            f.id == g.id && a == b
        }
        (Expr::Lazy(f, a), Expr::Lazy(g, b)) => f == g && a == b,
        (Expr::HigherOrder(k, f, a), Expr::HigherOrder(l, g, b)) => k == l && f.id == g.id && a == b,
        (Expr::Matches(p, a), Expr::Matches(q, b)) => std::ptr::eq(p.as_ref(), q.as_ref()) && a == b,
        (Expr::All(a), Expr::All(b)) | (Expr::Any(a), Expr::Any(b)) => a == b,
        (Expr::Match(a), Expr::Match(b)) => {
            a.function.id == b.function.id && a.bag == b.bag && same_value(&a.literal, &b.literal)
        }
        (Expr::Failed(a), Expr::Failed(b)) => a == b,
        (Expr::Part(a), Expr::Part(b)) => a == b,
        (Expr::IsOneOf(a, some), Expr::IsOneOf(b, others)) => (a, some) == (b, others),
        (Expr::Structured(a), Expr::Structured(b)) => a == b,
        _ => false,
    }
}

/// Same type and same text. XPath expressions carry namespaces their text does not show, and are never shared.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::XPathExpression(a), Value::XPathExpression(b)) => a == b,
        (Value::Opaque(a), Value::Opaque(b)) => a == b,
        (Value::Object(one), Value::Object(other)) if Arc::ptr_eq(one, other) => true,
        // Two large ones of the same keys have the same digest, and comparing them is cheaper than writing them.
        (Value::Object(_), Value::Object(_)) if !a.equals(b) => false,
        _ => a.data_type() == b.data_type() && a.lexical() == b.lexical(),
    }
}
