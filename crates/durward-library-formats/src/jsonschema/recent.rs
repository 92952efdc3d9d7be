//! Schemas this thread has compiled lately: those in policies come again with every decision.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

use super::Schema;

/// How many schemas a thread keeps.
const KEPT_MAX: usize = 32;
/// Larger schemas than this are compiled each time, so that what is kept stays small.
const KEPT_NODES_MAX: usize = 1_000;

struct Recent {
    /// Both are held, so that their addresses remain theirs.
    schema: Value,
    others: Value,
    compiled: Rc<Schema>,
}

/// As [`Schema::compile_in_part`], but only once for the very same object; equal ones elsewhere are others.
pub(super) fn compiled(schema: &Value, others: &Value) -> Evaluated<Rc<Schema>> {
    thread_local! {
        // The latest comes last.
        static RECENT: RefCell<Vec<Recent>> = const { RefCell::new(Vec::new()) };
    }
    RECENT.with_borrow_mut(|recent| {
        let known = recent.iter().rposition(|known| {
            is_same(&known.schema, schema)
                && (is_same(&known.others, others) || is_none(&known.others, others))
        });
        if let Some(at) = known {
            recent.get_mut(at..).unwrap_or_default().rotate_left(1);
            if let Some(known) = recent.last() {
                return Ok(Rc::clone(&known.compiled));
            }
        }
        let compiled = Rc::new(Schema::compile_in_part(schema, others)?);
        if compiled.nodes.len() <= KEPT_NODES_MAX {
            if recent.len() >= KEPT_MAX {
                recent.remove(0);
            }
            recent.push(Recent {
                schema: schema.clone(),
                others: others.clone(),
                compiled: Rc::clone(&compiled),
            });
        }
        Ok(compiled)
    })
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_object(), other.as_object(), one.as_array(), other.as_array()) {
        (Some(one), Some(other), _, _) => Arc::ptr_eq(one, other),
        (_, _, Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// Whether both hold no schemas at all.
fn is_none(one: &Value, other: &Value) -> bool {
    [one, other].into_iter().all(|others| others.as_array().is_none_or(|others| others.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_functions::fixture::json;

    #[test]
    fn a_schema_is_compiled_once_as_long_as_it_is_among_the_latest() {
        let schema = json(r#"{"type":"string"}"#);
        let others = json(r#"[{"$id":"a"}]"#);
        let none = json("[]");
        let first = compiled(&schema, &Value::Undefined).unwrap();
        assert!(Rc::ptr_eq(&first, &compiled(&schema.clone(), &none).unwrap()));
        assert!(!Rc::ptr_eq(&first, &compiled(&schema, &others).unwrap()));
        assert!(!Rc::ptr_eq(&first, &compiled(&json(r#"{"type":"string"}"#), &none).unwrap()));
        for _ in 3..KEPT_MAX {
            compiled(&json("{}"), &none).unwrap();
        }
        assert!(Rc::ptr_eq(&first, &compiled(&schema, &none).unwrap()), "used again just now");
        for _ in 0..KEPT_MAX {
            compiled(&json("{}"), &none).unwrap();
        }
        assert!(!Rc::ptr_eq(&first, &compiled(&schema, &none).unwrap()), "too long ago");
    }

    #[test]
    fn other_schemas_belong_to_what_was_compiled() {
        let schema = json(r#"{"$ref":"urn:a"}"#);
        let [texts, numbers] =
            [r#"[{"$id":"urn:a","type":"string"}]"#, r#"[{"$id":"urn:a","type":"number"}]"#].map(json);
        for (others, is_compliant) in [(&texts, true), (&numbers, false), (&texts, true)] {
            let compiled = compiled(&schema, others).unwrap();
            assert_eq!(compiled.is_compliant(&json(r#""a""#)), Ok(is_compliant));
        }
        let alone = compiled(&schema, &Value::Undefined).unwrap();
        assert!(alone.is_compliant(&json(r#""a""#)).is_err());
    }
}
