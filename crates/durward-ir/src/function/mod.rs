//! The functions a policy may call, by their standard identifiers, with their types.
//!
//! [`find`] is the way in: an identifier to a [`Function`]. What a function needs beyond its arguments is said by
//! its [`Body`]: most are [`Body::Strict`]; the others are evaluated by `evaluate`, which alone knows how to
//! evaluate an argument, call another function or look into the request's content.

use crate::fault::Evaluated;
use crate::value::{DataType, Operand};

/// The type of an expression: one value or a bag of values of one data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Exactly one value.
    One(DataType),
    /// A bag of values.
    Bag(DataType),
}

/// The parameters of a strict or lazy function.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The types of the arguments, in order.
    pub parameters: &'static [Type],
    /// When set, the last parameter may be repeated and at least this many arguments must be given in all.
    pub variadic_min: Option<usize>,
    /// The type of the result.
    pub result: Type,
}

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
    Strict(Signature, fn(&[Operand<'_>]) -> Evaluated<Operand<'static>>),
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
    /// `any-of-all`: some value of the first bag fits every value of the second.
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
