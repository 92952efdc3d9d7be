//! A compiled expression. Chains of operators, steps and predicates are lists, so that only nesting is deep.

use smol_str::SmolStr;

/// The four types of XPath 1.0. There being no variables, the type of every expression is known when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Nodes,
    Text,
    Number,
    Boolean,
}

#[derive(Clone, Debug)]
pub(super) enum Expression {
    /// Operators of one precedence, from left to right.
    Chain {
        first: Box<Expression>,
        rest: Vec<(Operator, Expression)>,
    },
    Negated(Box<Expression>),
    Union(Vec<Expression>),
    Path(Path),
    Number(f64),
    Literal(SmolStr),
    Call(Function, Vec<Expression>),
}

impl Expression {
    pub(super) fn kind(&self) -> ValueKind {
        match self {
            Expression::Chain { rest, .. } => match rest.last() {
                Some((Operator::Compute(_), _)) => ValueKind::Number,
                Some((Operator::Or | Operator::And | Operator::Equal | Operator::NotEqual, _))
                | Some((Operator::Order(_), _))
                | None => ValueKind::Boolean,
            },
            Expression::Negated(_) | Expression::Number(_) => ValueKind::Number,
            Expression::Union(_) | Expression::Path(_) => ValueKind::Nodes,
            Expression::Literal(_) => ValueKind::Text,
            Expression::Call(function, _) => function.result(),
        }
    }

    /// Whether what this gives as a predicate may depend on where the node stands among those tested with it.
    pub(super) fn is_positional(&self) -> bool {
        self.kind() == ValueKind::Number || self.uses_position()
    }

    fn uses_position(&self) -> bool {
        match self {
            Expression::Chain { first, rest } => {
                first.uses_position() || rest.iter().any(|(_, operand)| operand.uses_position())
            }
            Expression::Negated(inner) => inner.uses_position(),
            Expression::Union(parts) => parts.iter().any(Expression::uses_position),
            // Predicates of steps have contexts of their own, but what a path starts from is in this one.
            Expression::Path(path) => match &path.start {
                Start::Expression { expression, .. } => expression.uses_position(),
                Start::Root | Start::Context => false,
            },
            Expression::Number(_) | Expression::Literal(_) => false,
            Expression::Call(Function::Position | Function::Last, _) => true,
            Expression::Call(_, arguments) => arguments.iter().any(Expression::uses_position),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Order(Order),
    Compute(Compute),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compute {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) start: Start,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub(super) enum Start {
    /// The document node.
    Root,
    /// The context node.
    Context,
    /// The nodes another expression gives, filtered.
    Expression { expression: Box<Expression>, predicates: Vec<Expression> },
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) axis: Axis,
    pub(super) test: NodeTest,
    pub(super) predicates: Vec<Expression>,
    /// Whether a predicate is positional, so that nodes must be tested together with their siblings on the axis.
    pub(super) is_positional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    SelfNode,
}

impl Axis {
    pub(super) fn from_name(name: &str) -> Option<Axis> {
        Some(match name {
            "ancestor" => Axis::Ancestor,
            "ancestor-or-self" => Axis::AncestorOrSelf,
            "attribute" => Axis::Attribute,
            "child" => Axis::Child,
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "following" => Axis::Following,
            "following-sibling" => Axis::FollowingSibling,
            "namespace" => Axis::Namespace,
            "parent" => Axis::Parent,
            "preceding" => Axis::Preceding,
            "preceding-sibling" => Axis::PrecedingSibling,
            "self" => Axis::SelfNode,
            _ => return None,
        })
    }

    /// Reverse axes count positions backwards (section 2.4).
    pub(super) fn is_reverse(self) -> bool {
        matches!(self, Axis::Ancestor | Axis::AncestorOrSelf | Axis::Preceding | Axis::PrecedingSibling)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeTest {
    /// `node()`
    Node,
    /// `text()`
    Text,
    /// `comment()`
    Comment,
    /// `processing-instruction()`, or with a name only those.
    Instruction(Option<SmolStr>),
    /// `*`
    AnyName,
    /// `prefix:*`
    AnyIn(SmolStr),
    /// A name.
    Name { space: SmolStr, local: SmolStr },
}

/// The core function library (section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
}

impl Function {
    pub(super) fn from_name(name: &str) -> Option<Function> {
        Some(match name {
            "last" => Function::Last,
            "position" => Function::Position,
            "count" => Function::Count,
            "id" => Function::Id,
            "local-name" => Function::LocalName,
            "namespace-uri" => Function::NamespaceUri,
            "name" => Function::Name,
            "string" => Function::String,
            "concat" => Function::Concat,
            "starts-with" => Function::StartsWith,
            "contains" => Function::Contains,
            "substring-before" => Function::SubstringBefore,
            "substring-after" => Function::SubstringAfter,
            "substring" => Function::Substring,
            "string-length" => Function::StringLength,
            "normalize-space" => Function::NormalizeSpace,
            "translate" => Function::Translate,
            "boolean" => Function::Boolean,
            "not" => Function::Not,
            "true" => Function::True,
            "false" => Function::False,
            "lang" => Function::Lang,
            "number" => Function::Number,
            "sum" => Function::Sum,
            "floor" => Function::Floor,
            "ceiling" => Function::Ceiling,
            "round" => Function::Round,
            _ => return None,
        })
    }

    /// The fewest and the most arguments.
    pub(super) fn arity(self) -> (usize, usize) {
        match self {
            Function::Last | Function::Position | Function::True | Function::False => (0, 0),
            Function::LocalName
            | Function::NamespaceUri
            | Function::Name
            | Function::String
            | Function::StringLength
            | Function::NormalizeSpace
            | Function::Number => (0, 1),
            Function::Count
            | Function::Id
            | Function::Boolean
            | Function::Not
            | Function::Lang
            | Function::Sum
            | Function::Floor
            | Function::Ceiling
            | Function::Round => (1, 1),
            Function::StartsWith
            | Function::Contains
            | Function::SubstringBefore
            | Function::SubstringAfter => (2, 2),
            Function::Substring => (2, 3),
            Function::Translate => (3, 3),
            Function::Concat => (2, usize::MAX),
        }
    }

    /// Whether the argument must be nodes; everything else is converted.
    pub(super) fn takes_nodes(self) -> bool {
        matches!(
            self,
            Function::Count | Function::Sum | Function::LocalName | Function::NamespaceUri | Function::Name
        )
    }

    fn result(self) -> ValueKind {
        match self {
            Function::Id => ValueKind::Nodes,
            Function::LocalName
            | Function::NamespaceUri
            | Function::Name
            | Function::String
            | Function::Concat
            | Function::SubstringBefore
            | Function::SubstringAfter
            | Function::Substring
            | Function::NormalizeSpace
            | Function::Translate => ValueKind::Text,
            Function::Boolean
            | Function::Not
            | Function::True
            | Function::False
            | Function::Lang
            | Function::StartsWith
            | Function::Contains => ValueKind::Boolean,
            Function::Last
            | Function::Position
            | Function::Count
            | Function::StringLength
            | Function::Number
            | Function::Sum
            | Function::Floor
            | Function::Ceiling
            | Function::Round => ValueKind::Number,
        }
    }
}
