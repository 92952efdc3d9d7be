//! The tables of a document while it is read: what may still be added where.
//!
//! These are the rules of TOML 1.0 as Jackson keeps them. Tables lie beside each other and refer to each other by number,
//! so that a document cannot nest them deeper than there is stack.

use std::collections::HashMap;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::value::ObjectBuilder;
use smol_str::SmolStr;

use crate::document::NESTED_MAX;

type Reason = &'static str;

#[derive(Default)]
struct Table {
    /// The places of keys in `entries`.
    places: HashMap<SmolStr, usize>,
    entries: Vec<(SmolStr, Node)>,
    /// Whether nothing can be added: it was written between braces.
    closed: bool,
    /// Whether it has a header, or keys behind points.
    defined: bool,
}

/// Tables whose header stands between double brackets.
#[derive(Default)]
struct Tables(Vec<usize>);

#[derive(Clone)]
enum Node {
    Value(Value),
    Table(usize),
    Tables(usize),
    /// What was written between brackets, all values and tables.
    Array(Arc<[Node]>),
}

/// A value that was read, to be put into a table.
pub(super) struct Item(Node);

/// A document.
pub(super) struct Tree {
    tables: Vec<Table>,
    arrays: Vec<Tables>,
}

/// The number of the table that is the document.
pub(super) const ROOT: usize = 0;

impl Tree {
    pub(super) fn new() -> Tree {
        Tree { tables: vec![Table::default()], arrays: Vec::new() }
    }

    fn table(&mut self, at: usize) -> Result<&mut Table, Reason> {
        self.tables.get_mut(at).ok_or("there is no such table")
    }

    /// A new table that is nowhere yet.
    fn add_table(&mut self) -> usize {
        self.tables.push(Table::default());
        self.tables.len() - 1
    }

    /// A new table between braces.
    pub(super) fn open_inline(&mut self) -> usize {
        self.add_table()
    }

    /// The table between braces is complete.
    pub(super) fn close_inline(&mut self, at: usize) -> Result<Item, Reason> {
        let table = self.table(at)?;
        (table.closed, table.defined) = (true, true);
        Ok(Item(Node::Table(at)))
    }

    fn node(&self, table: usize, key: &str) -> Option<&Node> {
        let table = self.tables.get(table)?;
        table.entries.get(*table.places.get(key)?).map(|(_, node)| node)
    }

    fn put(&mut self, at: usize, key: SmolStr, node: Node) -> Result<(), Reason> {
        let table = self.table(at)?;
        table.places.insert(key.clone(), table.entries.len());
        table.entries.push((key, node));
        Ok(())
    }

    /// The table in which the last of the keys stands. Without a header, all tables on the way are defined by that.
    fn enter(&mut self, from: usize, keys: &[SmolStr], header: bool) -> Result<usize, Reason> {
        let mut at = from;
        let parents = keys.split_last().map_or(&[][..], |(_, parents)| parents);
        for key in parents {
            self.visit(at, header)?;
            at = match self.node(at, key) {
                None => {
                    let table = self.add_table();
                    self.put(at, key.clone(), Node::Table(table))?;
                    table
                }
                Some(Node::Table(table)) => *table,
                Some(Node::Tables(array)) => {
                    let last = self.arrays.get(*array).and_then(|tables| tables.0.last());
                    *last.ok_or("the array is empty")?
                }
                Some(Node::Array(_)) => return Err("the array is closed"),
                Some(Node::Value(_)) => return Err("there is a value that is no table"),
            };
        }
        self.visit(at, header)?;
        Ok(at)
    }

    fn visit(&mut self, at: usize, header: bool) -> Result<(), Reason> {
        let table = self.table(at)?;
        if table.closed {
            return Err("the table is closed");
        }
        table.defined |= !header;
        Ok(())
    }

    /// `[a.b]`: the table it is about.
    pub(super) fn open_table(&mut self, keys: &[SmolStr]) -> Result<usize, Reason> {
        let parent = self.enter(ROOT, keys, true)?;
        let key = keys.last().ok_or("a key is missing")?;
        let at = match self.node(parent, key) {
            None => {
                let table = self.add_table();
                self.put(parent, key.clone(), Node::Table(table))?;
                table
            }
            Some(Node::Table(table)) => *table,
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
    pub(super) fn open_array_table(&mut self, keys: &[SmolStr]) -> Result<usize, Reason> {
        let parent = self.enter(ROOT, keys, true)?;
        let key = keys.last().ok_or("a key is missing")?;
        let array = match self.node(parent, key) {
            None => {
                self.arrays.push(Tables::default());
                let array = self.arrays.len() - 1;
                self.put(parent, key.clone(), Node::Tables(array))?;
                array
            }
            Some(Node::Tables(array)) => *array,
            Some(Node::Array(_)) => return Err("the array is closed"),
            Some(_) => return Err("there is a value that is no array"),
        };
        let table = self.add_table();
        self.arrays.get_mut(array).ok_or("there is no such array")?.0.push(table);
        Ok(table)
    }

    /// Puts a value behind keys into a table.
    pub(super) fn set(&mut self, table: usize, keys: &[SmolStr], item: Item) -> Result<(), Reason> {
        let parent = self.enter(table, keys, false)?;
        let key = keys.last().ok_or("a key is missing")?;
        if self.node(parent, key).is_some() {
            return Err("the key is there twice");
        }
        self.put(parent, key.clone(), item.0)
    }

    /// The document as a value; `None` if it is nested too deep.
    pub(super) fn finish(&self) -> Option<Value> {
        self.value(&Node::Table(ROOT), 0)
    }

    fn value(&self, node: &Node, depth: usize) -> Option<Value> {
        if depth >= NESTED_MAX && !matches!(node, Node::Value(_)) {
            return None;
        }
        match node {
            Node::Value(value) => Some(value.clone()),
            Node::Table(table) => self.object(*table, depth),
            Node::Tables(array) => {
                let tables = self
                    .arrays
                    .get(*array)?
                    .0
                    .iter()
                    .map(|table| self.value(&Node::Table(*table), depth + 1));
                Some(Value::Array(tables.collect::<Option<_>>()?))
            }
            Node::Array(items) => {
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

impl Item {
    pub(super) const fn value(value: Value) -> Item {
        Item(Node::Value(value))
    }

    pub(super) fn array(items: Vec<Item>) -> Item {
        Item(Node::Array(items.into_iter().map(|item| item.0).collect()))
    }
}
