//! The functions a policy may call, by their standard identifiers, with their types.
//!
//! [`find`] is the way in: an identifier to a [`Function`]. What a function needs beyond its arguments is said by
//! its [`Body`]: most are [`Body::Strict`]; the others are evaluated by `evaluate`, which alone knows how to
//! evaluate an argument, call another function or look into the request's content.
//!
//! One file per family; each holds its part of the table beside the code it names.

mod arithmetic;
mod bag;
mod blocks;
mod check;
mod compare;
mod convert;
mod date;
mod equality;
mod logic;
mod operand;
pub mod pattern;
pub(crate) mod regexp;
mod table;
mod text;

use std::fmt;

use crate::fault::Evaluated;
use crate::value::{DataType, Operand};

pub use bag::BAG_SIZE_MAX;
pub(crate) use blocks::block_ignoring_case as block;
pub use check::{Argument, TypeError};
pub use pattern::Pattern;
pub use table::{EARLIER_IDS, all, current_id, find};
pub use text::TEXT_LENGTH_MAX;

/// A standard identifier from the version that introduced it and the name.
macro_rules! id {
    ($version:literal, $($name:expr),+) => {
        concat!("urn:oasis:names:tc:xacml:", $version, ":function:", $($name),+)
    };
}
use id;

/// The type of an expression: one value or a bag of values of one data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Exactly one value.
    One(DataType),
    /// A bag of values.
    Bag(DataType),
}

impl Type {
    /// The data type of the value or of the values in the bag.
    pub const fn data_type(self) -> DataType {
        match self {
            Type::One(data_type) | Type::Bag(data_type) => data_type,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::One(data_type) => data_type.fmt(f),
            Type::Bag(data_type) => write!(f, "bag of {data_type}"),
        }
    }
}

/// The parameters of a strict, lazy or contextual function.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The types of the arguments, in order.
    pub parameters: &'static [Type],
    /// When set, the last parameter may be repeated and at least this many arguments must be given in all.
    pub variadic_min: Option<usize>,
    /// The type of the result.
    pub result: Type,
}

/// What a strict function does with its evaluated arguments.
pub type Strict = fn(&[Operand<'_>]) -> Evaluated<Operand<'static>>;

/// One function of the standard.
#[derive(Debug)]
pub struct Function {
    /// The full identifier, such as `urn:oasis:names:tc:xacml:1.0:function:string-equal`.
    pub id: &'static str,
    /// How it is evaluated.
    pub body: Body,
}

/// How a function is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// All arguments are evaluated first; any fault among them is the result.
    Strict(Signature, Strict),
    /// Arguments are evaluated one by one, from the left, only as far as needed.
    Lazy(Lazy),
    /// The first argument is a function, applied to the values of the bags that follow.
    HigherOrder(HigherOrder),
    /// Looks into the content of the request (XPath), or asks for another decision.
    Contextual(Contextual),
}

/// Functions that stop before their last argument (XACML 3.0, A.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lazy {
    /// True if any argument is True; stops there. No arguments: False.
    Or,
    /// False if any argument is False; stops there. No arguments: True.
    And,
    /// True if at least the first argument's number of the others is True.
    NOf,
}

/// Functions over functions (XACML 3.0, A.3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HigherOrder {
    /// `any-of`: True if the function is True for any value of the one bag among the arguments.
    AnyOf,
    /// `all-of`: True if it is True for every value of the one bag.
    AllOf,
    /// `any-of-any`: True if it is True for any combination of values.
    AnyOfAny,
    /// `all-of-any`: every value of the first bag has a partner in the second.
    AllOfAny,
    /// `any-of-all`: every value of the second bag has a partner in the first.
    AnyOfAll,
    /// `all-of-all`: every value of the first fits every value of the second.
    AllOfAll,
    /// `map`: the bag of results.
    Map,
}

/// Functions that need the request's content or another decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contextual {
    /// `xpath-node-count`
    XPathNodeCount,
    /// `xpath-node-equal`
    XPathNodeEqual,
    /// `xpath-node-match`
    XPathNodeMatch,
    /// `access-permitted`
    AccessPermitted,
}

impl Function {
    /// The identifier without its prefix, such as `string-equal`.
    pub fn short_name(&self) -> &'static str {
        self.id.rsplit(':').next().unwrap_or(self.id)
    }

    /// Whether the first argument is a regular expression.
    pub fn takes_pattern(&self) -> bool {
        self.id.ends_with("-regexp-match")
    }

    /// Whether it looks into the content of the request, or asks for another decision.
    pub fn looks_at_content(&self) -> bool {
        matches!(self.body, Body::Contextual(_))
    }

    /// The parameters and the result; `None` for functions over functions, whose types depend on the function
    /// they are given.
    pub fn signature(&self) -> Option<Signature> {
        match self.body {
            Body::Strict(signature, _) => Some(signature),
            Body::Lazy(lazy) => Some(lazy.signature()),
            Body::Contextual(contextual) => Some(contextual_signature(contextual, self.id)),
            Body::HigherOrder(_) => None,
        }
    }
}

impl Lazy {
    const fn signature(self) -> Signature {
        match self {
            Lazy::Or | Lazy::And => {
                Signature { parameters: &[BOOLEAN], variadic_min: Some(0), result: BOOLEAN }
            }
            Lazy::NOf => {
                Signature { parameters: &[INTEGER, BOOLEAN], variadic_min: Some(1), result: BOOLEAN }
            }
        }
    }
}

/// The types of a contextual function. The deprecated 1.0 forms take the XPath expression as a `string`.
fn contextual_signature(contextual: Contextual, id: &str) -> Signature {
    const EXPRESSION: Type = Type::One(DataType::XPathExpression);
    let is_deprecated = id.starts_with("urn:oasis:names:tc:xacml:1.0:");
    let (parameters, result): (&'static [Type], Type) = match (contextual, is_deprecated) {
        (Contextual::XPathNodeCount, false) => (&[EXPRESSION], INTEGER),
        (Contextual::XPathNodeCount, true) => (&[TEXT], INTEGER),
        (Contextual::XPathNodeEqual | Contextual::XPathNodeMatch, false) => {
            (&[EXPRESSION, EXPRESSION], BOOLEAN)
        }
        (Contextual::XPathNodeEqual | Contextual::XPathNodeMatch, true) => (&[TEXT, TEXT], BOOLEAN),
        (Contextual::AccessPermitted, _) => (&[URI, TEXT], BOOLEAN),
    };
    Signature { parameters, variadic_min: None, result }
}

const BOOLEAN: Type = Type::One(DataType::Boolean);
const INTEGER: Type = Type::One(DataType::Integer);
const DOUBLE: Type = Type::One(DataType::Double);
const TEXT: Type = Type::One(DataType::Text);
const URI: Type = Type::One(DataType::AnyUri);

/// A row of the table: a strict function with a fixed number of arguments.
const fn row(id: &'static str, parameters: &'static [Type], result: Type, strict: Strict) -> Function {
    Function { id, body: Body::Strict(Signature { parameters, variadic_min: None, result }, strict) }
}

/// A row of the table: a strict function whose last parameter repeats, with this many arguments at least.
const fn row_from(
    id: &'static str,
    least: usize,
    parameters: &'static [Type],
    result: Type,
    strict: Strict,
) -> Function {
    Function { id, body: Body::Strict(Signature { parameters, variadic_min: Some(least), result }, strict) }
}

/// The arguments of a strict function as an array; their number was checked when the program was loaded.
fn take<'s, 'a, const N: usize>(operands: &'s [Operand<'a>]) -> Evaluated<&'s [Operand<'a>; N]> {
    operands.try_into().map_err(|_| {
        let found = operands.len();
        crate::Fault::processing(format!("{N} arguments were expected where {found} were given"))
    })
}

#[cfg(test)]
mod tests;
