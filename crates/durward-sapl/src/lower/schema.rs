//! Enforced schemas: a document applies only to subscriptions that comply.

use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::path::{Element, Path};
use durward_ir::program::{ExprId, Library, Structured, WrittenCondition};
use durward_ir::structure::kind_of;
use durward_library::jsonschema::Schema;

use super::{Condition, Lowering};
use crate::syntax::Span;
use crate::syntax::tree::{self, SchemaStatement};

/// The variable of the configuration that holds the schemas others refer to.
const VARIABLE: &str = "schemas";

/// Whether a part of the subscription complies with a schema.
static COMPLIES: LibraryFunction = LibraryFunction {
    name: "enforced schema",
    parameters: &[Parameter::Any, Parameter::Object, Parameter::Any],
    rest: None,
    run: complies,
    doc: "Whether a value complies with a schema; an undefined one is an error.",
};

fn complies(arguments: &[Value]) -> Evaluated<Value> {
    if arguments.first().is_some_and(Value::is_undefined) {
        return Err(Fault::processing("an undefined value cannot be held to a schema"));
    }
    match durward_library::find("jsonschema.isCompliantWithExternalSchemas", 3) {
        Some(function) => function.call(arguments),
        None => Err(Fault::processing("schemas cannot be checked")),
    }
}

/// Whether the first of these, of which each is a value with its schemas, fails to comply; and so on. Its arguments are the
/// schemas others refer to, then pairs of a value and an array of schemas.
static ALL_COMPLY: LibraryFunction = LibraryFunction {
    name: "enforced schemas",
    parameters: &[Parameter::Any],
    rest: Some(Parameter::Any),
    run: all_comply,
    doc: "Whether each value complies with any of its schemas; the first that does not, or is an error, decides.",
};

fn all_comply(arguments: &[Value]) -> Evaluated<Value> {
    let Some((others, pairs)) = arguments.split_first() else { return Ok(Value::Boolean(true)) };
    for pair in pairs.chunks(2) {
        let [value, schemas] = pair else { continue };
        if !any_complies(value, schemas.as_array().map_or(&[][..], |schemas| schemas), others)? {
            return Ok(Value::Boolean(false));
        }
    }
    Ok(Value::Boolean(true))
}

fn any_complies(value: &Value, schemas: &[Value], others: &Value) -> Evaluated<bool> {
    let mut fault = None;
    for schema in schemas {
        match complies(&[value.clone(), schema.clone(), others.clone()]) {
            Ok(Value::Boolean(true)) => return Ok(true),
            Ok(_) => {}
            Err(found) => fault = fault.or(Some(found)),
        }
    }
    fault.map_or(Ok(false), Err)
}

/// The parts of a subscription in the order in which the engine holds them to their schemas: it goes through a hash map, in
/// which the environment comes first. Where there is none, that is an error, whatever is wrong with the others.
const ELEMENTS: [tree::Element; 4] =
    [tree::Element::Environment, tree::Element::Subject, tree::Element::Action, tree::Element::Resource];

/// The condition that enforced schemas come to: any schema of the same part, all parts. Other schemas are hints for editors.
pub(super) fn conditions<'t>(
    lowering: &mut Lowering<'t, '_, '_>,
    statements: &'t [SchemaStatement],
) -> Vec<Condition> {
    let enforced =
        |element| move |statement: &&'t SchemaStatement| statement.enforced && statement.element == element;
    let mut parts = Vec::new();
    for element in ELEMENTS {
        let of_element: Vec<&SchemaStatement> = statements.iter().filter(enforced(element)).collect();
        if let Some(first) = of_element.first() {
            let schemas: Vec<ExprId> =
                of_element.iter().map(|statement| schema(lowering, statement)).collect();
            parts.push((element, schemas, first.span));
        }
    }
    let Some((_, _, span)) = parts.first() else { return Vec::new() };
    let span = *span;
    let id = match parts.as_slice() {
        [(element, schemas, _)] => {
            let alternatives = schemas.iter().map(|schema| condition(lowering, *element, *schema)).collect();
            lowering.builder.junction(alternatives, true)
        }
        several => {
            let mut arguments = vec![others(lowering)];
            for (element, schemas, _) in several {
                arguments.push(part(lowering, *element));
                let schemas = Structured::Array(schemas.as_slice().into());
                arguments.push(lowering.builder.structured(schemas));
            }
            lowering.builder.structured(Structured::Call(Library(&ALL_COMPLY), arguments.into()))
        }
    };
    let schemas = if lowering.builder.keeps_written() { written(lowering, &parts) } else { Vec::new() };
    vec![Condition { id, span, schemas }]
}

/// The schemas of each part by themselves, in the order in which they are checked: a schema is long, and its place says what it is.
fn written(
    lowering: &mut Lowering<'_, '_, '_>,
    parts: &[(tree::Element, Vec<ExprId>, Span)],
) -> Vec<WrittenCondition> {
    let mut written = Vec::new();
    for (element, schemas, span) in parts {
        let alternatives = schemas.iter().map(|schema| condition(lowering, *element, *schema)).collect();
        let expr = lowering.builder.junction(alternatives, true);
        let name = element_of(*element).as_str();
        let text = match schemas.len() {
            1 => format!("{name} enforced schema"),
            count => format!("{name} enforced schema, any of {count}"),
        };
        written.push(WrittenCondition {
            expr,
            text: text.into(),
            place: lowering.place(*span),
            is_schema: true,
        });
    }
    written
}

fn schema<'t>(lowering: &mut Lowering<'t, '_, '_>, statement: &'t SchemaStatement) -> ExprId {
    let schema = lowering.expression(&statement.schema);
    check(lowering, statement, schema);
    schema
}

fn condition(lowering: &mut Lowering<'_, '_, '_>, element: tree::Element, schema: ExprId) -> ExprId {
    let arguments = [part(lowering, element), schema, others(lowering)].into();
    lowering.builder.structured(Structured::Call(Library(&COMPLIES), arguments))
}

fn part(lowering: &mut Lowering<'_, '_, '_>, element: tree::Element) -> ExprId {
    lowering.builder.part(&Path::new(element_of(element), []))
}

fn element_of(element: tree::Element) -> Element {
    match element {
        tree::Element::Subject => Element::Subject,
        tree::Element::Action => Element::Action,
        tree::Element::Resource => Element::Resource,
        tree::Element::Environment => Element::Environment,
    }
}

/// The schemas that others refer to.
fn others(lowering: &mut Lowering<'_, '_, '_>) -> ExprId {
    let others = external(lowering);
    lowering.builder.constant(others)
}

fn external(lowering: &Lowering<'_, '_, '_>) -> Value {
    let others = lowering.configuration.variable(VARIABLE).filter(|others| others.as_array().is_some());
    others.cloned().unwrap_or_else(|| Value::array([]))
}

fn check(lowering: &mut Lowering<'_, '_, '_>, statement: &SchemaStatement, schema: ExprId) {
    let facts = lowering.builder.facts(schema);
    let problem = if let Some(fault) = lowering.builder.fault_of(schema) {
        format!("the schema always fails: {}", fault.message)
    } else if facts.depends || facts.is_relative {
        "a schema cannot depend on the subscription".to_owned()
    } else {
        match lowering.builder.value_of(schema) {
            Some(schema @ Value::Object(_)) => match Schema::compile(schema, &external(lowering)) {
                Ok(_) => return,
                Err(fault) => format!("the schema makes no sense: {}", fault.message),
            },
            None => return,
            Some(other) => format!("a schema must be an object, not {}", kind_of(other)),
        }
    };
    lowering.refuse(statement.schema.span, problem, Some("write the schema as an object"));
}
