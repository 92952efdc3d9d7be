//! What a query asks for, in numbers and names.

use std::collections::HashMap;

use durward_functions::jvm::{double, hash_code, hash_table_order, number};
use durward_ir::datatype::Decimal;
use durward_ir::value::{ObjectBuilder, Value};
use num_bigint::BigInt;

use super::ast::{
    Directive, Fragment, GraphqlArgument, GraphqlDocument, GraphqlField, GraphqlLiteral, OperationKind,
    Selection,
};

/// The largest depth that an analysis reports; a deeper query has this depth.
const DEPTH_MAX: i64 = 100;
/// What a level adds to the complexity.
pub(super) const DEPTH_WEIGHT: i64 = 2;
/// What an alias adds to the batching score.
const ALIAS_WEIGHT: i64 = 5;
/// Arguments that ask for many results, in lower case.
const PAGINATION: [&str; 6] = ["first", "last", "limit", "offset", "skip", "take"];

/// Why a value of the query has none in SAPL.
#[derive(Debug)]
pub(super) struct NoSaplValue;

/// All that is counted.
#[derive(Default)]
pub(super) struct QueryMetrics<'t> {
    operation: Option<OperationKind>,
    operation_name: &'t str,
    fields: Vec<&'t str>,
    root_fields: i64,
    aliases: i64,
    depth: i64,
    pagination_max: i64,
    types: Vec<&'t str>,
    directives: Vec<Value>,
    variables: ObjectBuilder,
    arguments: ObjectBuilder,
    fragments: ObjectBuilder,
    has_circular_fragments: bool,
}

impl<'t> QueryMetrics<'t> {
    /// Of all operations and all fragments; kind, name and variables are those of the first operation.
    pub(super) fn of(document: &GraphqlDocument<'t>) -> Result<QueryMetrics<'t>, NoSaplValue> {
        let mut metrics = QueryMetrics::default();
        if let Some(operation) = document.operations.first() {
            metrics.operation = Some(operation.kind);
            metrics.operation_name = operation.name.unwrap_or_default();
            for variable in &operation.variables {
                if let Some(default) = &variable.default {
                    metrics.variables.insert(variable.name, value(default)?);
                }
            }
        }
        for operation in &document.operations {
            metrics.selections(&operation.selections, 0, true)?;
        }
        for fragment in &document.fragments {
            metrics.fragment(fragment);
        }
        metrics.has_circular_fragments = is_circular(&document.fragments);
        Ok(metrics)
    }

    fn selections(
        &mut self,
        selections: &[Selection<'t>],
        depth: i64,
        is_root: bool,
    ) -> Result<(), NoSaplValue> {
        if selections.is_empty() {
            return Ok(());
        }
        let depth = depth + 1;
        self.depth = self.depth.max(depth).min(DEPTH_MAX);
        for selection in selections {
            match selection {
                Selection::Field(field) => self.field(field, depth, is_root)?,
                Selection::Spread { directives, .. } => self.directives(directives)?,
                Selection::Inline { condition, directives, selections } => {
                    self.note_type(*condition);
                    self.directives(directives)?;
                    self.selections(selections, depth, false)?;
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &GraphqlField<'t>, depth: i64, is_root: bool) -> Result<(), NoSaplValue> {
        self.fields.push(field.name);
        self.root_fields += i64::from(is_root);
        self.aliases += i64::from(field.alias.is_some());
        if !field.arguments.is_empty() {
            for argument in &field.arguments {
                self.pagination(argument);
            }
            self.arguments.insert(field.name, object(&field.arguments)?);
        }
        self.directives(&field.directives)?;
        self.selections(&field.selections, depth, false)
    }

    fn pagination(&mut self, argument: &GraphqlArgument<'t>) {
        if let GraphqlLiteral::Int(digits) = argument.value
            && PAGINATION.contains(&argument.name.to_lowercase().as_str())
        {
            self.pagination_max = self.pagination_max.max(saturated(digits));
        }
    }

    fn directives(&mut self, directives: &[Directive<'t>]) -> Result<(), NoSaplValue> {
        for directive in directives {
            self.directives.push(Value::object([
                ("name", Value::Text(directive.name.into())),
                ("arguments", object(&directive.arguments)?),
            ]));
        }
        Ok(())
    }

    fn note_type(&mut self, name: Option<&'t str>) {
        if let Some(name) = name.filter(|name| !self.types.contains(name)) {
            self.types.push(name);
        }
    }

    fn fragment(&mut self, fragment: &Fragment<'t>) {
        let mut fields = Vec::new();
        field_names(&fragment.selections, &mut fields);
        let described =
            Value::object([("typeName", Value::Text(fragment.condition.into())), ("fields", texts(&fields))]);
        self.fragments.insert(fragment.name, described);
        self.note_type(Some(fragment.condition));
    }

    /// Adds everything to the result, in the order of the Java engine.
    pub(super) fn write(mut self, result: &mut ObjectBuilder) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let fields = count(self.fields.len());
        let operation = self.operation.map_or("query", OperationKind::as_str);
        result.insert("operation", Value::Text(operation.into()));
        result.insert("fields", texts(&self.fields));
        result.insert("fieldCount", Value::number(fields));
        result.insert("depth", Value::number(self.depth));
        result.insert("complexity", Value::number(fields + self.depth * DEPTH_WEIGHT));
        result.insert("security", self.security(fields));
        hash_table_order(&mut self.types, |name| hash_code(name));
        let fragment_count = count(self.fragments.len());
        let ast = [
            ("operationName", Value::Text(self.operation_name.into())),
            ("types", texts(&self.types)),
            ("variables", finished(self.variables)),
            ("arguments", finished(self.arguments)),
            ("fragments", finished(self.fragments)),
            ("fragmentCount", Value::number(fragment_count)),
            ("directives", Value::array(self.directives)),
        ];
        result.insert("ast", Value::object(ast));
    }

    #[expect(clippy::cast_precision_loss, reason = "there are at most some thousand directives and fields")]
    fn security(&self, fields: i64) -> Value {
        let directives = i64::try_from(self.directives.len()).unwrap_or(i64::MAX);
        let per_field = if fields > 0 { directives as f64 / fields as f64 } else { 0.0 };
        let is_introspection = self.fields.iter().any(|field| field.starts_with("__"));
        Value::object([
            ("aliasCount", Value::number(self.aliases)),
            ("rootFieldCount", Value::number(self.root_fields)),
            ("batchingScore", Value::number(self.aliases * ALIAS_WEIGHT + self.root_fields)),
            ("maxPaginationLimit", Value::number(self.pagination_max)),
            ("hasCircularFragments", Value::Boolean(self.has_circular_fragments)),
            ("isIntrospection", Value::Boolean(is_introspection)),
            ("directiveCount", Value::number(directives)),
            ("directivesPerField", double(per_field).unwrap_or(Value::Null)),
        ])
    }
}

/// What a result has in place of metrics when there is no query to speak of.
pub(super) fn write_nothing(result: &mut ObjectBuilder) {
    let zero = || Value::number(0);
    let nothing = || Value::object::<&str>([]);
    result.insert("operation", Value::Text("query".into()));
    result.insert("depth", zero());
    result.insert("fieldCount", zero());
    result.insert("complexity", zero());
    result.insert("fields", Value::array([]));
    result.insert("security", QueryMetrics::default().security(0));
    let ast = [
        ("operationName", Value::Text("".into())),
        ("types", Value::array([])),
        ("directives", Value::array([])),
        ("variables", nothing()),
        ("fragments", nothing()),
        ("fragmentCount", zero()),
        ("arguments", nothing()),
    ];
    result.insert("ast", Value::object(ast));
}

fn finished(builder: ObjectBuilder) -> Value {
    Value::Object(builder.finish().into())
}

fn texts(names: &[&str]) -> Value {
    Value::array(names.iter().map(|name| Value::Text((*name).into())))
}

fn object(arguments: &[GraphqlArgument<'_>]) -> Result<Value, NoSaplValue> {
    let mut builder = ObjectBuilder::with_capacity(arguments.len());
    for argument in arguments {
        builder.insert(argument.name, value(&argument.value)?);
    }
    Ok(finished(builder))
}

/// The nearest whole number of 64 bits.
fn saturated(digits: &str) -> i64 {
    let largest = if digits.starts_with('-') { i64::MIN } else { i64::MAX };
    digits.parse().unwrap_or(largest)
}

/// A value of a query as one of SAPL; a double too large for one has none.
fn value(literal: &GraphqlLiteral<'_>) -> Result<Value, NoSaplValue> {
    Ok(match literal {
        GraphqlLiteral::Variable(name) => Value::object([("$variable", Value::Text((*name).into()))]),
        GraphqlLiteral::Int(digits) => {
            number(Decimal::from(digits.parse::<BigInt>().map_err(|_| NoSaplValue)?))
        }
        GraphqlLiteral::Float(text) => {
            text.parse::<f64>().ok().and_then(|float| double(float).ok()).ok_or(NoSaplValue)?
        }
        GraphqlLiteral::Text(text) => Value::Text(text.as_str().into()),
        GraphqlLiteral::Boolean(boolean) => Value::Boolean(*boolean),
        GraphqlLiteral::Null => Value::Null,
        GraphqlLiteral::Enum(name) => Value::Text((*name).into()),
        GraphqlLiteral::List(values) => {
            Value::array(values.iter().map(value).collect::<Result<Vec<_>, _>>()?)
        }
        GraphqlLiteral::Object(fields) => {
            let mut builder = ObjectBuilder::with_capacity(fields.len());
            for (name, held) in fields {
                builder.insert(*name, value(held)?);
            }
            finished(builder)
        }
    })
}

/// The names of all fields, those of spread fragments left out.
fn field_names<'t>(selections: &[Selection<'t>], names: &mut Vec<&'t str>) {
    for selection in selections {
        match selection {
            Selection::Field(field) => {
                names.push(field.name);
                field_names(&field.selections, names);
            }
            Selection::Inline { selections, .. } => field_names(selections, names),
            Selection::Spread { .. } => {}
        }
    }
}

/// The names of all spread fragments.
pub(super) fn spreads<'t>(selections: &[Selection<'t>], names: &mut Vec<&'t str>) {
    for selection in selections {
        match selection {
            Selection::Spread { name, .. } => names.push(name),
            Selection::Field(GraphqlField { selections, .. }) | Selection::Inline { selections, .. } => {
                spreads(selections, names);
            }
        }
    }
}

/// Whether any fragment contains itself, however indirectly; of several of one name the last counts.
fn is_circular(fragments: &[Fragment<'_>]) -> bool {
    let by_name: HashMap<&str, &Fragment<'_>> =
        fragments.iter().map(|fragment| (fragment.name, fragment)).collect();
    let mut containers: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut open: HashMap<&str, usize> = HashMap::new();
    for (name, fragment) in &by_name {
        let mut contained = Vec::new();
        spreads(&fragment.selections, &mut contained);
        contained.retain(|name| by_name.contains_key(name));
        open.insert(name, contained.len());
        for inner in contained {
            containers.entry(inner).or_default().push(name);
        }
    }
    // A fragment all of whose spreads are settled is settled. What is on a circle, or leads to one, never is.
    let mut settled: Vec<&str> =
        open.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    let mut at = 0;
    while let Some(name) = settled.get(at).copied() {
        at += 1;
        for container in containers.get(name).into_iter().flatten() {
            let Some(count) = open.get_mut(container) else { continue };
            *count -= 1;
            if *count == 0 {
                settled.push(container);
            }
        }
    }
    settled.len() < by_name.len()
}
