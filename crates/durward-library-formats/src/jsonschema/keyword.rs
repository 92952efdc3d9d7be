//! What a compiled schema consists of: nodes, one for each subschema, that hold its keywords in the order of their
//! evaluation.

use durward_ir::datatype::Decimal;
use durward_ir::fault::Fault;
use durward_ir::value::Value;
use smol_str::SmolStr;

use super::format::FormatChecker;
use super::pattern::SchemaPattern;

/// The place of a [`Subschema`] in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SubschemaId(pub(super) u32);

/// A schema with an identifier of its own (JSON Schema Core, 4.3.5): within it references and anchors are relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResourceId(pub(super) u32);

/// One subschema.
#[derive(Clone, Debug)]
pub(super) struct Subschema {
    pub(super) resource: ResourceId,
    /// In the order in which they are evaluated and report.
    pub(super) keywords: Box<[Keyword]>,
    /// Whether `unevaluatedProperties` or `unevaluatedItems` is among them.
    pub(super) is_closing: bool,
}

/// What further properties or items may be.
#[derive(Clone, Debug)]
pub(super) enum RemainingItems {
    /// There may be none.
    Refused,
    /// They are held against this schema.
    Schema(SubschemaId),
}

/// One keyword with its value. Those that say nothing about a value (`title`, `format`, ...) are left out.
#[derive(Clone, Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    False,
    /// A reference that leads nowhere: an error for every value that is held against it.
    Unresolved(Box<Fault>),
    Type(Types),
    Enum(Box<[Value]>),
    Const(Value),
    AllOf(Box<[SubschemaId]>),
    AnyOf(Box<[SubschemaId]>),
    OneOf(Box<[SubschemaId]>),
    Not {
        node: SubschemaId,
        schema: Value,
    },
    If(Box<If>),
    Ref(SubschemaId),
    /// `$dynamicRef`, or `$recursiveRef` of 2019-09.
    DynamicRef {
        name: &'static str,
        /// Where the reference leads as written.
        initial: SubschemaId,
        /// The `$dynamicAnchor` that the outermost resource in scope may give another meaning.
        anchor: Option<SmolStr>,
    },
    /// `minContains` or `maxContains` with a value that makes no sense: reported for every value.
    ImpossibleContains {
        name: &'static str,
        problem: &'static str,
        schema: Value,
    },
    OfNumber(OfNumber),
    OfText(OfText),
    OfArray(OfArray),
    OfObject(OfObject),
}

/// Keywords that only say something about numbers.
#[derive(Clone, Debug)]
pub(super) enum OfNumber {
    Minimum(Decimal),
    Maximum(Decimal),
    ExclusiveMinimum(Decimal),
    ExclusiveMaximum(Decimal),
    /// `minimum` beside `exclusiveMinimum: true`, of Draft 4.
    MinimumExcluded(Decimal),
    /// `maximum` beside `exclusiveMaximum: true`.
    MaximumExcluded(Decimal),
    MultipleOf(Decimal),
}

/// Keywords that only say something about texts.
#[derive(Clone, Debug)]
pub(super) enum OfText {
    MinLength(i64),
    MaxLength(i64),
    Pattern(SchemaPattern),
    /// Up to Draft 7.
    Format(FormatChecker),
}

/// Keywords that only say something about arrays.
#[derive(Clone, Debug)]
pub(super) enum OfArray {
    /// `prefixItems`; before 2020-12 the array form of `items`, whose name it then has.
    PrefixItems {
        name: &'static str,
        schemas: Box<[SubschemaId]>,
    },
    /// `items`; before 2020-12 `additionalItems` behind an array form of `items`.
    Items {
        name: &'static str,
        from: usize,
        rest: RemainingItems,
    },
    Contains(Box<Contains>),
    UniqueItems,
    MinItems(i64),
    MaxItems(i64),
    UnevaluatedItems(RemainingItems),
}

/// Keywords that only say something about objects.
#[derive(Clone, Debug)]
pub(super) enum OfObject {
    Properties(Box<[(SmolStr, SubschemaId)]>),
    PatternProperties(Box<[(SchemaPattern, SubschemaId)]>),
    AdditionalProperties(Box<Additional>),
    PropertyNames(SubschemaId),
    Required(Box<[SmolStr]>),
    DependentRequired(Box<[(SmolStr, Box<[SmolStr]>)]>),
    DependentSchemas(Box<[(SmolStr, SubschemaId)]>),
    /// `dependencies`, of drafts before 2019-09: either of the two above for each key.
    Dependencies(Box<[(SmolStr, Dependency)]>),
    MinProperties(i64),
    MaxProperties(i64),
    UnevaluatedProperties(RemainingItems),
}

impl Keyword {
    /// The keyword as it is written in a schema.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Keyword::False => "false",
            Keyword::Unresolved(_) => "$ref",
            Keyword::Type(_) => "type",
            Keyword::Enum(_) => "enum",
            Keyword::Const(_) => "const",
            Keyword::AllOf(_) => "allOf",
            Keyword::AnyOf(_) => "anyOf",
            Keyword::OneOf(_) => "oneOf",
            Keyword::Not { .. } => "not",
            Keyword::If(_) => "if",
            Keyword::Ref(_) => "$ref",
            Keyword::DynamicRef { name, .. } => name,
            Keyword::ImpossibleContains { name, .. } => name,
            Keyword::OfNumber(keyword) => keyword.name(),
            Keyword::OfText(keyword) => keyword.name(),
            Keyword::OfArray(keyword) => keyword.name(),
            Keyword::OfObject(keyword) => keyword.name(),
        }
    }

    /// The order of networknt's validator: types and properties before all, what is left over after all, everything else
    /// as it is written.
    pub(super) const fn rank(&self) -> u8 {
        match self {
            Keyword::Type(_) => 0,
            Keyword::OfObject(OfObject::Properties(_)) => 1,
            Keyword::OfObject(OfObject::PatternProperties(_)) => 2,
            Keyword::OfObject(OfObject::UnevaluatedProperties(_)) => 4,
            Keyword::OfArray(OfArray::UnevaluatedItems(_)) => 5,
            Keyword::False
            | Keyword::Enum(_)
            | Keyword::Const(_)
            | Keyword::AllOf(_)
            | Keyword::AnyOf(_)
            | Keyword::OneOf(_)
            | Keyword::Not { .. }
            | Keyword::If(_)
            | Keyword::Ref(_)
            | Keyword::Unresolved(_)
            | Keyword::DynamicRef { .. }
            | Keyword::ImpossibleContains { .. }
            | Keyword::OfNumber(_)
            | Keyword::OfText(_)
            | Keyword::OfArray(_)
            | Keyword::OfObject(_) => 3,
        }
    }
}

impl OfNumber {
    const fn name(&self) -> &'static str {
        match self {
            OfNumber::Minimum(_) | OfNumber::MinimumExcluded(_) => "minimum",
            OfNumber::Maximum(_) | OfNumber::MaximumExcluded(_) => "maximum",
            OfNumber::ExclusiveMinimum(_) => "exclusiveMinimum",
            OfNumber::ExclusiveMaximum(_) => "exclusiveMaximum",
            OfNumber::MultipleOf(_) => "multipleOf",
        }
    }
}

impl OfText {
    const fn name(&self) -> &'static str {
        match self {
            OfText::MinLength(_) => "minLength",
            OfText::MaxLength(_) => "maxLength",
            OfText::Pattern(_) => "pattern",
            OfText::Format(_) => "format",
        }
    }
}

impl OfArray {
    const fn name(&self) -> &'static str {
        match self {
            OfArray::PrefixItems { name, .. } | OfArray::Items { name, .. } => name,
            OfArray::Contains(_) => "contains",
            OfArray::UniqueItems => "uniqueItems",
            OfArray::MinItems(_) => "minItems",
            OfArray::MaxItems(_) => "maxItems",
            OfArray::UnevaluatedItems(_) => "unevaluatedItems",
        }
    }
}

impl OfObject {
    const fn name(&self) -> &'static str {
        match self {
            OfObject::Properties(_) => "properties",
            OfObject::PatternProperties(_) => "patternProperties",
            OfObject::AdditionalProperties(_) => "additionalProperties",
            OfObject::PropertyNames(_) => "propertyNames",
            OfObject::Required(_) => "required",
            OfObject::DependentRequired(_) => "dependentRequired",
            OfObject::DependentSchemas(_) => "dependentSchemas",
            OfObject::Dependencies(_) => "dependencies",
            OfObject::MinProperties(_) => "minProperties",
            OfObject::MaxProperties(_) => "maxProperties",
            OfObject::UnevaluatedProperties(_) => "unevaluatedProperties",
        }
    }
}

/// `additionalProperties`, with what its neighbours cover.
#[derive(Clone, Debug)]
pub(super) struct Additional {
    /// INVARIANT: sorted.
    pub(super) known: Box<[SmolStr]>,
    pub(super) patterns: Box<[SchemaPattern]>,
    /// `None` when anything goes.
    pub(super) rest: Option<RemainingItems>,
}

#[derive(Clone, Debug)]
pub(super) enum Dependency {
    Required(Box<[SmolStr]>),
    Schema(SubschemaId),
}

#[derive(Clone, Debug)]
pub(super) struct Contains {
    pub(super) node: SubschemaId,
    /// The schema as written, for messages.
    pub(super) schema: Value,
    pub(super) min: i64,
    pub(super) max: Option<i64>,
    /// Before 2019-09, when there were no bounds to report.
    pub(super) is_unbounded: bool,
}

#[derive(Clone, Debug)]
pub(super) struct If {
    pub(super) condition: SubschemaId,
    pub(super) then: Option<SubschemaId>,
    pub(super) otherwise: Option<SubschemaId>,
}

/// The types a value may have.
#[derive(Clone, Debug)]
pub(super) struct Types {
    /// As written: names, in brackets when they were an array.
    pub(super) text: SmolStr,
    pub(super) is_union: bool,
    allowed: u8,
}

const NULL: u8 = 1;
const BOOLEAN: u8 = 1 << 1;
const NUMBER: u8 = 1 << 2;
const INTEGER: u8 = 1 << 3;
const STRING: u8 = 1 << 4;
const ARRAY: u8 = 1 << 5;
const OBJECT: u8 = 1 << 6;
const ANY: u8 = 1 << 7;

/// The names of types. `any` is not of JSON Schema but understood by networknt's validator.
const TYPES: [(&str, u8); 8] = [
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("number", NUMBER),
    ("integer", INTEGER),
    ("string", STRING),
    ("array", ARRAY),
    ("object", OBJECT),
    ("any", ANY),
];

impl Types {
    /// The value of `type`. What names no type is `unknown`, which no value is.
    pub(super) fn new(value: &Value) -> Types {
        if let Value::Array(names) = value {
            let types: Vec<(&str, u8)> = names.iter().map(named).collect();
            let text = types.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let allowed = types.iter().fold(0, |all, (_, one)| all | one);
            return Types { text: format!("[{text}]").into(), is_union: true, allowed };
        }
        let (name, allowed) = named(value);
        Types { text: name.into(), is_union: false, allowed }
    }

    pub(super) fn allows(&self, value: &Value) -> bool {
        let integer =
            matches!(value, Value::Number(number) if self.allowed & INTEGER != 0 && number.is_integer());
        integer || self.allowed & (ANY | type_of(value).1) != 0
    }
}

fn named(value: &Value) -> (&'static str, u8) {
    let Value::Text(name) = value else { return ("unknown", 0) };
    TYPES.into_iter().find(|(known, _)| known == name).unwrap_or(("unknown", 0))
}

/// The type of a value and its bit. Numbers are never called integers: neither does the Java engine, whose numbers are
/// all decimals.
pub(super) fn type_of(value: &Value) -> (&'static str, u8) {
    let bit = match value {
        Value::Null => NULL,
        Value::Boolean(_) => BOOLEAN,
        Value::Number(_) => NUMBER,
        Value::Text(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
        Value::Undefined
        | Value::Integer(_)
        | Value::Double(_)
        | Value::Time(_)
        | Value::Date(_)
        | Value::DateTime(_)
        | Value::DayTimeDuration(_)
        | Value::YearMonthDuration(_)
        | Value::AnyUri(_)
        | Value::HexBinary(_)
        | Value::Base64Binary(_)
        | Value::Rfc822Name(_)
        | Value::X500Name(_)
        | Value::IpAddress(_)
        | Value::DnsName(_)
        | Value::XPathExpression(_)
        | Value::Opaque(_) => 0,
    };
    TYPES.into_iter().find(|(_, known)| *known == bit).unwrap_or(("unknown", 0))
}
