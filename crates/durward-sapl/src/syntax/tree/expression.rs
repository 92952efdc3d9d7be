//! Expressions.

use smol_str::SmolStr;

use super::{FunctionName, Span};

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Where it is written, without parentheses around it.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `null`
    Null,
    /// `undefined`
    Undefined,
    /// `true`, `false`
    Boolean(bool),
    /// A number as written, without sign: `0`, `1.50`, `1e-3`. At most 1000 characters, and its scale (digits after
    /// the point less the exponent) is from -1000 to 1000.
    Number(SmolStr),
    /// A text, escapes resolved.
    Text(SmolStr),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// `{ "a": b, c: d }`, in order, duplicates kept.
    Object(Vec<Entry>),
    /// A variable or a part of the subscription: `subject`, `limit`.
    Identifier(SmolStr),
    /// `@`: the value a template, condition or filter is at.
    RelativeValue,
    /// `#`: its key or index.
    RelativeLocation,
    /// `library.function(arguments)`
    Call(FunctionCall),
    /// `<library.attribute>`, `|<library.attribute>`: an attribute of the environment.
    Attribute(Box<AttributeCall>),
    /// `base.key[0]..x`: at least one step, and the base is no such chain itself.
    Steps {
        /// Where the steps begin.
        base: Box<Expr>,
        /// The steps, in order; at least one.
        steps: Vec<Step>,
    },
    /// `!a`, `-a`, `+a`
    Unary {
        /// The sign.
        operator: UnaryOperator,
        /// Where the sign is written.
        operator_span: Span,
        /// What it stands before.
        operand: Box<Expr>,
    },
    /// `a == b`, `a in b`, ...: the operators that do not chain.
    Comparison(Box<Comparison>),
    /// `a || b || c`, `a + b - c`, ...: the operators that chain from left to right.
    Chain(Box<Chain>),
    /// `base |- filter`
    Filter {
        /// What is filtered.
        base: Box<Expr>,
        /// How.
        filter: Filter,
    },
    /// `base :: template`
    Subtemplate {
        /// The value whose elements the template is applied to.
        base: Box<Expr>,
        /// The template.
        template: Box<Expr>,
    },
    /// What could not be read; only in a text with errors.
    Error,
}

/// `key: value` of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it is written.
    pub span: Span,
    /// The key, whether written as a name or as a text.
    pub key: SmolStr,
    /// Where the key is written.
    pub key_span: Span,
    /// The value.
    pub value: Expr,
}

/// `library.function(arguments)`
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The function.
    pub name: FunctionName,
    /// The arguments, in order.
    pub arguments: Vec<Expr>,
}

/// `<library.attribute(arguments)[options]>`
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeCall {
    /// Where it is written, from `<` or `|<` to `>`.
    pub span: Span,
    /// Whether it is written `|<`: its first value is taken and kept.
    pub head: bool,
    /// The attribute.
    pub name: FunctionName,
    /// The arguments, in order; `<a.b>` and `<a.b()>` have none.
    pub arguments: Vec<Expr>,
    /// `[...]` before the `>`.
    pub options: Option<Expr>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where it is written, from its dot or bracket.
    pub span: Span,
    /// What it does.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum StepKind {
    /// ``.key``, `."key"`, `["key"]`, ``[`key`]``
    Key(SmolStr),
    /// `.*`, `[*]`
    Wildcard,
    /// `[0]`, `[-1]`
    Index(i32),
    /// `[from:to:step]`, `[from::step]`
    Slice {
        /// Where it starts.
        from: Option<i32>,
        /// Before what it ends.
        to: Option<i32>,
        /// How far from one element to the next.
        step: Option<i32>,
    },
    /// `[(expression)]`
    Expression(Box<Expr>),
    /// `[?(condition)]`
    Condition(Box<Expr>),
    /// `[0, 2]`, at least two.
    IndexUnion(Vec<i32>),
    /// `["a", "b"]`, at least two.
    KeyUnion(Vec<SmolStr>),
    /// `..key`, `..["key"]`
    RecursiveKey(SmolStr),
    /// `..*`, `..[*]`
    RecursiveWildcard,
    /// `..[0]`
    RecursiveIndex(i32),
    /// `.<library.attribute>`, `.|<library.attribute>`: an attribute of the value so far.
    Attribute(Box<AttributeCall>),
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
}

/// Two operands and an operator that does not chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The left operand.
    pub left: Expr,
    /// The operator.
    pub operator: ComparisonOperator,
    /// Where the operator is written, from its first to its last word.
    pub operator_span: Span,
    /// The right operand.
    pub right: Expr,
}

/// An operator that does not chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`
    Matches,
    /// `has`
    Has,
    /// `has any`
    HasAny,
    /// `has all`
    HasAll,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `in`
    In,
    /// `any in`
    AnyIn,
    /// `all in`
    AllIn,
}

/// Operands joined from left to right by operators of one precedence: all of them `||`, all `&&`, all `|`, all `^`,
/// all `&`, any of `+ -`, or any of `* / %`.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The first operand.
    pub first: Expr,
    /// The others, each with the operator before it; at least one.
    pub rest: Vec<Link>,
}

/// An operator and the operand after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The operator.
    pub operator: ChainOperator,
    /// Where the operator is written.
    pub operator_span: Span,
    /// The operand.
    pub operand: Expr,
}

/// An operator that chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainOperator {
    /// `||`
    LazyOr,
    /// `&&`
    LazyAnd,
    /// `|`
    Or,
    /// `^`
    ExclusiveOr,
    /// `&`
    And,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// What stands after `|-`.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// `|- each function(arguments)`: the whole value, or each element of it.
    Simple(FilterCall),
    /// `|- { @.path : function, ... }`: parts of the value, one statement after the other.
    Extended(Vec<FilterStatement>),
}

/// The function that filters; its first argument is the value itself.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterCall {
    /// Where it is written, from `each` or its name.
    pub span: Span,
    /// Whether it is applied to each element.
    pub each: bool,
    /// The function.
    pub name: FunctionName,
    /// The arguments after the value; `f` and `f()` have none.
    pub arguments: Vec<Expr>,
}

/// `each @.path : function(arguments)`
#[derive(Clone, Debug, PartialEq)]
pub struct FilterStatement {
    /// Where it is written.
    pub span: Span,
    /// The steps after `@`; none of them is [`StepKind::Attribute`] in a text without errors.
    pub target: Vec<Step>,
    /// The function, and whether it is applied to each element of what the path reaches. Its span starts at its name.
    pub call: FilterCall,
}

impl Expr {
    /// An expression at a place.
    pub fn new(span: Span, kind: ExprKind) -> Expr {
        Expr { span, kind }
    }
}
