//! The node table: the nodes of a resource in one order that everybody comes to, with a version. Tokens speak of its rows.
//!
//! ```text
//!  table  = 1, namespaces, namespace*             a number each, then URIs ascending
//!  for each namespace, for each kind (numeric, string, GUID, opaque): count, identifier*
//!  numeric: distance to the one before            string, opaque: shared with the one before, length, bytes
//! ```
//!
//! Published deflated. The version is the SHA-256 of the plain form, so that it does not depend on who deflates.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use aws_lc_rs::digest::{SHA256, digest};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use opcua_types::{Guid, Identifier, UAString};

use super::NodeTableError;
use super::bytes::{TokenReader, put_number};
use super::node::{TableNode, compare, kind_of, text_of};

/// Most nodes in a table: a plant's server has thousands, a historian some hundred thousands.
pub const TABLE_NODES_MAX: usize = 1_000_000;
/// Most namespaces in a table.
pub const TABLE_NAMESPACES_MAX: usize = 4096;
/// Longest table as it is published.
pub const TABLE_PACKED_BYTES_MAX: usize = 32 << 20;
/// Longest table unpacked: what a hostile one may make grow.
pub const TABLE_PLAIN_BYTES_MAX: usize = 64 << 20;
/// Most bytes that all identifiers may have together: what is shared with the one before counts again.
pub const TABLE_TEXT_BYTES_MAX: usize = 128 << 20;
/// Longest identifier (Part 3, 8.2.4).
pub const IDENTIFIER_BYTES_MAX: usize = 4096;
/// Longest URI of a namespace.
pub const NAMESPACE_BYTES_MAX: usize = 1024;

const FORMAT: u8 = 1;
const KINDS: u8 = 4;
/// Levels beyond it take twice as long for a hundredth.
const DEFLATE_LEVEL: u8 = 7;

/// Names one table: the first half of a SHA-256. Whoever wants two tables of one version has to compute 2^64 of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableVersion([u8; 16]);

impl TableVersion {
    /// The version as tokens carry it.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }

    pub(super) fn read(bytes: &[u8]) -> Option<TableVersion> {
        Some(TableVersion(bytes.try_into().ok()?))
    }
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableVersion({self})")
    }
}

#[derive(Debug)]
struct TableEntry {
    /// Index into the table's own namespaces.
    namespace: u16,
    identifier: Identifier,
}

/// The nodes of a resource. Does not change: with other nodes it is another table, of another version.
pub struct NodeTable {
    /// INVARIANT: ascending, each has a node.
    namespaces: Vec<String>,
    /// INVARIANT: ascending, by namespace and [`compare`]; no more than [`TABLE_NODES_MAX`].
    nodes: Vec<TableEntry>,
    /// Rows by namespace and identifier.
    index: HashTable<u32>,
    hasher: RandomState,
    version: TableVersion,
}

impl NodeTable {
    /// The table of these nodes, in whichever order they come and however often.
    ///
    /// # Errors
    /// More nodes, namespaces or text than a table may have.
    pub fn new(nodes: impl IntoIterator<Item = TableNode>) -> Result<NodeTable, NodeTableError> {
        let mut named: Vec<(String, Identifier)> = Vec::new();
        for node in nodes {
            if named.len() >= 2 * TABLE_NODES_MAX {
                return Err(too_many("nodes", TABLE_NODES_MAX));
            }
            named.push(node.into_parts());
        }
        named.sort_unstable_by(|(one, a), (other, b)| one.cmp(other).then_with(|| compare(a, b)));
        named.dedup();
        let (mut namespaces, mut nodes) = (Vec::<String>::new(), Vec::with_capacity(named.len()));
        for (namespace, identifier) in named {
            if namespaces.last() != Some(&namespace) {
                namespaces.push(namespace);
            }
            if namespaces.len() > TABLE_NAMESPACES_MAX {
                return Err(too_many("namespaces", TABLE_NAMESPACES_MAX));
            }
            nodes.push(TableEntry { namespace: (namespaces.len() - 1) as u16, identifier });
        }
        NodeTable::of(namespaces, nodes)
    }

    fn of(namespaces: Vec<String>, nodes: Vec<TableEntry>) -> Result<NodeTable, NodeTableError> {
        if nodes.len() > TABLE_NODES_MAX {
            return Err(too_many("nodes", TABLE_NODES_MAX));
        }
        let text: usize = nodes.iter().filter_map(|node| text_of(&node.identifier)).map(<[u8]>::len).sum();
        if text > TABLE_TEXT_BYTES_MAX {
            return Err(too_many("bytes of identifiers", TABLE_TEXT_BYTES_MAX));
        }
        let plain = write(&namespaces, &nodes);
        let version = digest(&SHA256, &plain).as_ref().get(..16).and_then(TableVersion::read);
        let version = version.ok_or_else(|| NodeTableError::new("the digest of a table is too short"))?;
        let (hasher, mut index) = (RandomState::default(), HashTable::with_capacity(nodes.len()));
        for (row, node) in (0_u32..).zip(&nodes) {
            let hash_of_row = |row: &u32| {
                nodes.get(*row as usize).map_or(0, |node| hash_of(&hasher, node.namespace, &node.identifier))
            };
            index.insert_unique(hash_of(&hasher, node.namespace, &node.identifier), row, hash_of_row);
        }
        Ok(NodeTable { namespaces, nodes, index, hasher, version })
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What names it.
    pub fn version(&self) -> TableVersion {
        self.version
    }

    /// The URIs of its namespaces, ascending.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.iter().map(String::as_str)
    }

    /// The node of a row: its namespace's URI and its identifier.
    pub fn node(&self, row: u32) -> Option<(&str, &Identifier)> {
        let node = self.nodes.get(row as usize)?;
        Some((self.namespaces.get(usize::from(node.namespace))?, &node.identifier))
    }

    /// The nodes in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Identifier)> {
        (0..self.nodes.len() as u32).filter_map(|row| self.node(row))
    }

    /// The row of a node, by the URI of its namespace.
    pub fn row(&self, namespace: &str, identifier: &Identifier) -> Option<u32> {
        let namespace = self.namespaces.binary_search_by(|one| one.as_str().cmp(namespace)).ok()?;
        self.row_in(u16::try_from(namespace).ok()?, identifier)
    }

    /// The row of a node, by the index of its namespace in this table: one look-up.
    pub(super) fn row_in(&self, namespace: u16, identifier: &Identifier) -> Option<u32> {
        let is_it = |row: &u32| {
            self.nodes
                .get(*row as usize)
                .is_some_and(|node| node.namespace == namespace && node.identifier == *identifier)
        };
        self.index.find(hash_of(&self.hasher, namespace, identifier), is_it).copied()
    }

    /// The table as it is published.
    pub fn pack(&self) -> Vec<u8> {
        compress_to_vec(&write(&self.namespaces, &self.nodes), DEFLATE_LEVEL)
    }

    /// Reads a published table.
    ///
    /// # Errors
    /// It is none, is not in the order of a table, or is larger than a table may be.
    pub fn read(packed: &[u8]) -> Result<NodeTable, NodeTableError> {
        if packed.len() > TABLE_PACKED_BYTES_MAX {
            return Err(too_many("bytes as it is published", TABLE_PACKED_BYTES_MAX));
        }
        let plain = decompress_to_vec_with_limit(packed, TABLE_PLAIN_BYTES_MAX)
            .map_err(|_| NodeTableError::new("the node table cannot be unpacked, or is too large"))?;
        let mut reader = TokenReader::new(&plain);
        if reader.byte() != Some(FORMAT) {
            return Err(NodeTableError::new("it is no node table, or of a format that is unknown here"));
        }
        let namespaces = read_namespaces(&mut reader)?;
        let nodes = read_nodes(&mut reader, namespaces.len())?;
        if !reader.is_at_end() {
            return Err(NodeTableError::new("bytes stand behind the end of the node table"));
        }
        NodeTable::of(namespaces, nodes)
    }
}

impl fmt::Debug for NodeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeTable({} nodes, {})", self.nodes.len(), self.version)
    }
}

fn too_many(what: &str, most: usize) -> NodeTableError {
    NodeTableError::new(format!("a node table has at most {most} {what}"))
}

/// One number for an identifier that is one, so that the usual check hashes eight bytes.
fn hash_of(hasher: &RandomState, namespace: u16, identifier: &Identifier) -> u64 {
    let mut state = hasher.build_hasher();
    match identifier {
        Identifier::Numeric(number) => state.write_u64(u64::from(namespace) << 32 | u64::from(*number)),
        Identifier::String(_) | Identifier::Guid(_) | Identifier::ByteString(_) => {
            state.write_u16(namespace);
            identifier.hash(&mut state);
        }
    }
    state.finish()
}

fn write(namespaces: &[String], nodes: &[TableEntry]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    put_number(&mut bytes, namespaces.len() as u64);
    for namespace in namespaces {
        put_number(&mut bytes, namespace.len() as u64);
        bytes.extend_from_slice(namespace.as_bytes());
    }
    let mut rest = nodes;
    for namespace in 0..namespaces.len() {
        for kind in 0..KINDS {
            let belongs = |node: &TableEntry| {
                usize::from(node.namespace) == namespace && kind_of(&node.identifier) == kind
            };
            let count = rest.iter().take_while(|node| belongs(node)).count();
            let (these, behind) = rest.split_at(count);
            rest = behind;
            put_number(&mut bytes, count as u64);
            write_identifiers(&mut bytes, these);
        }
    }
    bytes
}

/// Of one namespace and one kind.
fn write_identifiers(bytes: &mut Vec<u8>, nodes: &[TableEntry]) {
    let (mut least, mut before): (u64, &[u8]) = (0, &[]);
    for node in nodes {
        match &node.identifier {
            Identifier::Numeric(number) => {
                put_number(bytes, u64::from(*number).saturating_sub(least));
                least = u64::from(*number) + 1;
            }
            Identifier::Guid(guid) => bytes.extend_from_slice(&guid.to_bytes()),
            text @ (Identifier::String(_) | Identifier::ByteString(_)) => {
                let text = text_of(text).unwrap_or_default();
                let shared = before.iter().zip(text).take_while(|(one, other)| one == other).count();
                put_number(bytes, shared as u64);
                let own = text.get(shared..).unwrap_or_default();
                put_number(bytes, own.len() as u64);
                bytes.extend_from_slice(own);
                before = text;
            }
        }
    }
}

fn read_namespaces(reader: &mut TokenReader<'_>) -> Result<Vec<String>, NodeTableError> {
    let count = reader.size().ok_or_else(cut_short)?;
    if count > TABLE_NAMESPACES_MAX {
        return Err(too_many("namespaces", TABLE_NAMESPACES_MAX));
    }
    let mut namespaces: Vec<String> = Vec::new();
    for _ in 0..count {
        let length = reader.size().filter(|length| (1..=NAMESPACE_BYTES_MAX).contains(length));
        let bytes = length.and_then(|length| reader.take(length)).ok_or_else(cut_short)?;
        let namespace = std::str::from_utf8(bytes)
            .map_err(|_| NodeTableError::new("a namespace of the node table is no UTF-8"))?;
        if namespaces.last().is_some_and(|before| before.as_str() >= namespace) {
            return Err(out_of_order());
        }
        namespaces.push(namespace.to_owned());
    }
    Ok(namespaces)
}

fn read_nodes(reader: &mut TokenReader<'_>, namespaces: usize) -> Result<Vec<TableEntry>, NodeTableError> {
    let (mut nodes, mut text_left) = (Vec::new(), TABLE_TEXT_BYTES_MAX);
    for namespace in 0..namespaces as u16 {
        let before = nodes.len();
        for kind in 0..KINDS {
            let count = reader.size().ok_or_else(cut_short)?;
            if nodes.len().saturating_add(count) > TABLE_NODES_MAX {
                return Err(too_many("nodes", TABLE_NODES_MAX));
            }
            let (mut least, mut last) = (0_u64, Vec::new());
            for at in 0..count {
                let identifier = match kind {
                    0 => read_number(reader, &mut least)?,
                    2 => read_guid(reader)?,
                    _ => read_text(reader, kind, &mut last, &mut text_left)?,
                };
                let follows = |node: &TableEntry| compare(&node.identifier, &identifier).is_lt();
                if at > 0 && !nodes.last().is_none_or(follows) {
                    return Err(out_of_order());
                }
                nodes.push(TableEntry { namespace, identifier });
            }
        }
        if nodes.len() == before {
            return Err(NodeTableError::new("a namespace of the node table has no node"));
        }
    }
    Ok(nodes)
}

fn read_number(reader: &mut TokenReader<'_>, least: &mut u64) -> Result<Identifier, NodeTableError> {
    let distance = reader.number().ok_or_else(cut_short)?;
    let number = least.checked_add(distance).and_then(|number| u32::try_from(number).ok());
    let number = number.ok_or_else(out_of_order)?;
    *least = u64::from(number) + 1;
    Ok(Identifier::Numeric(number))
}

fn read_guid(reader: &mut TokenReader<'_>) -> Result<Identifier, NodeTableError> {
    let bytes = reader.take(16).and_then(|bytes| bytes.try_into().ok()).ok_or_else(cut_short)?;
    Ok(Identifier::Guid(Guid::from_bytes(bytes)))
}

fn read_text(
    reader: &mut TokenReader<'_>,
    kind: u8,
    last: &mut Vec<u8>,
    text_left: &mut usize,
) -> Result<Identifier, NodeTableError> {
    let (shared, length) = reader.size().zip(reader.size()).ok_or_else(cut_short)?;
    let whole = shared.checked_add(length).filter(|whole| (1..=IDENTIFIER_BYTES_MAX).contains(whole));
    let whole = whole.filter(|_| shared <= last.len()).ok_or_else(cut_short)?;
    *text_left =
        text_left.checked_sub(whole).ok_or_else(|| too_many("bytes of identifiers", TABLE_TEXT_BYTES_MAX))?;
    last.truncate(shared);
    last.extend_from_slice(reader.take(length).ok_or_else(cut_short)?);
    if kind == 3 {
        return Ok(Identifier::ByteString(last.clone().into()));
    }
    let text = std::str::from_utf8(last)
        .map_err(|_| NodeTableError::new("an identifier of the node table is no UTF-8"))?;
    Ok(Identifier::String(UAString::from(text)))
}

fn cut_short() -> NodeTableError {
    NodeTableError::new("the node table is cut short or damaged")
}

fn out_of_order() -> NodeTableError {
    NodeTableError::new("the node table is not in its order")
}
