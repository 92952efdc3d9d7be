//! Enforced schemas: a document applies only to subscriptions that comply.

use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::path::{Element, Path};
use durward_ir::program::{ExprId, Library, Structured};
use durward_ir::structure::kind_of;

use super::{Condition, Lowering};
use crate::syntax::tree::{self, SchemaStatement};

/// The variable of the configuration that holds the schemas others refer to.
const VARIABLE: &str = "schemas";

/// Whether a part of the subscription complies with a schema.
static COMPLIES: LibraryFunction = LibraryFunction {
    name: "schema",
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

/// The conditions that enforced schemas come to: any schema of the same part, all parts. Other schemas are hints for
/// editors.
pub(super) fn conditions<'t>(
    lowering: &mut Lowering<'t, '_, '_>,
    statements: &'t [SchemaStatement],
) -> Vec<Condition> {
    let mut conditions = Vec::new();
    let elements =
        [tree::Element::Subject, tree::Element::Action, tree::Element::Resource, tree::Element::Environment];
    for element in elements {
        let enforced =
            || statements.iter().filter(|statement| statement.enforced && statement.element == element);
        let alternatives: Vec<ExprId> = enforced().map(|statement| condition(lowering, statement)).collect();
        if let Some(first) = enforced().next() {
            let id = lowering.builder.junction(alternatives, true);
            conditions.push(Condition { id, span: first.span });
        }
    }
    conditions
}

fn condition<'t>(lowering: &mut Lowering<'t, '_, '_>, statement: &'t SchemaStatement) -> ExprId {
    let schema = lowering.expression(&statement.schema);
    check(lowering, statement, schema);
    let element = match statement.element {
        tree::Element::Subject => Element::Subject,
        tree::Element::Action => Element::Action,
        tree::Element::Resource => Element::Resource,
        tree::Element::Environment => Element::Environment,
    };
    let element = lowering.builder.part(&Path::new(element, []));
    let others = lowering.configuration.variable(VARIABLE).filter(|others| others.as_array().is_some());
    let others = others.cloned().unwrap_or_else(|| Value::array([]));
    let others = lowering.builder.constant(others);
    let arguments = [element, schema, others].into();
    lowering.builder.structured(Structured::Call(Library(&COMPLIES), arguments))
}

fn check(lowering: &mut Lowering<'_, '_, '_>, statement: &SchemaStatement, schema: ExprId) {
    let facts = lowering.builder.facts(schema);
    let problem = if let Some(fault) = lowering.builder.fault_of(schema) {
        format!("the schema always fails: {}", fault.message)
    } else if facts.depends || facts.is_relative {
        "a schema cannot depend on the subscription".to_owned()
    } else {
        match lowering.builder.value_of(schema) {
            Some(Value::Object(_)) | None => return,
            Some(other) => format!("a schema must be an object, not {}", kind_of(other)),
        }
    };
    lowering.refuse(statement.schema.span, problem, Some("write the schema as an object"));
}
