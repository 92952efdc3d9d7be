//! Entities of rows, each the text of a JSON object, as databases give them.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};

use durward_ir::value::{Object, ObjectBuilder, Value};
use smol_str::SmolStr;

use super::json_lines::{json_value, shared, text_of};
use super::{EntityError, EntityErrorKind, Limits, Names, Place, check_names};

/// What the columns of rows mean. Each row has `id`; without `kind` also `type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowColumns {
    /// The type of all entities. With it a column `type` is a property.
    pub kind: Option<String>,
    /// Whether the properties are the object in the column `properties`. Otherwise each other column is a property, and null is none.
    pub has_properties: bool,
    /// Properties that are numbers or arrays of numbers: a text in their place is NaN or an infinity.
    pub numbers: HashSet<String>,
}

/// Entities of rows. They are kept apart from tables, so that one source can be read again while others stay as they are.
#[derive(Clone, Debug)]
pub struct EntityRows {
    source: String,
    rows: Vec<Row>,
    byte_count: usize,
    digest: u64,
}

/// One entity.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) kind: SmolStr,
    pub(super) id: SmolStr,
    pub(super) properties: Arc<Object>,
}

impl EntityRows {
    /// What gave the rows, as errors call it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many bytes their texts have.
    pub fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Whether others were read from the same texts in the same order, as a digest with a key of this process says.
    pub fn is_same(&self, other: &EntityRows) -> bool {
        (self.digest, self.len(), self.byte_count) == (other.digest, other.len(), other.byte_count)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter()
    }
}

/// Reads rows one by one.
#[derive(Debug)]
pub struct EntityRowsBuilder {
    columns: RowColumns,
    limits: Limits,
    names: Names,
    hasher: std::hash::DefaultHasher,
    read: EntityRows,
}

impl EntityRowsBuilder {
    /// Nothing yet. `source` is what errors call what gives the rows.
    pub fn new(source: &str, columns: RowColumns, limits: Limits) -> EntityRowsBuilder {
        /// Whoever writes rows cannot know which of them have the same digest.
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let read = EntityRows { source: source.to_owned(), rows: Vec::new(), byte_count: 0, digest: 0 };
        EntityRowsBuilder { columns, limits, names: Names::default(), hasher: KEY.build_hasher(), read }
    }

    /// Adds a row: a JSON object of the columns' names and values.
    ///
    /// ```
    /// use durward_entities::{EntitiesBuilder, EntityRowsBuilder, Limits, RowColumns};
    ///
    /// let mut rows = EntityRowsBuilder::new("a database", RowColumns::default(), Limits::default());
    /// rows.add(r#"{"type": "paper", "id": "p1", "owner": "ada", "note": null}"#)?;
    /// let mut builder = EntitiesBuilder::new(Limits::default());
    /// builder.add_rows(&rows.finish())?;
    /// let entities = builder.finish();
    /// assert_eq!(entities.get("paper", "p1").unwrap().len(), 1);
    /// # Ok::<(), durward_entities::EntityError>(())
    /// ```
    ///
    /// # Errors
    /// A row that is no entity, or more rows or bytes than the limits allow.
    pub fn add(&mut self, text: &str) -> Result<(), EntityError> {
        let source = std::mem::take(&mut self.read.source);
        let line = self.read.rows.len() as u64 + 1;
        let row = self.read_row(text).map_err(|kind| Place { source: &source, line }.error(kind));
        self.read.source = source;
        self.read.rows.push(row?);
        text.hash(&mut self.hasher);
        Ok(())
    }

    /// What was read.
    pub fn finish(self) -> EntityRows {
        EntityRows { digest: self.hasher.finish(), ..self.read }
    }

    fn read_row(&mut self, text: &str) -> Result<Row, EntityErrorKind> {
        let Limits { entities_max, bytes_max } = self.limits;
        self.read.byte_count = self.read.byte_count.saturating_add(text.len());
        if self.read.byte_count > bytes_max {
            return Err(EntityErrorKind::TooManyBytes { bytes_max });
        }
        if self.read.rows.len() >= entities_max {
            return Err(EntityErrorKind::TooMany { entities_max });
        }
        let value = json_value(text)?;
        let object = value.as_object().ok_or(EntityErrorKind::NoObject)?;
        let kind = match &self.columns.kind {
            Some(kind) => kind.as_str(),
            None => text_of(object, "type")?,
        };
        let id = text_of(object, "id")?;
        check_names(kind, id)?;
        let (kind, id) = (self.names.shared(kind), SmolStr::new(id));
        let properties = self.properties(object)?;
        Ok(Row { kind, id, properties: Arc::new(properties) })
    }

    fn properties(&mut self, row: &Object) -> Result<Object, EntityErrorKind> {
        if self.columns.has_properties {
            return match row.get("properties") {
                None | Some(Value::Null) => Ok(Object::default()),
                Some(Value::Object(properties)) => Ok(shared(&mut self.names, properties)),
                Some(_) => Err(EntityErrorKind::Type { member: "properties", expected: "an object" }),
            };
        }
        let mut properties = ObjectBuilder::new();
        for (name, value) in row.iter() {
            let is_key = name == "id" || name == "type" && self.columns.kind.is_none();
            if is_key || matches!(value, Value::Null) {
                continue;
            }
            if self.columns.numbers.contains(name.as_str()) && has_text(value) {
                return Err(EntityErrorKind::NoNumber(name.to_string()));
            }
            properties.insert(self.names.shared(name), value.clone());
        }
        Ok(properties.finish())
    }
}

/// Whether a value is a text, or an array with one in it.
fn has_text(value: &Value) -> bool {
    match value.as_array() {
        Some(items) => items.iter().any(has_text),
        None => value.as_text().is_some(),
    }
}
