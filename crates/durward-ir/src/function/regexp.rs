//! Matching of regular expressions (XACML 3.0, A.3.13).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::fault::{Evaluated, Fault};
use crate::function::pattern::{Pattern, PatternError};
use crate::function::{BOOLEAN, Function, TEXT, Type, URI, id, row, take};
use crate::value::{DataType, Operand};

pub(super) static TABLE: &[Function] = &[
    row(id!("1.0", "string-regexp-match"), &[TEXT, TEXT], BOOLEAN, regexp_match),
    row(id!("2.0", "anyURI-regexp-match"), &[TEXT, URI], BOOLEAN, regexp_match),
    row(id!("2.0", "ipAddress-regexp-match"), &[TEXT, Type::One(DataType::IpAddress)], BOOLEAN, regexp_match),
    row(id!("2.0", "dnsName-regexp-match"), &[TEXT, Type::One(DataType::DnsName)], BOOLEAN, regexp_match),
    row(
        id!("2.0", "rfc822Name-regexp-match"),
        &[TEXT, Type::One(DataType::Rfc822Name)],
        BOOLEAN,
        regexp_match,
    ),
    row(id!("2.0", "x500Name-regexp-match"), &[TEXT, Type::One(DataType::X500Name)], BOOLEAN, regexp_match),
];

/// True if the pattern, the first argument, matches the second as its `string-from` function writes it.
fn regexp_match(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [pattern, value] = take(operands)?;
    let value = value.as_one()?.lexical();
    with_compiled(pattern.as_text()?, |pattern| pattern.is_match(&value)).map(Operand::boolean)
}

/// How many compiled patterns a thread keeps. Patterns written in policies are compiled when these are loaded;
/// here come those computed at evaluation, of which a policy has few.
const CACHE_SIZE_MAX: usize = 32;

thread_local! {
    /// How many patterns were compiled since this was last asked for.
    static COMPILED_COUNT: Cell<u32> = const { Cell::new(0) };
}

/// How many patterns this thread has compiled since the last call. Compiling is slow next to everything else a
/// function does, so the evaluator counts it.
pub(crate) fn take_compiled() -> u32 {
    COMPILED_COUNT.replace(0)
}

fn with_compiled<R>(text: &str, using: impl FnOnce(&Pattern) -> R) -> Evaluated<R> {
    thread_local! {
        static COMPILED: RefCell<HashMap<Box<str>, Result<Pattern, PatternError>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        if !compiled.contains_key(text) {
            if compiled.len() >= CACHE_SIZE_MAX {
                compiled.clear();
            }
            compiled.insert(text.into(), Pattern::compile(text));
            COMPILED_COUNT.set(COMPILED_COUNT.get().saturating_add(1));
        }
        match compiled.get(text) {
            Some(Ok(pattern)) => Ok(using(pattern)),
            Some(Err(error)) => Err(Fault::processing(error.to_string())),
            None => Err(Fault::processing("the pattern could not be kept")),
        }
    })
}
