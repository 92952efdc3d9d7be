//! A tree in one line, for tests: operators in front, everything in parentheses.

use durward_sapl::syntax::tree::{
    AttributeCall, Expr, ExprKind, Filter, FilterCall, FunctionName, Step, StepKind,
};

pub(crate) fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Null => "null".into(),
        ExprKind::Undefined => "undefined".into(),
        ExprKind::Boolean(value) => value.to_string(),
        ExprKind::Number(text) => text.to_string(),
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Array(items) => format!("[{}]", all(items)),
        ExprKind::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|entry| format!("{}:{}", entry.key, show(&entry.value))).collect();
            format!("{{{}}}", entries.join(" "))
        }
        ExprKind::Identifier(name) => name.to_string(),
        ExprKind::RelativeValue => "@".into(),
        ExprKind::RelativeLocation => "#".into(),
        ExprKind::Call(call) => format!("{}({})", name(&call.name), all(&call.arguments)),
        ExprKind::Attribute(call) => attribute(call),
        ExprKind::Steps { base, steps: all } => format!("(steps {}{})", show(base), steps(all)),
        ExprKind::Unary { operator, operand, .. } => format!("({operator:?} {})", show(operand)),
        ExprKind::Comparison(comparison) => {
            format!("({:?} {} {})", comparison.operator, show(&comparison.left), show(&comparison.right))
        }
        ExprKind::Chain(chain) => {
            let rest: String = chain
                .rest
                .iter()
                .map(|link| format!(" {:?} {}", link.operator, show(&link.operand)))
                .collect();
            format!("({}{rest})", show(&chain.first))
        }
        ExprKind::Filter { base, filter: by } => format!("(filter {} {})", show(base), filter(by)),
        ExprKind::Subtemplate { base, template } => format!("(each {} {})", show(base), show(template)),
        ExprKind::Error => "error".into(),
    }
}

fn all(items: &[Expr]) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(" ")
}

fn name(name: &FunctionName) -> String {
    name.segments.iter().map(|segment| segment.text.as_str()).collect::<Vec<_>>().join(".")
}

fn attribute(call: &AttributeCall) -> String {
    let options = call.options.as_ref().map(|options| format!("[{}]", show(options))).unwrap_or_default();
    format!("{}{}({}){options}>", if call.head { "|<" } else { "<" }, name(&call.name), all(&call.arguments))
}

fn filter(filter: &Filter) -> String {
    match filter {
        Filter::Simple(call) => filter_call(call),
        Filter::Extended(statements) => {
            let statements: Vec<String> = statements
                .iter()
                .map(|statement| format!("@{}:{}", steps(&statement.target), filter_call(&statement.call)))
                .collect();
            statements.join(" ")
        }
    }
}

fn filter_call(call: &FilterCall) -> String {
    format!("{}{}({})", if call.each { "each " } else { "" }, name(&call.name), all(&call.arguments))
}

fn steps(steps: &[Step]) -> String {
    steps.iter().map(|step| format!(" {}", self::step(&step.kind))).collect()
}

fn step(step: &StepKind) -> String {
    match step {
        StepKind::Key(key) => format!(".{key}"),
        StepKind::Wildcard => "*".into(),
        StepKind::Index(index) => index.to_string(),
        StepKind::Slice { from, to, step } => {
            [from, to, step].map(|one| one.map(|one| one.to_string()).unwrap_or_default()).join(":")
        }
        StepKind::Expression(expr) => format!("({})", show(expr)),
        StepKind::Condition(expr) => format!("?({})", show(expr)),
        StepKind::IndexUnion(indices) => format!("{indices:?}"),
        StepKind::KeyUnion(keys) => format!("{keys:?}"),
        StepKind::RecursiveKey(key) => format!("..{key}"),
        StepKind::RecursiveWildcard => "..*".into(),
        StepKind::RecursiveIndex(index) => format!("..{index}"),
        StepKind::Attribute(call) => attribute(call),
    }
}
