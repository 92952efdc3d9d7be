//! Expressions: identifiers become functions and slots, literals become values, types are checked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use durward_ir::attribute::AttributeName;
use durward_ir::datatype::XPathExpression;
use durward_ir::function::pattern::Pattern;
use durward_ir::function::{self, Argument, Body, Function, HigherOrder, Type};
use durward_ir::program::{Expr, ExprId, Selector};
use durward_ir::value::{DataType, Operand, Value};
use durward_xacml::content::XPath;
use durward_xacml::request::identifiers::shared;
use smol_str::SmolStr;

use super::Lowering;
use crate::tree::{
    Apply, AttributeDesignator, AttributeSelector, AttributeValue, Condition, Expression, Match,
    MatchAttribute, NamespaceScope, Policy, SelectorBase, VariableDefinition, VariableReference, XmlLocation,
};

/// How deep an expression may nest, the variables it refers to included. The depth of a document bounds what nests in
/// one place; through variables, each of which refers to the next, it could be any number, and the stack is not.
const EXPRESSION_DEPTH_MAX: usize = 400;

/// A lowered expression and its type.
#[derive(Clone, Copy, Debug)]
struct Typed {
    expr: ExprId,
    of: Type,
    /// How many expressions a walk through it meets, every variable followed anew.
    size: u64,
    /// How deep it nests, variables followed.
    depth: usize,
}

impl Typed {
    /// An expression without arguments.
    fn leaf(expr: ExprId, of: Type) -> Typed {
        Typed { expr, of, size: 1, depth: 1 }
    }
}

/// The variables of one policy.
pub(super) struct Variables<'t> {
    definitions: HashMap<&'t str, &'t VariableDefinition>,
    /// Lowered ones; `None` while one is being lowered and where it had errors.
    lowered: RefCell<HashMap<&'t str, Option<Typed>>>,
    open: RefCell<Vec<&'t str>>,
}

impl<'t> Variables<'t> {
    /// The variables a policy defines.
    pub(super) fn of(policy: &'t Policy) -> Variables<'t> {
        let definitions = policy.variables.iter().map(|variable| (variable.id.as_str(), variable)).collect();
        Variables { definitions, lowered: RefCell::default(), open: RefCell::default() }
    }

    /// Where no variable is defined: a policy set.
    pub(super) fn none() -> Variables<'t> {
        Variables { definitions: HashMap::new(), lowered: RefCell::default(), open: RefCell::default() }
    }
}

impl<'t> Lowering<'t, '_> {
    /// Lowers every variable, used or not: a broken one is an error of the policy.
    pub(super) fn all_variables(&mut self, policy: &'t Policy, scope: &Variables<'t>) {
        for variable in &policy.variables {
            self.definition(variable, scope);
        }
    }

    /// A condition is one boolean.
    pub(super) fn condition(&mut self, condition: &'t Condition, scope: &Variables<'t>) -> Option<ExprId> {
        let typed = self.expression(&condition.expression, scope)?;
        self.size = self.size.saturating_add(typed.size);
        if typed.of == Type::One(DataType::Boolean) {
            return Some(typed.expr);
        }
        let message = format!("a condition must be a boolean, and this is {}", describe(typed.of));
        self.error(condition.place, message, None);
        None
    }

    /// An expression of any type.
    pub(super) fn any_expression(
        &mut self,
        expression: &'t Expression,
        scope: &Variables<'t>,
    ) -> Option<ExprId> {
        let typed = self.expression(expression, scope)?;
        self.size = self.size.saturating_add(typed.size);
        Some(typed.expr)
    }

    /// XACML 3.0, 5.9: the function takes the literal and one value of the bag, and is a predicate.
    pub(super) fn matching(&mut self, matching: &'t Match) -> Option<ExprId> {
        let function = self.function(&matching.function, matching.place);
        let literal = match function.is_some_and(takes_paths) && is_text(&matching.value) {
            true => self.path(&matching.value).map(|path| (path, DataType::Text)),
            false => self.literal(&matching.value).map(|value| (value.clone(), value.data_type())),
        };
        let bag = match &matching.attribute {
            MatchAttribute::Designator(designator) => self.designator(designator),
            MatchAttribute::Selector(selector) => self.selector(selector),
        };
        let ((literal, literal_type), bag, function) = (literal?, bag?, function?);
        if function.takes_pattern() {
            self.pattern(&literal, matching.value.place)?;
        }
        let element = match bag.of {
            Type::Bag(element) | Type::One(element) => element,
        };
        let arguments =
            [Argument::Expression(Type::One(literal_type)), Argument::Expression(Type::One(element))];
        match function.check(&arguments) {
            Ok(Type::One(DataType::Boolean)) => Some(self.builder.match_any(function, literal, bag.expr)),
            Ok(other) => {
                let message = format!(
                    "a match needs a boolean function, and `{}` gives {}",
                    function.id,
                    describe(other)
                );
                self.error(matching.place, message, None);
                None
            }
            Err(error) => {
                self.error(matching.place, error.to_string(), None);
                None
            }
        }
    }

    fn expression(&mut self, expression: &'t Expression, scope: &Variables<'t>) -> Option<Typed> {
        match expression {
            Expression::Apply(apply) => self.apply(apply, scope),
            Expression::Value(value) => {
                let value = self.literal(value)?;
                let of = Type::One(value.data_type());
                Some(Typed::leaf(self.builder.expr(Expr::Constant(Operand::one(value))), of))
            }
            Expression::Designator(designator) => self.designator(designator),
            Expression::Selector(selector) => self.selector(selector),
            Expression::Variable(reference) => self.variable(reference, scope),
            Expression::Function(function) => {
                let message = format!(
                    "the function `{}` can only be an argument of a higher-order function",
                    function.id
                );
                self.error(function.place, message, Some("to call it, write an `Apply`".into()));
                None
            }
        }
    }

    fn variable(&mut self, reference: &'t VariableReference, scope: &Variables<'t>) -> Option<Typed> {
        let Some(definition) = scope.definitions.get(reference.id.as_str()) else {
            let mut known: Vec<&str> = scope.definitions.keys().copied().collect();
            known.sort_unstable();
            let help = match known.as_slice() {
                [] => "this policy defines no variables".into(),
                known => format!("this policy defines: {}", known.join(", ")),
            };
            self.error(
                reference.place,
                format!("the variable `{}` is not defined", reference.id),
                Some(help),
            );
            return None;
        };
        if scope.open.borrow().contains(&definition.id.as_str()) {
            let message = format!("the variable `{}` is defined by itself", reference.id);
            self.error(reference.place, message, None);
            return None;
        }
        self.definition(definition, scope)
    }

    fn definition(&mut self, definition: &'t VariableDefinition, scope: &Variables<'t>) -> Option<Typed> {
        let id = definition.id.as_str();
        if let Some(known) = scope.lowered.borrow().get(id) {
            return *known;
        }
        if self.open_calls == EXPRESSION_DEPTH_MAX {
            self.too_deep(definition.place);
            return None;
        }
        self.open_calls += 1;
        scope.open.borrow_mut().push(id);
        let typed = self.expression(&definition.expression, scope);
        scope.open.borrow_mut().pop();
        self.open_calls -= 1;
        scope.lowered.borrow_mut().insert(id, typed);
        typed
    }

    /// A call. What it calls in turn is lowered by recursion: through variables not lowered yet this could go deeper
    /// than any document nests.
    fn apply(&mut self, apply: &'t Apply, scope: &Variables<'t>) -> Option<Typed> {
        if self.open_calls == EXPRESSION_DEPTH_MAX {
            self.too_deep(apply.place);
            return None;
        }
        self.open_calls += 1;
        let typed = self.call_of(apply, scope);
        self.open_calls -= 1;
        typed
    }

    fn call_of(&mut self, apply: &'t Apply, scope: &Variables<'t>) -> Option<Typed> {
        let function = self.function(&apply.function, apply.place);
        let mut arguments = Vec::with_capacity(apply.arguments.len());
        let mut exprs = Vec::with_capacity(apply.arguments.len());
        let mut inner = None;
        let mut complete = true;
        let (mut size, mut depth) = (1u64, 0);
        for argument in &apply.arguments {
            match argument {
                Expression::Function(named) => match self.function(&named.id, named.place) {
                    Some(named) => {
                        arguments.push(Argument::Function(named));
                        inner = Some(named);
                    }
                    None => complete = false,
                },
                Expression::Apply(_)
                | Expression::Value(_)
                | Expression::Designator(_)
                | Expression::Selector(_)
                | Expression::Variable(_) => match self.argument(inner.or(function), argument, scope) {
                    Some(typed) => {
                        arguments.push(Argument::Expression(typed.of));
                        exprs.push(typed.expr);
                        size = size.saturating_add(typed.size);
                        depth = depth.max(typed.depth);
                    }
                    None => complete = false,
                },
            }
        }
        let function = function.filter(|_| complete)?;
        let of = match function.check(&arguments) {
            Ok(of) => of,
            Err(error) => {
                self.error(apply.place, error.to_string(), None);
                return None;
            }
        };
        if depth == EXPRESSION_DEPTH_MAX {
            self.too_deep(apply.place);
            return None;
        }
        let first = exprs.first().and_then(|first| self.constant(*first)).cloned();
        if let Some(literal) = first
            && inner.unwrap_or(function).takes_pattern()
        {
            self.pattern(&literal, apply.place)?;
        }
        let expr = match self.any_of_literal(function, inner, &exprs) {
            Some(expr) => expr,
            None => {
                let call = self.call(function, inner, exprs);
                self.builder.expr(call)
            }
        };
        Some(Typed { expr, of, size, depth: depth + 1 })
    }

    /// `any-of` of a function, a literal and a bag asks what a `Match` asks (A.3.12 and 7.6), which indexes know how to
    /// work with.
    fn any_of_literal(
        &mut self,
        function: &'static Function,
        inner: Option<&'static Function>,
        args: &[ExprId],
    ) -> Option<ExprId> {
        let (Body::HigherOrder(HigherOrder::AnyOf), [literal, bag]) = (&function.body, args) else {
            return None;
        };
        let inner = inner.filter(|inner| matches!(inner.body, Body::Strict(..)))?;
        let literal = self.constant(*literal)?.clone();
        Some(self.builder.match_any(inner, literal, *bag))
    }

    fn too_deep(&mut self, place: XmlLocation) {
        let message = format!("expressions nest more than {EXPRESSION_DEPTH_MAX} deep, variables followed");
        self.error(place, message, Some("combine more arguments in one `Apply`".into()));
    }

    /// An argument of a function, or of the function that a higher-order one applies. A text literal given to an XPath
    /// function of XACML 1 and 2 is a path over the whole request: it keeps its type for the check but becomes an XPath
    /// expression with the namespaces in scope. So do the literals of a bag.
    fn argument(
        &mut self,
        function: Option<&'static Function>,
        argument: &'t Expression,
        scope: &Variables<'t>,
    ) -> Option<Typed> {
        if !function.is_some_and(takes_paths) {
            return self.expression(argument, scope);
        }
        let (paths, of) = match argument {
            Expression::Value(value) if is_text(value) => {
                (Operand::one(self.path(value)?), Type::One(DataType::Text))
            }
            Expression::Apply(bag) => match texts_of_bag(bag) {
                Some(values) => {
                    let paths = values.into_iter().map(|value| self.path(value));
                    (Operand::bag(paths.collect::<Option<Vec<Value>>>()?), Type::Bag(DataType::Text))
                }
                None => return self.expression(argument, scope),
            },
            Expression::Value(_)
            | Expression::Designator(_)
            | Expression::Selector(_)
            | Expression::Variable(_)
            | Expression::Function(_) => return self.expression(argument, scope),
        };
        Some(Typed::leaf(self.builder.expr(Expr::Constant(paths)), of))
    }

    /// A text literal as a path over the whole request.
    fn path(&mut self, value: &'t AttributeValue) -> Option<Value> {
        let path = self.xpath(&value.text, "", &value.scope, value.place)?;
        Some(Value::XPathExpression(Arc::new(path)))
    }

    fn call(
        &mut self,
        function: &'static Function,
        inner: Option<&'static Function>,
        args: Vec<ExprId>,
    ) -> Expr {
        match function.body {
            Body::Strict(_, run) => self
                .fold(run, &args)
                .or_else(|| self.fixed_pattern(function, &args))
                .unwrap_or_else(|| Expr::Call(function, args.into())),
            Body::Lazy(lazy) => Expr::Lazy(lazy, args.into()),
            Body::Contextual(_) => Expr::Contextual(function, args.into()),
            Body::HigherOrder(kind) => match inner {
                Some(inner) => Expr::HigherOrder(kind, inner, args.into()),
                // The type check has refused a call without a function.
                None => Expr::Call(function, args.into()),
            },
        }
    }

    fn constant(&self, expr: ExprId) -> Option<&Value> {
        match self.builder.get(expr) {
            Some(Expr::Constant(Operand::One(value))) => Some(value),
            _ => None,
        }
    }

    /// A function of constants is a constant, unless computing it fails: then it fails when asked, as it would
    /// have without folding.
    fn fold(
        &self,
        run: fn(&[Operand<'_>]) -> durward_ir::fault::Evaluated<Operand<'static>>,
        args: &[ExprId],
    ) -> Option<Expr> {
        let constants: Option<Vec<Operand<'static>>> = args
            .iter()
            .map(|arg| match self.builder.get(*arg) {
                Some(Expr::Constant(constant)) => Some(constant.clone()),
                _ => None,
            })
            .collect();
        run(&constants?).ok().map(Expr::Constant)
    }

    /// A regular expression that is a literal is compiled once.
    fn fixed_pattern(&mut self, function: &'static Function, args: &[ExprId]) -> Option<Expr> {
        let [pattern, text] = args else { return None };
        if !function.takes_pattern() {
            return None;
        }
        let pattern = self.constant(*pattern)?.lexical().into_owned();
        Some(Expr::Matches(self.builder.pattern(&pattern).ok()?, *text))
    }

    /// Refuses a regular expression that stands in the policy and is none: nobody's request can make it one.
    fn pattern(&mut self, literal: &Value, place: XmlLocation) -> Option<Arc<Pattern>> {
        match self.builder.pattern(&literal.lexical()) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                self.error(place, error.to_string(), None);
                None
            }
        }
    }

    fn designator(&mut self, designator: &'t AttributeDesignator) -> Option<Typed> {
        let data_type = self.data_type(&designator.data_type, designator.place)?;
        let name = AttributeName {
            category: shared(&designator.category),
            id: shared(&designator.id),
            data_type,
            issuer: designator.issuer.clone(),
        };
        let expr = self.builder.attribute(&name, designator.must_be_present);
        Some(Typed::leaf(expr, Type::Bag(data_type)))
    }

    fn selector(&mut self, selector: &'t AttributeSelector) -> Option<Typed> {
        let data_type = self.data_type(&selector.data_type, selector.place);
        let (category, context, over_request) = match &selector.over {
            SelectorBase::Content { category, context_selector } => {
                (category.as_str(), context_selector.clone(), false)
            }
            SelectorBase::RequestContext => ("", None, true),
        };
        let path = self.xpath(&selector.path, category, &selector.scope, selector.place);
        let (data_type, path) = (data_type?, path?);
        let selector =
            Selector { path, context, data_type, must_be_present: selector.must_be_present, over_request };
        let expr = self.builder.expr(Expr::Selector(Arc::new(selector)));
        Some(Typed::leaf(expr, Type::Bag(data_type)))
    }

    fn literal(&mut self, literal: &'t AttributeValue) -> Option<Value> {
        let data_type = self.data_type(&literal.data_type, literal.place)?;
        if data_type == DataType::XPathExpression {
            let Some(category) = literal.xml_attribute("XPathCategory") else {
                let message = "an `xpathExpression` needs the attribute `XPathCategory`".into();
                self.error(
                    literal.place,
                    message,
                    Some("it names the category whose content the path is over".into()),
                );
                return None;
            };
            let path = self.xpath(&literal.text, category, &literal.scope, literal.place)?;
            return Some(Value::XPathExpression(Arc::new(path)));
        }
        if literal.markup.is_some() {
            let message = format!("a value of type `{}` holds no elements", data_type.short_name());
            self.error(literal.place, message, None);
            return None;
        }
        match Value::parse(data_type, &literal.text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.error(literal.place, error.to_string(), None);
                None
            }
        }
    }

    fn xpath(
        &mut self,
        path: &str,
        category: &str,
        scope: &NamespaceScope,
        place: XmlLocation,
    ) -> Option<XPathExpression> {
        let mut namespaces: Vec<(SmolStr, SmolStr)> = Vec::new();
        for (prefix, uri) in scope.bindings() {
            if !prefix.is_empty() && namespaces.iter().all(|(known, _)| known != prefix) {
                namespaces.push((SmolStr::new(prefix), SmolStr::new(uri)));
            }
        }
        let path = SmolStr::new(path.trim());
        if let Err(error) = XPath::compile(&path, &namespaces) {
            self.error(place, format!("the path `{path}` cannot be read: {error}"), None);
            return None;
        }
        Some(XPathExpression { path, category: SmolStr::new(category), namespaces: namespaces.into() })
    }

    fn data_type(&mut self, uri: &str, place: XmlLocation) -> Option<DataType> {
        let found = DataType::from_uri(uri);
        if found.is_none() {
            let help = match DataType::from_short_name(uri.rsplit(['#', ':']).next().unwrap_or_default()) {
                Some(near) => Some(format!("did you mean `{}`?", near.uri())),
                None => Some("the known data types are listed in docs/xacml.md".into()),
            };
            self.error(place, format!("unknown data type `{uri}`"), help);
        }
        found
    }

    fn function(&mut self, id: &str, place: XmlLocation) -> Option<&'static Function> {
        let found = function::find(id);
        if found.is_none() {
            let name = id.rsplit(':').next().unwrap_or_default();
            let same_name = function::all().find(|known| known.id.rsplit(':').next() == Some(name));
            let help = match same_name {
                Some(near) => format!("did you mean `{}`?", near.id),
                None => "the known functions are listed in docs/functions.md".into(),
            };
            self.error(place, format!("unknown function `{id}`"), Some(help));
        }
        found
    }
}

/// Whether it takes paths: as texts in XACML 1 and 2.
fn takes_paths(function: &'static Function) -> bool {
    use function::Contextual::{AccessPermitted, XPathNodeCount, XPathNodeEqual, XPathNodeMatch};
    match function.body {
        Body::Contextual(XPathNodeCount | XPathNodeEqual | XPathNodeMatch) => true,
        Body::Contextual(AccessPermitted) | Body::Strict(..) | Body::Lazy(_) | Body::HigherOrder(_) => false,
    }
}

fn is_text(value: &AttributeValue) -> bool {
    value.markup.is_none() && DataType::from_uri(&value.data_type) == Some(DataType::Text)
}

/// The literals of a bag of text literals.
fn texts_of_bag<'t>(apply: &'t Apply) -> Option<Vec<&'t AttributeValue>> {
    if apply.function != "urn:oasis:names:tc:xacml:1.0:function:string-bag" {
        return None;
    }
    let text = |argument: &'t Expression| match argument {
        Expression::Value(value) if is_text(value) => Some(value),
        Expression::Value(_)
        | Expression::Apply(_)
        | Expression::Designator(_)
        | Expression::Selector(_)
        | Expression::Variable(_)
        | Expression::Function(_) => None,
    };
    apply.arguments.iter().map(text).collect()
}

fn describe(of: Type) -> String {
    match of {
        Type::One(data_type) => format!("one `{}`", data_type.short_name()),
        Type::Bag(data_type) => format!("a bag of `{}`", data_type.short_name()),
    }
}
