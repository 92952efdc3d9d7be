//! What a token grants: for each row of a node table a set of permissions, as bitmaps, one column for each permission in use.
//!
//! ```text
//!  grants = 1 | form << 4, version of the table (16 bytes), rows, granted permissions, asked permissions, columns
//! ```
//!
//! The permissions are masks as in `PermissionType`; columns follow in the order of their bits, the granted before the asked. A form
//! says how the columns are written: as they are, as lengths of runs, or deflated. The writer takes what is shortest.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::bytes::{TokenReader, put_number};
use super::table::{NodeTable, TABLE_NODES_MAX, TableVersion};
use crate::permission::Permission;

/// What a token says of one permission on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum GrantVerdict {
    /// It may be done.
    Granted,
    /// It may not. What a token does not speak of is refused.
    #[default]
    Refused,
    /// It depends on live values: the gate's own decision point decides, each time.
    Ask,
}

/// Why the grants of a token cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantsError {
    /// They are damaged, or of a format that is unknown here.
    Malformed,
    /// They are for another table than the one that is in force.
    OtherTable,
}

impl fmt::Display for GrantsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GrantsError::Malformed => "the token's permissions cannot be read",
            GrantsError::OtherTable => {
                "the token was made over another version of the node table: ask for a new token"
            }
        })
    }
}

impl std::error::Error for GrantsError {}

const FORMAT: u8 = 1;
const PERMISSIONS: usize = Permission::ALL.len();
const WORD: usize = 64;

/// One bit for each row.
type RowBits = Box<[u64]>;

/// One kind of bitmap for each permission in use.
#[derive(Clone, PartialEq, Eq, Default)]
struct PermissionColumns([Option<RowBits>; PERMISSIONS]);

impl PermissionColumns {
    fn has(&self, permission: Permission, row: u32) -> bool {
        let column = self.0.get(permission as usize).and_then(Option::as_deref);
        let word = column.and_then(|column| column.get(row as usize / WORD));
        word.is_some_and(|word| word >> (row as usize % WORD) & 1 == 1)
    }

    fn set(&mut self, permission: Permission, row: u32, rows: usize, to: bool) {
        let Some(slot) = self.0.get_mut(permission as usize) else { return };
        if slot.is_none() && !to {
            return;
        }
        let column = slot.get_or_insert_with(|| vec![0; rows.div_ceil(WORD)].into());
        if let Some(word) = column.get_mut(row as usize / WORD) {
            let bit = 1 << (row as usize % WORD);
            *word = if to { *word | bit } else { *word & !bit };
        }
        if !to && column.iter().all(|word| *word == 0) {
            *slot = None;
        }
    }

    /// The permissions whose column has a bit.
    fn mask(&self) -> u64 {
        let is_used =
            |column: &Option<RowBits>| column.iter().any(|column| column.iter().any(|word| *word != 0));
        (0..).zip(&self.0).filter(|(_, column)| is_used(column)).map(|(bit, _)| 1 << bit).sum()
    }

    fn used(&self) -> impl Iterator<Item = &[u64]> {
        let mask = self.mask();
        let used = (0..).zip(&self.0).filter(move |(bit, _)| mask >> bit & 1 == 1);
        used.filter_map(|(_, column)| column.as_deref())
    }
}

/// What a token grants over one version of one table.
#[derive(Clone, PartialEq, Eq)]
pub struct Grants {
    version: TableVersion,
    rows: usize,
    /// INVARIANT: no bit at or behind `rows`; none where `asked` has one.
    granted: PermissionColumns,
    asked: PermissionColumns,
}

impl Grants {
    /// Nothing, over a table.
    pub fn none(table: &NodeTable) -> Grants {
        let (granted, asked) = (PermissionColumns::default(), PermissionColumns::default());
        Grants { version: table.version(), rows: table.len(), granted, asked }
    }

    /// Sets what is said of a permission on a row. A row that the table does not have is passed over.
    pub fn set(&mut self, row: u32, permission: Permission, verdict: GrantVerdict) {
        if row as usize >= self.rows {
            return;
        }
        self.granted.set(permission, row, self.rows, verdict == GrantVerdict::Granted);
        self.asked.set(permission, row, self.rows, verdict == GrantVerdict::Ask);
    }

    /// What is said of a permission on a row.
    pub fn get(&self, row: u32, permission: Permission) -> GrantVerdict {
        if self.granted.has(permission, row) {
            GrantVerdict::Granted
        } else if self.asked.has(permission, row) {
            GrantVerdict::Ask
        } else {
            GrantVerdict::Refused
        }
    }

    /// Whether anything is left to the gate.
    pub fn asks_something(&self) -> bool {
        self.asked.0.iter().any(Option::is_some)
    }

    /// The version of the table that they are for.
    pub fn version(&self) -> TableVersion {
        self.version
    }

    /// How many rows that table has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// As a token carries them.
    pub fn encode(&self) -> String {
        let plain = self.plain();
        let (runs, deflated) = (self.runs(), compress_to_vec(&plain, 9));
        let shortest = [plain, runs, deflated].into_iter().enumerate().min_by_key(|(_, body)| body.len());
        let (form, body) = shortest.unwrap_or_default();
        let mut bytes = vec![FORMAT | (form as u8) << 4];
        bytes.extend_from_slice(&self.version.bytes());
        put_number(&mut bytes, self.rows as u64);
        put_number(&mut bytes, self.granted.mask());
        put_number(&mut bytes, self.asked.mask());
        bytes.extend_from_slice(&body);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn columns(&self) -> impl Iterator<Item = &[u64]> {
        self.granted.used().chain(self.asked.used())
    }

    fn plain(&self) -> Vec<u8> {
        let length = self.rows.div_ceil(8);
        self.columns()
            .flat_map(|column| column.iter().flat_map(|word| word.to_le_bytes()).take(length))
            .collect()
    }

    /// Lengths of runs, in each column beginning with a run of zeros, which may be empty.
    fn runs(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for column in self.columns() {
            let (mut length, mut is_set) = (0_u64, false);
            for row in 0..self.rows {
                let bit = column.get(row / WORD).is_some_and(|word| word >> (row % WORD) & 1 == 1);
                if bit != is_set {
                    put_number(&mut bytes, length);
                    (length, is_set) = (0, bit);
                }
                length += 1;
            }
            put_number(&mut bytes, length);
        }
        bytes
    }

    /// The version of the table that what a token carries is written for, without that table; nothing where it is damaged.
    pub fn table_version(text: &str) -> Option<TableVersion> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut reader = TokenReader::new(&bytes);
        reader.byte().filter(|first| first & 0x0f == FORMAT)?;
        reader.take(16).and_then(TableVersion::read)
    }

    /// How much of what a token carries is granted, without the table that it is written for: what its owner can see of it. Nothing where it is
    /// damaged.
    pub fn summary(text: &str) -> Option<GrantsSummary> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut reader = TokenReader::new(&bytes);
        let first = reader.byte().filter(|first| first & 0x0f == FORMAT)?;
        let version = reader.take(16).and_then(TableVersion::read)?;
        let rows = reader.size().filter(|rows| *rows <= TABLE_NODES_MAX)?;
        let mut mask = || reader.number().filter(|mask| *mask < 1 << PERMISSIONS);
        let (granted, asked) = mask().zip(mask())?;
        let [granted, asked] = read_columns(first >> 4, reader.rest(), rows, [granted, asked])?;
        let counts = [granted, asked].map(|columns| columns.0.map(|column| count(column.as_deref())));
        Some(GrantsSummary { version, rows, counts })
    }

    /// Reads what a token carries, for a table.
    ///
    /// # Errors
    /// It is damaged, or for another version of the table, or for other rows.
    pub fn decode(text: &str, table: &NodeTable) -> Result<Grants, GrantsError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| GrantsError::Malformed)?;
        let mut reader = TokenReader::new(&bytes);
        let first = reader.byte().filter(|first| first & 0x0f == FORMAT).ok_or(GrantsError::Malformed)?;
        let version = reader.take(16).and_then(TableVersion::read).ok_or(GrantsError::Malformed)?;
        let rows = reader.size().filter(|rows| *rows <= TABLE_NODES_MAX).ok_or(GrantsError::Malformed)?;
        if version != table.version() || rows != table.len() {
            return Err(GrantsError::OtherTable);
        }
        let mut mask = || reader.number().filter(|mask| *mask < 1 << PERMISSIONS);
        let (granted, asked) = mask().zip(mask()).ok_or(GrantsError::Malformed)?;
        let body = reader.rest();
        read_columns(first >> 4, body, rows, [granted, asked])
            .map(|[granted, asked]| Grants { version, rows, granted, asked })
            .filter(Grants::is_sound)
            .ok_or(GrantsError::Malformed)
    }

    /// Whether nothing is both granted and asked, and each column said to be in use is.
    fn is_sound(&self) -> bool {
        let overlap = |one: &Option<RowBits>, other: &Option<RowBits>| match (one, other) {
            (Some(one), Some(other)) => one.iter().zip(other).any(|(one, other)| one & other != 0),
            (Some(_), None) | (None, Some(_) | None) => false,
        };
        let is_empty = |column: &RowBits| column.iter().all(|word| *word == 0);
        !self.granted.0.iter().zip(&self.asked.0).any(|(one, other)| overlap(one, other))
            && !self.granted.0.iter().chain(&self.asked.0).flatten().any(is_empty)
    }
}

fn count(column: Option<&[u64]>) -> usize {
    column.unwrap_or_default().iter().map(|word| word.count_ones() as usize).sum()
}

/// How much a token grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantsSummary {
    /// The version of the table that it is written for.
    pub version: TableVersion,
    /// How many nodes that table has.
    pub rows: usize,
    /// Granted and asked, by permission.
    counts: [[usize; PERMISSIONS]; 2],
}

impl GrantsSummary {
    /// On how many nodes a permission is granted, and on how many it is left to the gate.
    pub fn of(&self, permission: Permission) -> (usize, usize) {
        let [granted, asked] =
            self.counts.map(|counts| counts.get(permission as usize).copied().unwrap_or(0));
        (granted, asked)
    }
}

/// How much it grants, not what.
impl fmt::Debug for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (granted, asked) = (self.granted.mask(), self.asked.mask());
        write!(f, "Grants({} rows, granted {granted:#x}, asked {asked:#x}, {})", self.rows, self.version)
    }
}

fn read_columns(form: u8, body: &[u8], rows: usize, masks: [u64; 2]) -> Option<[PermissionColumns; 2]> {
    let count = masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>();
    let length = rows.div_ceil(8);
    let unpacked;
    let mut reader = match form {
        0 | 1 => TokenReader::new(body),
        2 => {
            unpacked = decompress_to_vec_with_limit(body, count * length).ok()?;
            TokenReader::new(&unpacked)
        }
        _ => return None,
    };
    let mut all = [PermissionColumns::default(), PermissionColumns::default()];
    for (columns, mask) in all.iter_mut().zip(masks) {
        for (bit, column) in (0..).zip(&mut columns.0) {
            if mask >> bit & 1 == 1 {
                *column = Some(match form {
                    1 => read_runs(&mut reader, rows)?,
                    _ => read_plain(reader.take(length)?, rows)?,
                });
            }
        }
    }
    reader.is_at_end().then_some(all)
}

fn read_plain(bytes: &[u8], rows: usize) -> Option<RowBits> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    };
    let column: RowBits = bytes.chunks(8).map(word).collect();
    let used = rows % WORD;
    let is_clean = used == 0 || column.last().is_none_or(|last| last >> used == 0);
    is_clean.then_some(column)
}

fn read_runs(reader: &mut TokenReader<'_>, rows: usize) -> Option<RowBits> {
    let mut column: RowBits = vec![0; rows.div_ceil(WORD)].into();
    let (mut at, mut is_set) = (0, false);
    while at < rows {
        let length = reader.size()?;
        let end = at.checked_add(length).filter(|end| *end <= rows)?;
        // Only the first run may be empty: others would be a second way to write the same.
        if length == 0 && (at > 0 || is_set) {
            return None;
        }
        if is_set {
            fill(&mut column, at, end);
        }
        (at, is_set) = (end, !is_set);
    }
    Some(column)
}

fn fill(column: &mut RowBits, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let (word, bit) = (at / WORD, at % WORD);
        let count = (WORD - bit).min(to - at);
        let ones = if count == WORD { u64::MAX } else { ((1 << count) - 1) << bit };
        if let Some(word) = column.get_mut(word) {
            *word |= ones;
        }
        at += count;
    }
}
