//! The tables of a document while it is read: what may still be added where.
//!
//! These are the rules of TOML 1.0 as Jackson keeps them. Tables lie beside each other and refer to each other by number,
//! so that a document cannot nest them deeper than there is stack.

use std::collections::HashMap;
use std::sync::Arc;

use durward_functions::document::NESTED_MAX;
use durward_ir::Value;
use durward_ir::value::ObjectBuilder;
use smol_str::SmolStr;

type TreeReason = &'static str;

#[derive(Default)]
struct TomlTable {
    /// The places of keys in `entries`.
    places: HashMap<SmolStr, usize>,
    entries: Vec<(SmolStr, TomlNode)>,
    /// Whether nothing can be added: it was written between braces.
    closed: bool,
    /// Whether it has a header, or keys behind points.
    defined: bool,
}

/// Tables whose header stands between double brackets.
#[derive(Default)]
struct TomlTableArray(Vec<usize>);

#[derive(Clone)]
enum TomlNode {
    Value(Value),
    Table(usize),
    Tables(usize),
    /// What was written between brackets, all values and tables.
    Array(Arc<[TomlNode]>),
}

/// A value that was read, to be put into a table.
pub(super) struct TomlItem(TomlNode);

/// A document.
pub(super) struct TomlTree {
    tables: Vec<TomlTable>,
    arrays: Vec<TomlTableArray>,
}

/// The number of the table that is the document.
pub(super) const ROOT: usize = 0;

impl TomlTree {
    pub(super) fn new() -> TomlTree {
        TomlTree { tables: vec![TomlTable::default()], arrays: Vec::new() }
    }

    fn table(&mut self, at: usize) -> Result<&mut TomlTable, TreeReason> {
        self.tables.get_mut(at).ok_or("there is no such table")
    }

    /// A new table that is nowhere yet.
    fn add_table(&mut self) -> usize {
        self.tables.push(TomlTable::default());
        self.tables.len() - 1
    }

    /// A new table between braces.
    pub(super) fn open_inline(&mut self) -> usize {
        self.add_table()
    }

    /// The table between braces is complete.
    pub(super) fn close_inline(&mut self, at: usize) -> Result<TomlItem, TreeReason> {
        let table = self.table(at)?;
        (table.closed, table.defined) = (true, true);
        Ok(TomlItem(TomlNode::Table(at)))
    }

    fn node(&self, table: usize, key: &str) -> Option<&TomlNode> {
        let table = self.tables.get(table)?;
        table.entries.get(*table.places.get(key)?).map(|(_, node)| node)
    }

    fn put(&mut self, at: usize, key: SmolStr, node: TomlNode) -> Result<(), TreeReason> {
        let table = self.table(at)?;
        table.places.insert(key.clone(), table.entries.len());
        table.entries.push((key, node));
        Ok(())
    }

    /// The table in which the last of the keys stands. Without a header, all tables on the way are defined by that.
    fn enter(&mut self, from: usize, keys: &[SmolStr], header: bool) -> Result<usize, TreeReason> {
        let mut at = from;
        let parents = keys.split_last().map_or(&[][..], |(_, parents)| parents);
        for key in parents {
            self.visit(at, header)?;
            at = match self.node(at, key) {
                None => {
                    let table = self.add_table();
                    self.put(at, key.clone(), TomlNode::Table(table))?;
                    table
                }
                Some(TomlNode::Table(table)) => *table,
                Some(TomlNode::Tables(array)) => {
                    let last = self.arrays.get(*array).and_then(|tables| tables.0.last());
                    *last.ok_or("the array is empty")?
                }
                Some(TomlNode::Array(_)) => return Err("the array is closed"),
                Some(TomlNode::Value(_)) => return Err("there is a value that is no table"),
            };
        }
        self.visit(at, header)?;
        Ok(at)
    }

    fn visit(&mut self, at: usize, header: bool) -> Result<(), TreeReason> {
        let table = self.table(at)?;
        if table.closed {
            return Err("the table is closed");
        }
        table.defined |= !header;
        Ok(())
    }

    /// `[a.b]`: the table it is about.
    pub(super) fn open_table(&mut self, keys: &[SmolStr]) -> Result<usize, TreeReason> {
        let parent = self.enter(ROOT, keys, true)?;
        let key = keys.last().ok_or("a key is missing")?;
        let at = match self.node(parent, key) {
            None => {
                let table = self.add_table();
                self.put(parent, key.clone(), TomlNode::Table(table))?;
                table
            }
            Some(TomlNode::Table(table)) => *table,
            Some(_) => return Err("there is a value that is no table"),
        };
        let table = self.table(at)?;
        if table.defined {
            return Err("the table is defined twice");
        }
        table.defined = true;
        Ok(at)
    }

    /// `[[a.b]]`: a new table at the end of the array.
    pub(super) fn open_array_table(&mut self, keys: &[SmolStr]) -> Result<usize, TreeReason> {
        let parent = self.enter(ROOT, keys, true)?;
        let key = keys.last().ok_or("a key is missing")?;
        let array = match self.node(parent, key) {
            None => {
                self.arrays.push(TomlTableArray::default());
                let array = self.arrays.len() - 1;
                self.put(parent, key.clone(), TomlNode::Tables(array))?;
                array
            }
            Some(TomlNode::Tables(array)) => *array,
            Some(TomlNode::Array(_)) => return Err("the array is closed"),
            Some(_) => return Err("there is a value that is no array"),
        };
        let table = self.add_table();
        self.arrays.get_mut(array).ok_or("there is no such array")?.0.push(table);
        Ok(table)
    }

    /// Puts a value behind keys into a table.
    pub(super) fn set(&mut self, table: usize, keys: &[SmolStr], item: TomlItem) -> Result<(), TreeReason> {
        let parent = self.enter(table, keys, false)?;
        let key = keys.last().ok_or("a key is missing")?;
        if self.node(parent, key).is_some() {
            return Err("the key is there twice");
        }
        self.put(parent, key.clone(), item.0)
    }

    /// The document as a value; `None` if it is nested too deep.
    pub(super) fn finish(&self) -> Option<Value> {
        self.value(&TomlNode::Table(ROOT), 0)
    }

    fn value(&self, node: &TomlNode, depth: usize) -> Option<Value> {
        if depth >= NESTED_MAX && !matches!(node, TomlNode::Value(_)) {
            return None;
        }
        match node {
            TomlNode::Value(value) => Some(value.clone()),
            TomlNode::Table(table) => self.object(*table, depth),
            TomlNode::Tables(array) => {
                let tables = self
                    .arrays
                    .get(*array)?
                    .0
                    .iter()
                    .map(|table| self.value(&TomlNode::Table(*table), depth + 1));
                Some(Value::Array(tables.collect::<Option<_>>()?))
            }
            TomlNode::Array(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1));
                Some(Value::Array(items.collect::<Option<_>>()?))
            }
        }
    }

    fn object(&self, table: usize, depth: usize) -> Option<Value> {
        let entries = &self.tables.get(table)?.entries;
        let mut object = ObjectBuilder::with_capacity(entries.len());
        for (key, node) in entries {
            object.insert(key.clone(), self.value(node, depth + 1)?);
        }
        Some(Value::Object(object.finish().into()))
    }
}

impl TomlItem {
    pub(super) const fn value(value: Value) -> TomlItem {
        TomlItem(TomlNode::Value(value))
    }

    pub(super) fn array(items: Vec<TomlItem>) -> TomlItem {
        TomlItem(TomlNode::Array(items.into_iter().map(|item| item.0).collect()))
    }
}
