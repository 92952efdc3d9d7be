//! A file that only grows: entries one after the other, each with its length and a digest.
//!
//! Why not an embedded database: users and what changes of them fit into memory and are read whole at the start, so that neither an
//! index nor a cache would have anything to do. fjall and redb would make the binary larger for that, and an open report against fjall
//! tells of writes that stand still after a kill, which is when this file is needed.
//!
//! An entry that is not whole at the end of the file is what a crash leaves of a write that nobody was told of: it is cut off.
//! Damage before the end is an error. A write is done when the disk has it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::IdentityError;
use crate::error::failed;

/// What the file begins with.
const HEAD: &[u8; 16] = b"durward journal1";

/// The longest entry, in bytes. What says it is longer is damage.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;

/// Length (4) and digest (8) before each entry.
const BEFORE: usize = 12;

/// How much is read at once.
const WINDOW: usize = 4 * (BEFORE + ENTRY_BYTES_MAX);

/// How long a file that another process has is waited for, in steps.
const LOCK_PATIENCE: (u32, Duration) = (100, Duration::from_millis(20));

/// Locks a file for this process. For two seconds it is waited for another one that is about to end, or that has been
/// started with this very file open and has yet to let go of it.
///
/// # Errors
/// Another process has it, or there are no locks where it is.
pub fn lock(file: &File) -> Result<(), TryLockError> {
    let (steps, pause) = LOCK_PATIENCE;
    for _ in 0..steps {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(pause),
            done => return done,
        }
    }
    file.try_lock()
}

/// A journal that is open. One process at a time has it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// INVARIANT: up to here, the file holds whole entries and nothing else.
    length: u64,
    entries: usize,
}

impl Journal {
    /// Opens a journal, or begins one, and gives its entries.
    ///
    /// # Errors
    /// As [`Journal::scan`].
    pub fn open(path: &Path) -> Result<(Journal, Vec<Vec<u8>>), IdentityError> {
        let mut entries = Vec::new();
        let journal = Journal::scan(path, collecting(&mut entries))?;
        Ok((journal, entries))
    }

    /// Opens a journal, or begins one, and shows each entry while it reads: none of them is held.
    ///
    /// # Errors
    /// The file cannot be read or written, another process has it, it is damaged before its end, or `show` does not accept an entry.
    pub fn scan(
        path: &Path,
        show: impl FnMut(&[u8]) -> Result<(), IdentityError>,
    ) -> Result<Journal, IdentityError> {
        let file = open_file(path, true)?;
        lock(&file).map_err(|error| {
            IdentityError::new(format!("another process has `{}` ({error}): stop it first", path.display()))
        })?;
        Journal::begin(path, file, show)
    }

    /// The same as [`Journal::open`] for one that others have open as well; the caller sees to it that nobody writes meanwhile.
    /// `may_begin` says whether one is begun where there is none.
    pub(super) fn open_shared(
        path: &Path,
        may_begin: bool,
    ) -> Result<(Journal, Vec<Vec<u8>>), IdentityError> {
        let mut entries = Vec::new();
        let journal = Journal::begin(path, open_file(path, may_begin)?, collecting(&mut entries))?;
        Ok((journal, entries))
    }

    fn begin(
        path: &Path,
        mut file: File,
        show: impl FnMut(&[u8]) -> Result<(), IdentityError>,
    ) -> Result<Journal, IdentityError> {
        let failed = |what: &str, error: std::io::Error| {
            IdentityError::new(format!("cannot {what} `{}`: {error}", path.display()))
        };
        let mut head = Vec::new();
        let beginning = (&mut file).take(HEAD.len() as u64).read_to_end(&mut head);
        beginning.map_err(|error| failed("read", error))?;
        if head.len() < HEAD.len() && HEAD.starts_with(&head) {
            // New, or a crash came before the first entry.
            file.seek(SeekFrom::Start(0)).map_err(|error| failed("write", error))?;
            file.write_all(HEAD).and_then(|()| file.sync_all()).map_err(|error| failed("write", error))?;
        } else if head != HEAD {
            let error = IdentityError::new("it is no journal of durward's, or of a version to come");
            return Err(error.of(path.display()));
        }
        let (length, entries) =
            read(&mut file, Journal::START, show).map_err(|error| error.of(path.display()))?;
        file.set_len(length).map_err(|error| failed("write", error))?;
        Ok(Journal { path: path.to_owned(), file, length, entries })
    }

    /// Where the first entry stands, for [`Journal::entries_from`].
    pub const START: u64 = HEAD.len() as u64;

    /// Entries from a place on, some of about so many bytes but at least one, and the place behind them. None at the end.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else than it did.
    pub fn entries_from(&mut self, at: u64, bytes: usize) -> Result<(Vec<Vec<u8>>, u64), IdentityError> {
        let wanted = bytes.max(BEFORE + ENTRY_BYTES_MAX) as u64;
        let mut part = Vec::new();
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| {
            (&mut self.file).take(wanted.min(self.length.saturating_sub(at))).read_to_end(&mut part)
        });
        read.map_err(|error| self.failed("read", &error))?;
        let (mut entries, mut rest) = (Vec::new(), part.as_slice());
        while let Some((entry, after)) = one(rest) {
            entries.push(entry.to_vec());
            rest = after;
        }
        if entries.is_empty() && !part.is_empty() {
            return failed(format!("`{}` was changed at byte {at}", self.path.display()));
        }
        Ok((entries, at + (part.len() - rest.len()) as u64))
    }

    /// Whether the file is the one that is open, and nothing was written to it by others.
    pub(super) fn is_as_known(&self) -> bool {
        let length = std::fs::metadata(&self.path).map(|metadata| metadata.len());
        length.is_ok_and(|length| length == self.length) && !self.is_replaced()
    }

    /// Whether another file stands in its place, or none. While this one is open, its number is not given to another.
    #[cfg(unix)]
    pub(super) fn is_replaced(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let number = |metadata: std::io::Result<std::fs::Metadata>| {
            metadata.ok().map(|metadata| (metadata.dev(), metadata.ino()))
        };
        let open = number(self.file.metadata());
        open.is_none() || number(std::fs::metadata(&self.path)) != open
    }

    /// Whether another file stands in its place, or it has changed, which cannot be told apart here.
    #[cfg(not(unix))]
    pub(super) fn is_replaced(&self) -> bool {
        std::fs::metadata(&self.path).map(|metadata| metadata.len()).ok() != Some(self.length)
    }

    /// Reads what others have written after what is known. What is not whole of it is cut off, as in [`Journal::open`].
    pub(super) fn read_more(&mut self) -> Result<Vec<Vec<u8>>, IdentityError> {
        let mut entries = Vec::new();
        let read = read(&mut self.file, self.length, collecting(&mut entries));
        let (length, count) = read.map_err(|error| error.of(self.path.display()))?;
        self.file.set_len(length).map_err(|error| self.failed("write", &error))?;
        self.length = length;
        self.entries += count;
        Ok(entries)
    }

    /// How many entries there are.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// How long the file is, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds entries, all with one wait for the disk.
    ///
    /// # Errors
    /// One is too long, or the disk did not take them: then none of them is there at the next start.
    pub fn append(&mut self, entries: &[&[u8]]) -> Result<(), IdentityError> {
        let bytes = write(entries)?;
        let done = self.file.seek(SeekFrom::Start(self.length)).and_then(|_| {
            self.file.write_all(&bytes)?;
            self.file.sync_data()
        });
        if let Err(error) = done {
            // What may be there of them must not stand before what is written next.
            let _ = self.file.set_len(self.length);
            return Err(self.failed("write", &error));
        }
        self.length += bytes.len() as u64;
        self.entries += entries.len();
        Ok(())
    }

    /// Puts these entries in the place of all that there are: in another file first, so that a crash leaves the one or the other.
    ///
    /// # Errors
    /// One is too long, or the disk did not take them: then all is as before.
    pub fn replace(&mut self, entries: &[&[u8]]) -> Result<(), IdentityError> {
        let mut replacement = self.replacement()?;
        replacement.add(entries)?;
        self.put(replacement)
    }

    /// Begins a file that is to be put in the place of this one, for more entries than are to be held in memory. One that is not put
    /// there has no effect.
    ///
    /// # Errors
    /// It cannot be made, or another one is being made.
    pub fn replacement(&self) -> Result<Replacement, IdentityError> {
        let path = self.path.with_extension("new");
        let made = || -> std::io::Result<File> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = private(&mut options).open(&path)?;
            belongs_with(&file, &self.path);
            lock(&file).map_err(std::io::Error::other)?;
            // One that was given up may have left something.
            file.set_len(0)?;
            file.write_all(HEAD)?;
            Ok(file)
        };
        let file = made().map_err(|error| self.failed("replace", &error))?;
        Ok(Replacement { path, file, length: HEAD.len() as u64, entries: 0 })
    }

    /// Puts it in the place of this file: a crash leaves the one or the other.
    ///
    /// # Errors
    /// The disk did not take it: then all is as before.
    pub fn put(&mut self, replacement: Replacement) -> Result<(), IdentityError> {
        let Replacement { path, file, length, entries } = replacement;
        let put = || -> std::io::Result<()> {
            file.sync_all()?;
            std::fs::rename(&path, &self.path)?;
            if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                File::open(folder)?.sync_all()?;
            }
            Ok(())
        };
        put().map_err(|error| self.failed("replace", &error))?;
        (self.file, self.length, self.entries) = (file, length, entries);
        Ok(())
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> IdentityError {
        IdentityError::new(format!("cannot {what} `{}`: {error}", self.path.display()))
    }
}

/// For its owner's eyes only, when it is made: there are hashes of passwords, or keys, in it.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Gives a file to whom another one belongs, where that may be done: an administrator who changes users must not take them from the
/// server, which runs as somebody else.
pub(super) fn belongs_with(file: &File, other: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        if let Ok(owner) = std::fs::metadata(other) {
            // Whoever may not do that is the owner himself, or one of those to whom it makes no difference.
            let _ = fchown(file, Some(owner.uid()), Some(owner.gid()));
            let _ = file.set_permissions(owner.permissions());
        }
    }
    #[cfg(not(unix))]
    let _ = (file, other);
}

fn open_file(path: &Path, may_begin: bool) -> Result<File, IdentityError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(may_begin).truncate(false);
    private(&mut options)
        .open(path)
        .map_err(|error| IdentityError::new(format!("cannot open `{}`: {error}", path.display())))
}

/// A file that is being made, to be put in the place of a journal.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    file: File,
    length: u64,
    entries: usize,
}

impl Replacement {
    /// Adds entries.
    ///
    /// # Errors
    /// One is too long, or the disk did not take them: then this is of no use any more.
    pub fn add(&mut self, entries: &[&[u8]]) -> Result<(), IdentityError> {
        let bytes = write(entries)?;
        self.file.write_all(&bytes).map_err(|error| {
            IdentityError::new(format!("cannot write `{}`: {error}", self.path.display()))
        })?;
        self.length += bytes.len() as u64;
        self.entries += entries.len();
        Ok(())
    }
}

fn write(entries: &[&[u8]]) -> Result<Vec<u8>, IdentityError> {
    let mut bytes = Vec::new();
    for entry in entries {
        let length = u32::try_from(entry.len()).ok().filter(|_| entry.len() <= ENTRY_BYTES_MAX);
        let Some(length) = length else {
            return failed(format!(
                "an entry of more than {ENTRY_BYTES_MAX} bytes does not go into the journal"
            ));
        };
        bytes.extend(length.to_be_bytes());
        bytes.extend(digest_of(entry));
        bytes.extend(*entry);
    }
    Ok(bytes)
}

fn digest_of(entry: &[u8]) -> [u8; 8] {
    let digest = digest(&SHA256, entry);
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

/// Keeps what is shown.
fn collecting(entries: &mut Vec<Vec<u8>>) -> impl FnMut(&[u8]) -> Result<(), IdentityError> {
    |entry| {
        entries.push(entry.to_vec());
        Ok(())
    }
}

/// Shows the entries of a file from a place on. Where they end, and how many there are.
fn read(
    file: &mut File,
    mut at: u64,
    mut show: impl FnMut(&[u8]) -> Result<(), IdentityError>,
) -> Result<(u64, usize), IdentityError> {
    let unreadable = |error: std::io::Error| IdentityError::new(format!("cannot be read: {error}"));
    let mut count = 0;
    file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
    let mut window = Vec::new();
    loop {
        let room = (WINDOW - window.len()) as u64;
        let is_end = file.take(room).read_to_end(&mut window).map_err(unreadable)? < room as usize;
        let mut rest = window.as_slice();
        // Short of the end, what is not whole may go on behind the window.
        while let Some((entry, after)) =
            one(rest).filter(|_| is_end || rest.len() >= BEFORE + ENTRY_BYTES_MAX)
        {
            show(entry)?;
            count += 1;
            rest = after;
        }
        at += (window.len() - rest.len()) as u64;
        if is_end || rest.len() >= BEFORE + ENTRY_BYTES_MAX {
            let is_whole = rest.is_empty()
                || if is_end { is_torn(rest) } else { is_zeros(rest, file).map_err(unreadable)? };
            if is_whole {
                return Ok((at, count));
            }
            return failed(format!(
                "it is damaged at byte {at}: restore it from a copy; entries before that are whole"
            ));
        }
        let read = window.len() - rest.len();
        window.drain(..read);
    }
}

/// Whether nothing but zeros is left.
fn is_zeros(rest: &[u8], file: &mut File) -> std::io::Result<bool> {
    if rest.iter().any(|byte| *byte != 0) {
        return Ok(false);
    }
    let mut window = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut window)?;
        if count == 0 {
            return Ok(true);
        }
        if window.iter().take(count).any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
}

fn one(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (before, rest) = bytes.split_first_chunk::<BEFORE>()?;
    let [a, b, c, d, digest @ ..] = *before;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
    let (entry, after) = rest.split_at_checked(length).filter(|_| length <= ENTRY_BYTES_MAX)?;
    (digest_of(entry) == digest).then_some((entry, after))
}

/// Whether this may be the beginning of one last write: nothing whole follows anywhere in it. A file system may have made the file
/// longer before it wrote what belongs there, which leaves zeros.
fn is_torn(rest: &[u8]) -> bool {
    if rest.iter().all(|byte| *byte == 0) {
        return true;
    }
    let is_short = rest.len() < BEFORE + ENTRY_BYTES_MAX;
    // An empty entry's digest is looked for as well: zeros have none.
    is_short && (0..rest.len()).all(|at| rest.get(at..).and_then(one).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("durward-journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn filled(path: &Path) -> Vec<u8> {
        let (mut journal, entries) = Journal::open(path).unwrap();
        assert!(entries.is_empty());
        journal.append(&[b"one", b"two"]).unwrap();
        journal.append(&[b"three"]).unwrap();
        drop(journal);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_write_torn_anywhere_leaves_what_was_there_before() {
        let folder = folder("torn");
        let path = folder.join("users");
        let whole = filled(&path);
        let before_three = whole.len() - b"three".len() - BEFORE;
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (mut journal, entries) = Journal::open(&path).unwrap();
            let expected = if length >= before_three { 2 } else { entries.len().min(1) };
            assert_eq!(entries.len(), expected, "{length}");
            journal.append(&[b"four"]).unwrap();
            drop(journal);
            assert_eq!(Journal::open(&path).unwrap().1.last().unwrap(), b"four");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damage_before_the_end_is_an_error_and_never_a_shorter_journal() {
        let folder = folder("damaged");
        let path = folder.join("users");
        let whole = filled(&path);
        let second = HEAD.len() + BEFORE + b"one".len();
        for at in 0..second {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x01;
            std::fs::write(&path, &damaged).unwrap();
            assert!(Journal::open(&path).is_err(), "{at}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Entries that reach over the edges of what is read at once, and zeros behind them that are longer than that.
    #[test]
    fn a_long_journal_is_read_as_a_short_one() {
        let folder = folder("long");
        let path = folder.join("users");
        let (mut journal, _) = Journal::open(&path).unwrap();
        let lengths = [ENTRY_BYTES_MAX, 1, 0, 700_000, ENTRY_BYTES_MAX - 1, 300_000];
        let entry = |number: usize| vec![u8::try_from(number).unwrap(); lengths[number % lengths.len()]];
        let all: Vec<Vec<u8>> = (0..24).map(entry).collect();
        journal.append(&all.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
        let (mut found, mut at) = (Vec::new(), Journal::START);
        loop {
            let (some, next) = journal.entries_from(at, 1).unwrap();
            if some.is_empty() {
                break;
            }
            found.extend(some);
            at = next;
        }
        assert_eq!((found == all, at), (true, journal.length()));
        let length = journal.length();
        journal.file.set_len(length + 3 * WINDOW as u64).unwrap();
        drop(journal);
        let (journal, found) = Journal::open(&path).unwrap();
        assert_eq!((found == all, journal.length()), (true, length));
        journal.file.set_len(length + 3 * WINDOW as u64).unwrap();
        drop(journal);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"x").unwrap();
        assert!(Journal::open(&path).unwrap_err().to_string().contains("damaged at byte"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn replacing_keeps_what_is_put_in_the_place_and_what_comes_after() {
        let folder = folder("replaced");
        let path = folder.join("users");
        filled(&path);
        let (mut journal, entries) = Journal::open(&path).unwrap();
        assert_eq!(entries, [b"one".to_vec(), b"two".to_vec(), b"three".to_vec()]);
        assert!(Journal::open(&path).unwrap_err().to_string().contains("another process"));
        journal.replace(&[b"all"]).unwrap();
        journal.append(&[b"more"]).unwrap();
        assert!(journal.append(&[&vec![0; ENTRY_BYTES_MAX + 1]]).is_err());
        drop(journal);
        let (journal, entries) = Journal::open(&path).unwrap();
        assert_eq!(entries, [b"all".to_vec(), b"more".to_vec()]);
        assert_eq!(journal.entries(), 2);
        let mut given_up = journal.replacement().unwrap();
        given_up.add(&[b"nothing", b"of", b"this"]).unwrap();
        assert!(journal.replacement().is_err(), "one at a time");
        drop(given_up);
        let mut in_pieces = journal.replacement().unwrap();
        in_pieces.add(&[b"a", b"b"]).unwrap();
        in_pieces.add(&[b"c"]).unwrap();
        let mut journal = journal;
        journal.put(in_pieces).unwrap();
        journal.append(&[b"d"]).unwrap();
        drop(journal);
        let (_, entries) = Journal::open(&path).unwrap();
        assert_eq!(entries, [b"a", b"b", b"c", b"d"].map(|entry| entry.to_vec()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
