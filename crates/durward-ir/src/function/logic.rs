//! Logic (XACML 3.0, A.3.5), and the entries of functions that `evaluate` carries out: the lazy ones, those over
//! functions (A.3.12), XPath (A.3.15) and `access-permitted` (A.3.16).

use crate::fault::Evaluated;
use crate::function::{BOOLEAN, Body, Contextual, Function, HigherOrder, Lazy, id, row, take};
use crate::value::Operand;

pub(super) static TABLE: &[Function] = &[
    row(id!("1.0", "not"), &[BOOLEAN], BOOLEAN, not),
    lazy(id!("1.0", "or"), Lazy::Or),
    lazy(id!("1.0", "and"), Lazy::And),
    lazy(id!("1.0", "n-of"), Lazy::NOf),
];

/// The deprecated 1.0 forms take fewer arguments than the 3.0 forms and mean the same for those.
pub(super) static BEYOND_ARGUMENTS: &[Function] = &[
    higher_order(id!("3.0", "any-of"), HigherOrder::AnyOf),
    higher_order(id!("3.0", "all-of"), HigherOrder::AllOf),
    higher_order(id!("3.0", "any-of-any"), HigherOrder::AnyOfAny),
    higher_order(id!("1.0", "all-of-any"), HigherOrder::AllOfAny),
    higher_order(id!("1.0", "any-of-all"), HigherOrder::AnyOfAll),
    higher_order(id!("1.0", "all-of-all"), HigherOrder::AllOfAll),
    higher_order(id!("3.0", "map"), HigherOrder::Map),
    higher_order(id!("1.0", "any-of"), HigherOrder::AnyOf),
    higher_order(id!("1.0", "all-of"), HigherOrder::AllOf),
    higher_order(id!("1.0", "any-of-any"), HigherOrder::AnyOfAny),
    higher_order(id!("1.0", "map"), HigherOrder::Map),
    contextual(id!("3.0", "xpath-node-count"), Contextual::XPathNodeCount),
    contextual(id!("3.0", "xpath-node-equal"), Contextual::XPathNodeEqual),
    contextual(id!("3.0", "xpath-node-match"), Contextual::XPathNodeMatch),
    contextual(id!("1.0", "xpath-node-count"), Contextual::XPathNodeCount),
    contextual(id!("1.0", "xpath-node-equal"), Contextual::XPathNodeEqual),
    contextual(id!("1.0", "xpath-node-match"), Contextual::XPathNodeMatch),
    contextual(id!("3.0", "access-permitted"), Contextual::AccessPermitted),
];

const fn lazy(id: &'static str, lazy: Lazy) -> Function {
    Function { id, body: Body::Lazy(lazy) }
}

const fn higher_order(id: &'static str, higher_order: HigherOrder) -> Function {
    Function { id, body: Body::HigherOrder(higher_order) }
}

const fn contextual(id: &'static str, contextual: Contextual) -> Function {
    Function { id, body: Body::Contextual(contextual) }
}

fn not(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(Operand::boolean(!operand.as_boolean()?))
}
