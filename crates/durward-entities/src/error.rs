//! What is wrong with a text of entities, with its place.

use std::fmt;

/// A text that entities cannot be read from: the mistake of whoever wrote it. Shown as `people.jsonl:3: the member `id` is missing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityError {
    /// What the text, or what gave the rows, is called.
    pub source: String,
    /// The line or row, from 1; 0 where the mistake is in none.
    pub line: u64,
    /// What is wrong.
    pub kind: EntityErrorKind,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityErrorKind {
    /// It is no JSON, or has an object with a key twice.
    Json {
        /// Where in the line or cell, from 1.
        column: usize,
        /// In a few words.
        reason: String,
    },
    /// A line or cell that is no object where one is needed.
    NoObject,
    /// A member or column that is missing.
    Missing(&'static str),
    /// A member of another type than it must have.
    Type {
        /// The member.
        member: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A member that means nothing.
    Unknown(String),
    /// A type or id that is empty or too long.
    Name {
        /// Which of them.
        what: &'static str,
        /// How long it may be.
        bytes_max: usize,
    },
    /// An entity that is there already.
    Twice {
        /// Its type.
        kind: String,
        /// Its id.
        id: String,
        /// Where it stands first.
        first: String,
        /// In which line.
        first_line: u64,
    },
    /// A column without a name, or with that of another one.
    Column(String),
    /// It is no CSV.
    Csv(String),
    /// A column of numbers with a value that JSON has no number for: NaN, or an infinity.
    NoNumber(String),
    /// There are more entities than there may be.
    TooMany {
        /// How many there may be.
        entities_max: usize,
    },
    /// The texts are longer than they may be.
    TooManyBytes {
        /// How long they may be.
        bytes_max: usize,
    },
}

impl fmt::Display for EntityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.source, self.kind),
            line => write!(f, "{}:{line}: {}", self.source, self.kind),
        }
    }
}

impl fmt::Display for EntityErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntityErrorKind::Json { column, reason } => write!(f, "{reason} (column {column})"),
            EntityErrorKind::NoObject => {
                f.write_str("an entity is an object: `{\"type\": ..., \"id\": ..., \"properties\": {...}}`")
            }
            EntityErrorKind::Missing(name) => write!(f, "`{name}` is missing"),
            EntityErrorKind::Type { member, expected } => write!(f, "`{member}` must be {expected}"),
            EntityErrorKind::Unknown(name) => {
                write!(
                    f,
                    "`{name}` means nothing beside `type`, `id` and `properties`; put it into `properties`"
                )
            }
            EntityErrorKind::Name { what, bytes_max } => {
                write!(f, "`{what}` must have 1 to {bytes_max} bytes")
            }
            EntityErrorKind::Twice { kind, id, first, first_line } => {
                write!(f, "`{id}` of type `{kind}` is there already: {first}:{first_line}")
            }
            EntityErrorKind::Column(name) if name.is_empty() => f.write_str("a column has no name"),
            EntityErrorKind::Column(name) => write!(f, "the column `{name}` is there twice"),
            EntityErrorKind::Csv(reason) => write!(f, "this is no CSV: {reason}"),
            EntityErrorKind::NoNumber(name) => {
                write!(f, "`{name}` holds NaN or an infinity, which is no number of JSON")
            }
            EntityErrorKind::TooMany { entities_max } => {
                write!(f, "there are more than {entities_max} entities")
            }
            EntityErrorKind::TooManyBytes { bytes_max } => {
                write!(f, "the entities are longer than {bytes_max} bytes")
            }
        }
    }
}

impl std::error::Error for EntityError {}
