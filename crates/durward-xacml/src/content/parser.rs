//! Tokens into an expression (XPath 1.0, productions 1 to 27), checked: prefixes, functions, arguments, nesting.

use smol_str::SmolStr;

use super::XPATH_DEPTH_MAX;
use super::error::XPathError;
use super::expression::{
    Axis, Compute, Expression, Function, NodeTest, Operator, Order, Path, Start, Step, ValueKind,
};
use super::lexer::{self, Placed, Token};
use super::read::XML_SPACE;

/// Authors who think in XPath 2.0 write `fn:count(..)`.
const FUNCTION_SPACE: &str = "http://www.w3.org/2005/xpath-functions";

type Parse<T> = Result<T, XPathError>;

/// Parses a whole expression.
pub(super) fn parse(path: &str, namespaces: &[(SmolStr, SmolStr)]) -> Parse<Expression> {
    let tokens = lexer::tokens(path)?;
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0, namespaces };
    let expression = parser.nested()?;
    if parser.peek().is_some() {
        return Err(parser.unexpected("the end of the path"));
    }
    Ok(expression)
}

struct Parser<'a> {
    tokens: &'a [Placed<'a>],
    next: usize,
    depth: usize,
    namespaces: &'a [(SmolStr, SmolStr)],
}

/// The binary operators, those that bind least first.
const PRECEDENCE: [&[(&str, Operator)]; 6] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[("=", Operator::Equal), ("!=", Operator::NotEqual)],
    &[
        ("<", Operator::Order(Order::Less)),
        ("<=", Operator::Order(Order::LessOrEqual)),
        (">", Operator::Order(Order::Greater)),
        (">=", Operator::Order(Order::GreaterOrEqual)),
    ],
    &[("+", Operator::Compute(Compute::Add)), ("-", Operator::Compute(Compute::Subtract))],
    &[
        ("*", Operator::Compute(Compute::Multiply)),
        ("div", Operator::Compute(Compute::Divide)),
        ("mod", Operator::Compute(Compute::Modulo)),
    ],
];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|(token, _)| *token)
    }

    fn is_operator(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Operator(found)) if found == sign)
    }

    fn take_operator(&mut self, sign: &str) -> bool {
        let found = self.is_operator(sign);
        self.next += usize::from(found);
        found
    }

    fn take_mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(found)) if found == mark);
        self.next += usize::from(found);
        found
    }

    fn expect_mark(&mut self, mark: &str) -> Parse<()> {
        if self.take_mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> XPathError {
        let message = match self.tokens.get(self.next) {
            None => format!("the path ends where {wanted} was expected"),
            Some((token, offset)) => {
                format!("{} at offset {offset}, where {wanted} was expected", describe(*token))
            }
        };
        XPathError::syntax(message)
    }

    /// A whole expression, one level deeper.
    fn nested(&mut self) -> Parse<Expression> {
        if self.depth > XPATH_DEPTH_MAX {
            return Err(XPathError::limit(format!("the path nests deeper than {XPATH_DEPTH_MAX}")));
        }
        self.depth += 1;
        let expression = self.binary(&PRECEDENCE);
        self.depth -= 1;
        expression
    }

    fn binary(&mut self, levels: &[&[(&str, Operator)]]) -> Parse<Expression> {
        let Some((level, tighter)) = levels.split_first() else { return self.unary() };
        let first = self.binary(tighter)?;
        let mut rest = Vec::new();
        while let Some((_, operator)) = level.iter().find(|(sign, _)| self.take_operator(sign)) {
            rest.push((*operator, self.binary(tighter)?));
        }
        Ok(if rest.is_empty() { first } else { Expression::Chain { first: Box::new(first), rest } })
    }

    fn unary(&mut self) -> Parse<Expression> {
        let mut signs = 0_usize;
        while self.take_operator("-") {
            signs += 1;
        }
        let operand = self.union()?;
        // Two signs are one conversion to a number, which `-(-x)` makes; more add nothing.
        let negated = |operand| Expression::Negated(Box::new(operand));
        Ok(match signs {
            0 => operand,
            signs if signs % 2 == 1 => negated(operand),
            _ => negated(negated(operand)),
        })
    }

    fn union(&mut self) -> Parse<Expression> {
        let first = self.path()?;
        if !self.is_operator("|") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_operator("|") {
            parts.push(self.path()?);
        }
        match parts.iter().any(|part| part.kind() != ValueKind::Nodes) {
            true => Err(XPathError::syntax("`|` joins nodes, and one of its sides gives none")),
            false => Ok(Expression::Union(parts)),
        }
    }

    fn path(&mut self) -> Parse<Expression> {
        let mut steps = Vec::new();
        let start = match self.peek() {
            Some(Token::Operator("/")) => {
                self.next += 1;
                if !self.starts_step() {
                    return Ok(Expression::Path(Path { start: Start::Root, steps }));
                }
                self.step(&mut steps)?;
                Start::Root
            }
            Some(Token::Operator("//")) => Start::Root,
            Some(Token::Number(_) | Token::Literal(_) | Token::Mark("(")) => return self.filtered(),
            Some(Token::Function { prefix, local }) if !(prefix.is_empty() && is_node_type(local)) => {
                return self.filtered();
            }
            _ => {
                self.step(&mut steps)?;
                Start::Context
            }
        };
        self.more_steps(&mut steps)?;
        Ok(Expression::Path(Path { start, steps }))
    }

    /// Productions 19 and 20: a value, and where it is nodes, predicates and steps from them.
    fn filtered(&mut self) -> Parse<Expression> {
        let expression = self.primary()?;
        let predicates = self.predicates()?;
        let goes_on = self.is_operator("/") || self.is_operator("//");
        if predicates.is_empty() && !goes_on {
            return Ok(expression);
        }
        if expression.kind() != ValueKind::Nodes {
            return Err(XPathError::syntax(
                "only nodes have steps and predicates, and the value before them is none",
            ));
        }
        let mut steps = Vec::new();
        self.more_steps(&mut steps)?;
        let start = Start::Expression { expression: Box::new(expression), predicates };
        Ok(Expression::Path(Path { start, steps }))
    }

    fn primary(&mut self) -> Parse<Expression> {
        let token = self.peek();
        self.next += 1;
        match token {
            Some(Token::Number(number)) => Ok(Expression::Number(number)),
            Some(Token::Literal(text)) => Ok(Expression::Literal(SmolStr::new(text))),
            Some(Token::Function { prefix, local }) => self.call(prefix, local),
            _ => {
                let expression = self.nested()?;
                self.expect_mark(")")?;
                Ok(expression)
            }
        }
    }

    fn call(&mut self, prefix: &str, local: &str) -> Parse<Expression> {
        let is_core = prefix.is_empty() || self.space(prefix)? == FUNCTION_SPACE;
        let function = if is_core { Function::from_name(local) } else { None };
        let function = function.ok_or_else(|| no_function(prefix, local))?;
        self.expect_mark("(")?;
        let mut arguments = Vec::new();
        if !self.take_mark(")") {
            arguments.push(self.nested()?);
            while self.take_mark(",") {
                arguments.push(self.nested()?);
            }
            self.expect_mark(")")?;
        }
        let (fewest, most) = function.arity();
        if arguments.len() < fewest || arguments.len() > most {
            let wanted = match (fewest, most) {
                (fewest, usize::MAX) => format!("{fewest} or more"),
                (fewest, most) if fewest == most => fewest.to_string(),
                (fewest, most) => format!("{fewest} to {most}"),
            };
            let message = format!("`{local}` takes {wanted} arguments, and has {} here", arguments.len());
            return Err(XPathError::syntax(message));
        }
        if function.takes_nodes() && arguments.iter().any(|argument| argument.kind() != ValueKind::Nodes) {
            return Err(XPathError::syntax(format!("`{local}` takes nodes, and its argument gives none")));
        }
        Ok(Expression::Call(function, arguments))
    }

    fn more_steps(&mut self, steps: &mut Vec<Step>) -> Parse<()> {
        loop {
            if self.take_operator("//") {
                steps.push(step(Axis::DescendantOrSelf, NodeTest::Node));
            } else if !self.take_operator("/") {
                return Ok(());
            }
            self.step(steps)?;
        }
    }

    fn starts_step(&self) -> bool {
        match self.peek() {
            Some(Token::Name { .. } | Token::AnyName { .. } | Token::Axis(_)) => true,
            Some(Token::Function { prefix, local }) => prefix.is_empty() && is_node_type(local),
            Some(Token::Mark(mark)) => matches!(mark, "." | ".." | "@"),
            Some(Token::Number(_) | Token::Literal(_) | Token::Operator(_)) | None => false,
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Parse<()> {
        if self.take_mark(".") {
            steps.push(step(Axis::SelfNode, NodeTest::Node));
            return Ok(());
        }
        if self.take_mark("..") {
            steps.push(step(Axis::Parent, NodeTest::Node));
            return Ok(());
        }
        let axis = match self.peek() {
            Some(Token::Axis(name)) => {
                let axis = Axis::from_name(name).ok_or_else(|| no_axis(name))?;
                self.next += 1;
                axis
            }
            _ if self.take_mark("@") => Axis::Attribute,
            _ => Axis::Child,
        };
        let test = self.node_test()?;
        let predicates = self.predicates()?;
        let is_positional = predicates.iter().any(Expression::is_positional);
        // `//x` is `/descendant-or-self::node()/child::x`; unless positions count, that is `/descendant::x`.
        let is_short = |last: &Step| {
            last.axis == Axis::DescendantOrSelf && last.test == NodeTest::Node && last.predicates.is_empty()
        };
        let axis = match steps.last().is_some_and(is_short) {
            true if axis == Axis::Child && !is_positional => {
                steps.pop();
                Axis::Descendant
            }
            _ => axis,
        };
        steps.push(Step { axis, test, predicates, is_positional });
        Ok(())
    }

    fn predicates(&mut self) -> Parse<Vec<Expression>> {
        let mut found = Vec::new();
        while self.take_mark("[") {
            found.push(self.nested()?);
            self.expect_mark("]")?;
        }
        Ok(found)
    }

    fn node_test(&mut self) -> Parse<NodeTest> {
        let token = self.peek();
        let unexpected = self.unexpected("a step");
        self.next += 1;
        match token {
            Some(Token::AnyName { prefix: "" }) => Ok(NodeTest::AnyName),
            Some(Token::AnyName { prefix }) => self.space(prefix).map(NodeTest::AnyIn),
            Some(Token::Name { prefix, local }) => {
                let space = if prefix.is_empty() { SmolStr::default() } else { self.space(prefix)? };
                Ok(NodeTest::Name { space, local: SmolStr::new(local) })
            }
            Some(Token::Function { prefix: "", local }) => self.node_type(local),
            _ => Err(unexpected),
        }
    }

    fn node_type(&mut self, name: &str) -> Parse<NodeTest> {
        let mut test = match name {
            "node" => NodeTest::Node,
            "text" => NodeTest::Text,
            "comment" => NodeTest::Comment,
            "processing-instruction" => NodeTest::Instruction(None),
            _ => return Err(XPathError::syntax(format!("a step cannot be the function `{name}`"))),
        };
        self.expect_mark("(")?;
        if let (Some(Token::Literal(target)), NodeTest::Instruction(name)) = (self.peek(), &mut test) {
            *name = Some(SmolStr::new(target));
            self.next += 1;
        }
        self.expect_mark(")")?;
        Ok(test)
    }

    fn space(&self, prefix: &str) -> Parse<SmolStr> {
        let bound = self.namespaces.iter().find(|(known, _)| known == prefix).map(|(_, space)| space.clone());
        match bound {
            Some(space) => Ok(space),
            None if prefix == "xml" => Ok(SmolStr::new_static(XML_SPACE)),
            None => Err(XPathError::unknown_prefix(prefix)),
        }
    }
}

fn step(axis: Axis, test: NodeTest) -> Step {
    Step { axis, test, predicates: Vec::new(), is_positional: false }
}

fn is_node_type(name: &str) -> bool {
    matches!(name, "node" | "text" | "comment" | "processing-instruction")
}

fn no_function(prefix: &str, local: &str) -> XPathError {
    let colon = if prefix.is_empty() { "" } else { ":" };
    let message = format!("there is no function `{prefix}{colon}{local}`; those of XPath 1.0 are known");
    XPathError::syntax(message)
}

fn no_axis(name: &str) -> XPathError {
    XPathError::syntax(format!("there is no axis `{name}`"))
}

fn describe(token: Token<'_>) -> String {
    match token {
        Token::Name { prefix: "", local } | Token::Function { prefix: "", local } => format!("`{local}`"),
        Token::Name { prefix, local } | Token::Function { prefix, local } => format!("`{prefix}:{local}`"),
        Token::AnyName { prefix: "" } => "`*`".to_owned(),
        Token::AnyName { prefix } => format!("`{prefix}:*`"),
        Token::Axis(name) => format!("`{name}::`"),
        Token::Number(number) => format!("`{number}`"),
        Token::Literal(_) => "a text in quotes".to_owned(),
        Token::Operator(sign) | Token::Mark(sign) => format!("`{sign}`"),
    }
}
