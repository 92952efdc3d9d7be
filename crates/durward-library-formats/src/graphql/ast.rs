//! GraphQL documents as trees. Names point into the text they were read from.

use std::fmt;

/// A document, by kinds of definitions; within a kind in the order of the text.
#[derive(Debug, Default)]
pub(super) struct GraphqlDocument<'t> {
    pub(super) operations: Vec<GraphqlOperation<'t>>,
    pub(super) fragments: Vec<Fragment<'t>>,
    /// Definitions of schemas.
    pub(super) system: Vec<SystemDefinition<'t>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Query,
    Mutation,
    Subscription,
}

impl OperationKind {
    pub(super) const ALL: [OperationKind; 3] =
        [OperationKind::Query, OperationKind::Mutation, OperationKind::Subscription];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            OperationKind::Query => "query",
            OperationKind::Mutation => "mutation",
            OperationKind::Subscription => "subscription",
        }
    }
}

#[derive(Debug)]
pub(super) struct GraphqlOperation<'t> {
    pub(super) kind: OperationKind,
    pub(super) name: Option<&'t str>,
    pub(super) variables: Vec<GraphqlVariable<'t>>,
    pub(super) directives: Vec<Directive<'t>>,
    pub(super) selections: Vec<Selection<'t>>,
}

#[derive(Debug)]
pub(super) struct GraphqlVariable<'t> {
    pub(super) name: &'t str,
    pub(super) of: TypeRef<'t>,
    pub(super) default: Option<GraphqlLiteral<'t>>,
    pub(super) directives: Vec<Directive<'t>>,
}

#[derive(Debug)]
pub(super) struct Fragment<'t> {
    pub(super) name: &'t str,
    pub(super) condition: &'t str,
    pub(super) directives: Vec<Directive<'t>>,
    pub(super) selections: Vec<Selection<'t>>,
}

#[derive(Debug)]
pub(super) enum Selection<'t> {
    Field(GraphqlField<'t>),
    Spread { name: &'t str, directives: Vec<Directive<'t>> },
    Inline { condition: Option<&'t str>, directives: Vec<Directive<'t>>, selections: Vec<Selection<'t>> },
}

#[derive(Debug)]
pub(super) struct GraphqlField<'t> {
    /// Its number among the fields of the document.
    pub(super) id: u32,
    pub(super) alias: Option<&'t str>,
    pub(super) name: &'t str,
    pub(super) arguments: Vec<GraphqlArgument<'t>>,
    pub(super) directives: Vec<Directive<'t>>,
    /// Empty when there are no braces: between braces there is always something.
    pub(super) selections: Vec<Selection<'t>>,
}

impl<'t> GraphqlField<'t> {
    /// The key under which the answer has the field.
    pub(super) fn key(&self) -> &'t str {
        self.alias.unwrap_or(self.name)
    }
}

#[derive(Debug)]
pub(super) struct GraphqlArgument<'t> {
    pub(super) name: &'t str,
    pub(super) value: GraphqlLiteral<'t>,
}

#[derive(Debug)]
pub(super) struct Directive<'t> {
    pub(super) name: &'t str,
    pub(super) arguments: Vec<GraphqlArgument<'t>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GraphqlLiteral<'t> {
    Variable(&'t str),
    Int(&'t str),
    Float(&'t str),
    Text(String),
    Boolean(bool),
    Null,
    Enum(&'t str),
    List(Vec<GraphqlLiteral<'t>>),
    Object(Vec<(&'t str, GraphqlLiteral<'t>)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeRef<'t> {
    Named(&'t str),
    List(Box<TypeRef<'t>>),
    NonNull(Box<TypeRef<'t>>),
}

impl<'t> TypeRef<'t> {
    /// The name inside all brackets.
    pub(super) fn name(&self) -> &'t str {
        match self {
            TypeRef::Named(name) => name,
            TypeRef::List(inner) | TypeRef::NonNull(inner) => inner.name(),
        }
    }

    pub(super) const fn is_required(&self) -> bool {
        matches!(self, TypeRef::NonNull(_))
    }
}

impl fmt::Display for TypeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeRef::Named(name) => f.write_str(name),
            TypeRef::List(inner) => write!(f, "[{inner}]"),
            TypeRef::NonNull(inner) => write!(f, "{inner}!"),
        }
    }
}

/// A definition of a schema, or with `extend` in front more of one.
#[derive(Debug)]
pub(super) struct SystemDefinition<'t> {
    pub(super) is_extension: bool,
    /// Empty for a schema, which has none.
    pub(super) name: &'t str,
    pub(super) directives: Vec<Directive<'t>>,
    pub(super) kind: SystemKind<'t>,
}

#[derive(Debug)]
pub(super) enum SystemKind<'t> {
    Schema(Vec<(OperationKind, &'t str)>),
    Scalar,
    Object { interfaces: Vec<&'t str>, fields: Vec<FieldDefinition<'t>> },
    Interface { interfaces: Vec<&'t str>, fields: Vec<FieldDefinition<'t>> },
    Union,
    Enum(Vec<EnumValue<'t>>),
    Input(Vec<InputValue<'t>>),
    Directive { arguments: Vec<InputValue<'t>>, is_repeatable: bool, locations: Vec<&'t str> },
}

impl SystemKind<'_> {
    /// The name of the class that graphql-java has for it.
    pub(super) const fn class_name(&self) -> &'static str {
        match self {
            SystemKind::Schema(_) => "SchemaDefinition",
            SystemKind::Scalar => "ScalarTypeDefinition",
            SystemKind::Object { .. } => "ObjectTypeDefinition",
            SystemKind::Interface { .. } => "InterfaceTypeDefinition",
            SystemKind::Union => "UnionTypeDefinition",
            SystemKind::Enum(_) => "EnumTypeDefinition",
            SystemKind::Input(_) => "InputObjectTypeDefinition",
            SystemKind::Directive { .. } => "DirectiveDefinition",
        }
    }
}

#[derive(Debug)]
pub(super) struct FieldDefinition<'t> {
    pub(super) name: &'t str,
    pub(super) arguments: Vec<InputValue<'t>>,
    pub(super) of: TypeRef<'t>,
    pub(super) directives: Vec<Directive<'t>>,
}

#[derive(Debug)]
pub(super) struct InputValue<'t> {
    pub(super) name: &'t str,
    pub(super) of: TypeRef<'t>,
    pub(super) default: Option<GraphqlLiteral<'t>>,
    pub(super) directives: Vec<Directive<'t>>,
}

impl InputValue<'_> {
    /// Whether whoever gives values must give one for this.
    pub(super) const fn is_needed(&self) -> bool {
        self.of.is_required() && self.default.is_none()
    }
}

#[derive(Debug)]
pub(super) struct EnumValue<'t> {
    pub(super) name: &'t str,
    pub(super) directives: Vec<Directive<'t>>,
}
