//! Entities: the subjects and resources that a search looks among, each with a type, an id and properties. Text in, a table out: no file,
//! no database, no clock, no policy.
//!
//! A table is made once of all its texts ([`EntitiesBuilder`]) and never changes; whoever keeps it puts another one in its place. Entities of
//! one type stand in the order of their ids, so that a search can go on behind the id where it stopped.
//!
//! ```
//! use durward_entities::{EntitiesBuilder, Limits};
//!
//! let mut builder = EntitiesBuilder::new(Limits::default());
//! builder.add_json_lines("people.jsonl", r#"{"type": "user", "id": "ada", "properties": {"role": "chair"}}"#)?;
//! builder.add_csv("papers.csv", "id,owner,pages:json\np1,ada,12\n", Some("paper"))?;
//! let entities = builder.finish();
//!
//! assert_eq!(entities.get("user", "ada").unwrap().get("role").unwrap().as_text(), Some("chair"));
//! assert_eq!(entities.after("paper", None).count(), 1);
//! # Ok::<(), durward_entities::EntityError>(())
//! ```

mod csv_text;
mod error;
mod json_lines;
mod rows;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use durward_ir::value::Object;
use smol_str::SmolStr;

pub use error::{EntityError, EntityErrorKind};
pub use rows::{EntityRows, EntityRowsBuilder, RowColumns};

/// The longest type or id, in bytes.
pub const NAME_BYTES_MAX: usize = 1024;

/// How much a table may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entities.
    pub entities_max: usize,
    /// Most bytes of all texts together: what is made of them takes a small multiple of that.
    pub bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entities_max: 1_000_000, bytes_max: 256 * 1024 * 1024 }
    }
}

/// Entities by type and id.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    /// In the order of ids.
    types: HashMap<SmolStr, Vec<(SmolStr, Arc<Object>)>>,
    count: usize,
}

impl Entities {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there is any entity of this type.
    pub fn has_type(&self, kind: &str) -> bool {
        self.types.contains_key(kind)
    }

    /// Every type of which there is an entity.
    pub fn types(&self) -> impl Iterator<Item = &SmolStr> {
        self.types.keys()
    }

    /// The properties of an entity, if it is there.
    #[inline]
    pub fn get(&self, kind: &str, id: &str) -> Option<&Arc<Object>> {
        let of_type = self.types.get(kind)?;
        let at = of_type.binary_search_by(|(known, _)| known.as_str().cmp(id)).ok()?;
        of_type.get(at).map(|(_, properties)| properties)
    }

    /// The entities of a type in the order of their ids: those behind an id, which need not be there, or all of them.
    pub fn after<'e>(
        &'e self,
        kind: &str,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'e SmolStr, &'e Arc<Object>)> + use<'e> {
        let of_type = self.types.get(kind).map(Vec::as_slice).unwrap_or_default();
        let start = after.map_or(0, |after| of_type.partition_point(|(id, _)| id.as_str() <= after));
        of_type.get(start..).unwrap_or_default().iter().map(|(id, properties)| (id, properties))
    }
}

/// Collects entities text by text. A clone shares the properties of what was collected.
#[derive(Clone, Debug)]
pub struct EntitiesBuilder {
    limits: Limits,
    bytes: usize,
    count: usize,
    sources: Vec<String>,
    found: HashMap<SmolStr, BTreeMap<SmolStr, Found>>,
    names: Names,
}

/// Equal names of properties are kept once.
#[derive(Clone, Debug, Default)]
struct Names(HashSet<SmolStr>);

impl Names {
    /// The name, shared with all that are equal.
    fn shared(&mut self, name: &str) -> SmolStr {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name = SmolStr::new(name);
        self.0.insert(name.clone());
        name
    }
}

/// An entity, and where it stands.
#[derive(Clone, Debug)]
struct Found {
    properties: Arc<Object>,
    source: usize,
    line: u64,
}

/// Where an entity stands.
#[derive(Clone, Copy)]
struct Place<'s> {
    source: &'s str,
    line: u64,
}

impl EntitiesBuilder {
    /// Nothing yet.
    pub fn new(limits: Limits) -> EntitiesBuilder {
        EntitiesBuilder {
            limits,
            bytes: 0,
            count: 0,
            sources: Vec::new(),
            found: HashMap::new(),
            names: Names::default(),
        }
    }

    /// Adds entities of JSON, one a line: `{"type": "user", "id": "ada", "properties": {"role": "chair"}}`. Empty lines mean nothing.
    /// `source` is what errors call the text.
    ///
    /// # Errors
    /// A line that is no entity, an entity that is there already, or more than the limits allow.
    pub fn add_json_lines(&mut self, source: &str, text: &str) -> Result<(), EntityError> {
        self.begin(source, text.len())?;
        json_lines::read(self, source, text)
    }

    /// Adds entities of CSV (RFC 4180). Its first row names the columns: `id`, `type` unless `kind` says it for all, and properties, which are
    /// texts, or JSON where the name of the column ends with `:json`. An empty cell is no property.
    ///
    /// # Errors
    /// As [`EntitiesBuilder::add_json_lines`].
    pub fn add_csv(&mut self, source: &str, text: &str, kind: Option<&str>) -> Result<(), EntityError> {
        self.begin(source, text.len())?;
        csv_text::read(self, source, text, kind)
    }

    /// Adds entities of rows that were read before. Their properties are shared, so the same rows can be put into one table after another.
    ///
    /// # Errors
    /// An entity that is there already, or more than the limits allow.
    pub fn add_rows(&mut self, rows: &EntityRows) -> Result<(), EntityError> {
        self.begin(rows.source(), rows.byte_count())?;
        for (line, row) in (1..).zip(rows.iter()) {
            let place = Place { source: rows.source(), line };
            self.add(&row.kind, &row.id, Arc::clone(&row.properties), place)?;
        }
        Ok(())
    }

    /// How many bytes all texts have that were added.
    pub fn byte_count(&self) -> usize {
        self.bytes
    }

    /// The table.
    pub fn finish(self) -> Entities {
        let of_type = |(kind, found): (SmolStr, BTreeMap<SmolStr, Found>)| {
            (kind, found.into_iter().map(|(id, found)| (id, found.properties)).collect())
        };
        Entities { types: self.found.into_iter().map(of_type).collect(), count: self.count }
    }

    fn begin(&mut self, source: &str, byte_count: usize) -> Result<(), EntityError> {
        self.bytes = self.bytes.saturating_add(byte_count);
        if self.bytes > self.limits.bytes_max {
            let kind = EntityErrorKind::TooManyBytes { bytes_max: self.limits.bytes_max };
            return Err(EntityError { source: source.to_owned(), line: 0, kind });
        }
        self.sources.push(source.to_owned());
        Ok(())
    }

    fn add(
        &mut self,
        kind: &str,
        id: &str,
        properties: impl Into<Arc<Object>>,
        place: Place<'_>,
    ) -> Result<(), EntityError> {
        check_names(kind, id).map_err(|kind| place.error(kind))?;
        if self.count >= self.limits.entities_max {
            let entities_max = self.limits.entities_max;
            return Err(place.error(EntityErrorKind::TooMany { entities_max }));
        }
        let source = self.sources.len().saturating_sub(1);
        let of_type = self.found.entry(SmolStr::new(kind)).or_default();
        if let Some(before) = of_type.get(id) {
            let first = self.sources.get(before.source).cloned().unwrap_or_default();
            let (kind, id) = (kind.to_owned(), id.to_owned());
            return Err(place.error(EntityErrorKind::Twice { kind, id, first, first_line: before.line }));
        }
        let properties = properties.into();
        of_type.insert(SmolStr::new(id), Found { properties, source, line: place.line });
        self.count += 1;
        Ok(())
    }

    fn name(&mut self, name: &str) -> SmolStr {
        self.names.shared(name)
    }
}

fn check_names(kind: &str, id: &str) -> Result<(), EntityErrorKind> {
    for (what, name) in [("type", kind), ("id", id)] {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(EntityErrorKind::Name { what, bytes_max: NAME_BYTES_MAX });
        }
    }
    Ok(())
}

impl Place<'_> {
    fn error(&self, kind: EntityErrorKind) -> EntityError {
        EntityError { source: self.source.to_owned(), line: self.line, kind }
    }
}
