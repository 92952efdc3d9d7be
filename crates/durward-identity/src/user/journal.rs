//! A file that only grows: batches of entries one after the other, each with its length and a digest.
//!
//! Why not an embedded database: users and what changes of them fit into memory and are read whole at the start, so that neither an
//! index nor a cache would have anything to do. fjall and redb would make the binary larger for that, and an open report against fjall
//! tells of writes that stand still after a kill, which is when this file is needed.
//!
//! A batch is one write, with a wait for the disk behind it. One that is not whole at the end of the file is what a crash leaves of a
//! write that nobody was told of, and is cut off: a disk may have taken its later pages and not the first. Damage before the end is an error. A write is done when the disk has it, and has the file's name: a file that nobody finds again
//! holds nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ring::digest::{SHA256, digest};

use crate::IdentityError;
use crate::error::failed;

#[cfg(test)]
mod tests;

/// What the file begins with; its last byte is the version.
const HEAD: &[u8; 16] = b"durward journal2";

/// What each batch begins with, to find one behind damage without looking at every byte twice. Not UTF-8: names and texts that are
/// kept cannot hold it.
const MARK: [u8; 4] = [0xff, 0xd6, 0xb7, 0xfe];

/// The longest entry, in bytes. An entry that claims to be longer is damaged.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;

/// The longest batch, in bytes: more is written in several, each with its own wait for the disk.
const BATCH_BYTES_MAX: usize = 2 << 20;

/// The bytes of a length.
const LENGTH: usize = 4;

/// Mark (4), length (4) and digest (8) before each batch.
const BEFORE: usize = 16;

/// The longest batch with what stands before it.
const WHOLE_BYTES_MAX: usize = BEFORE + BATCH_BYTES_MAX;

/// How much is read at once.
const WINDOW: usize = 2 * WHOLE_BYTES_MAX;

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
    folder: Folder,
    /// INVARIANT: up to here, the file holds whole entries and nothing else.
    length: u64,
    entries: usize,
    /// What stands before that place, where others write the file as well.
    mark: Option<Vec<u8>>,
}

/// How much of the end of what is known must be as it was, for the file to be the one that is known: more than a digest.
const MARK_BYTES: u64 = 64;

/// The directory that has the file's name. It is open for as long as the journal: a process that has run out of files to open can
/// still wait for it.
#[derive(Debug)]
struct Folder {
    /// `None` where a directory cannot be opened as a file, and its names are on the disk without that.
    open: Option<File>,
    /// Whether the file's name may not be on the disk.
    is_behind: bool,
}

impl Folder {
    fn of(path: &Path) -> io::Result<Folder> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let open = if cfg!(unix) { Some(File::open(folder.unwrap_or(Path::new(".")))?) } else { None };
        Ok(Folder { open, is_behind: true })
    }

    /// Waits until the file's name is on the disk, where it may not be.
    fn sync(&mut self) -> io::Result<()> {
        if let Some(open) = self.open.as_ref().filter(|_| self.is_behind) {
            open.sync_all()?;
        }
        self.is_behind = false;
        Ok(())
    }
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
        let mut file = open_file(path, may_begin)?;
        if !may_begin {
            check_whole(&mut file).map_err(|error| error.of(path.display()))?;
        }
        let mut journal = Journal::begin(path, file, collecting(&mut entries))?;
        journal.note_mark();
        Ok((journal, entries))
    }

    /// What stands at the end of what is known.
    fn end(&self) -> io::Result<Vec<u8>> {
        let mut end = Vec::new();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.length.saturating_sub(MARK_BYTES)))?;
        file.take(self.length.min(MARK_BYTES)).read_to_end(&mut end)?;
        Ok(end)
    }

    /// Notes by what the file is known again.
    fn note_mark(&mut self) {
        // What cannot be read is not known again, and read anew.
        self.mark = Some(self.end().unwrap_or_default());
    }

    /// Whether something else was written over what is known: by a copy that was put there, or a restored one.
    fn is_overwritten(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| self.end().ok().as_ref() != Some(mark))
    }

    fn begin(
        path: &Path,
        mut file: File,
        show: impl FnMut(&[u8]) -> Result<(), IdentityError>,
    ) -> Result<Journal, IdentityError> {
        let failed = |what: &str, error: io::Error| {
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
            let is_other_version =
                head.split_last().map(|(_, name)| name) == HEAD.split_last().map(|(_, name)| name);
            let error = if is_other_version {
                "it is a journal of another version of durward, which this one does not read"
            } else {
                "it is no journal of durward's"
            };
            return Err(IdentityError::new(error).of(path.display()));
        }
        let (length, entries) =
            read(&mut file, Journal::START, show).map_err(|error| error.of(path.display()))?;
        file.set_len(length).map_err(|error| failed("write", error))?;
        let mut folder = Folder::of(path).map_err(|error| failed("open the directory of", error))?;
        // Also of a file that was there: whoever made it, or put it there, may have ended before its name was on the disk.
        folder.sync().map_err(|error| failed("write the directory of", error))?;
        Ok(Journal { path: path.to_owned(), file, folder, length, entries, mark: None })
    }

    /// Where the first entry stands, for [`Journal::entries_from`].
    pub const START: u64 = HEAD.len() as u64;

    /// Entries from the start or a place that this gave on, some of about so many bytes but at least one, and the place behind them.
    /// None at the end.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else than it did.
    pub fn entries_from(&mut self, at: u64, bytes: usize) -> Result<(Vec<Vec<u8>>, u64), IdentityError> {
        let wanted = bytes.max(WHOLE_BYTES_MAX) as u64;
        let mut part = Vec::new();
        let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| {
            (&mut self.file).take(wanted.min(self.length.saturating_sub(at))).read_to_end(&mut part)
        });
        read.map_err(|error| self.failed("read", &error))?;
        let (mut entries, mut rest) = (Vec::new(), part.as_slice());
        while let Some((batch, after)) = one(rest).and_then(|(batch, after)| Some((split(batch)?, after))) {
            entries.extend(batch.into_iter().map(<[u8]>::to_vec));
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

    /// Whether another file stands in its place, or none, or something else in it. While this one is open, its number is not given to another.
    #[cfg(unix)]
    pub(super) fn is_replaced(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let number = |metadata: io::Result<std::fs::Metadata>| {
            metadata.ok().map(|metadata| (metadata.dev(), metadata.ino()))
        };
        let open = number(self.file.metadata());
        open.is_none() || number(std::fs::metadata(&self.path)) != open || self.is_overwritten()
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
        self.note_mark();
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

    /// Adds entries, with one wait for the disk for about each two megabytes of them. Without any, it is seen whether the disk
    /// takes what is written.
    ///
    /// # Errors
    /// One is too long, or the disk did not take them: then none of them is there at the next start.
    pub fn append(&mut self, entries: &[&[u8]]) -> Result<(), IdentityError> {
        let batches = batches(entries)?;
        match self.write(&batches) {
            Ok(length) => {
                self.length = length;
                self.entries += entries.len();
                if self.mark.is_some() {
                    self.note_mark();
                }
                Ok(())
            }
            Err(error) => {
                // What may be there of them must not stand before what is written next.
                let _ = self.file.set_len(self.length);
                Err(self.failed("write", &error))
            }
        }
    }

    /// Writes batches behind what there is, and gives the place behind them.
    fn write(&mut self, batches: &[Vec<u8>]) -> io::Result<u64> {
        self.folder.sync()?;
        let mut length = self.file.seek(SeekFrom::Start(self.length))?;
        for batch in batches {
            if length > self.length {
                // Only the last batch may not be whole.
                self.file.sync_data()?;
            }
            self.file.write_all(batch)?;
            length += batch.len() as u64;
        }
        self.file.sync_data()?;
        Ok(length)
    }

    /// Puts these entries in the place of all that there are: in another file first, so that a crash leaves the one or the other.
    ///
    /// # Errors
    /// One is too long, or the disk did not take them; see [`Journal::put`].
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
        let made = || -> io::Result<File> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = private(&mut options).open(&path)?;
            belongs_with(&file, &self.path);
            lock(&file).map_err(io::Error::other)?;
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
    /// The disk did not take it: then all is as before. Or it is in the place, and the disk did not take its name: nothing is added
    /// to it then before the disk has that.
    pub fn put(&mut self, replacement: Replacement) -> Result<(), IdentityError> {
        let Replacement { path, file, length, entries } = replacement;
        let renamed = file.sync_all().and_then(|()| std::fs::rename(&path, &self.path));
        renamed.map_err(|error| self.failed("replace", &error))?;
        // From here on the old file has no name, whatever else goes wrong.
        (self.file, self.length, self.entries) = (file, length, entries);
        if self.mark.is_some() {
            self.note_mark();
        }
        self.folder.is_behind = true;
        self.folder.sync().map_err(|error| self.failed("write the directory of", &error))
    }

    fn failed(&self, what: &str, error: &io::Error) -> IdentityError {
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
        for batch in batches(entries)? {
            self.file.write_all(&batch).map_err(|error| {
                IdentityError::new(format!("cannot write `{}`: {error}", self.path.display()))
            })?;
            self.length += batch.len() as u64;
        }
        self.entries += entries.len();
        Ok(())
    }
}

/// Entries as they stand in the file, in as many batches as they need.
fn batches(entries: &[&[u8]]) -> Result<Vec<Vec<u8>>, IdentityError> {
    let (mut batches, mut batch) = (Vec::new(), Vec::new());
    for entry in entries {
        if entry.len() > ENTRY_BYTES_MAX {
            return failed(format!(
                "an entry of more than {ENTRY_BYTES_MAX} bytes does not go into the journal"
            ));
        }
        if batch.len() + LENGTH + entry.len() > BATCH_BYTES_MAX {
            batches.push(framed(&std::mem::take(&mut batch)));
        }
        batch.extend(length_of(entry));
        batch.extend(*entry);
    }
    if !batch.is_empty() {
        batches.push(framed(&batch));
    }
    Ok(batches)
}

fn framed(batch: &[u8]) -> Vec<u8> {
    [&MARK[..], &length_of(batch), &digest_of(batch), batch].concat()
}

/// The length of an entry or a batch, which have fewer bytes than 32 bits count.
fn length_of(bytes: &[u8]) -> [u8; LENGTH] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()
}

fn digest_of(batch: &[u8]) -> [u8; 8] {
    let digest = digest(&SHA256, batch);
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
    let unreadable = |error: io::Error| IdentityError::new(format!("cannot be read: {error}"));
    let mut count = 0;
    file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
    let mut window = Vec::new();
    loop {
        let room = (WINDOW - window.len()) as u64;
        let is_end = file.take(room).read_to_end(&mut window).map_err(unreadable)? < room as usize;
        let mut rest = window.as_slice();
        while let Some((batch, after)) = one(rest).and_then(|(batch, after)| Some((split(batch)?, after))) {
            for entry in batch {
                show(entry)?;
                count += 1;
            }
            rest = after;
        }
        at += (window.len() - rest.len()) as u64;
        // Short of the end, what is not whole may go on behind the window, unless it is longer than a batch.
        if is_end || rest.len() > WHOLE_BYTES_MAX {
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

/// That a journal ends with an entry.
///
/// # Errors
/// It does not, is damaged, or cannot be read.
fn check_whole(file: &mut File) -> Result<(), IdentityError> {
    let unreadable = |error: io::Error| IdentityError::new(format!("cannot be read: {error}"));
    let length = file.metadata().map_err(unreadable)?.len();
    let end = if length < Journal::START { 0 } else { read(file, Journal::START, |_| Ok(()))?.0 };
    if end != length || length == 0 {
        return failed(
            "it is not whole: is it being copied? If not, `durward users list` cuts off what a crash has left",
        );
    }
    file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    Ok(())
}

/// Whether nothing but zeros is left.
fn is_zeros(rest: &[u8], file: &mut File) -> io::Result<bool> {
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

/// A whole batch that these bytes begin with, and what follows it.
fn one(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mark, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (digest, rest) = rest.split_first_chunk::<8>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let is_one = *mark == MARK && length <= BATCH_BYTES_MAX;
    let (batch, after) = rest.split_at_checked(length).filter(|_| is_one)?;
    (digest_of(batch) == *digest).then_some((batch, after))
}

/// The entries of a batch, of which there is at least one.
fn split(batch: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut entries, mut rest) = (Vec::new(), batch);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (entry, after) = after.split_at_checked(length)?;
        entries.push(entry);
        rest = after;
    }
    (rest.is_empty() && !entries.is_empty()).then_some(entries)
}

/// Whether this may be what is there of one last write: no whole batch is anywhere in it. A file system may have made the file
/// longer before it wrote what belongs there, which leaves zeros.
fn is_torn(rest: &[u8]) -> bool {
    if rest.iter().all(|byte| *byte == 0) {
        return true;
    }
    rest.len() <= WHOLE_BYTES_MAX && (0..rest.len()).all(|at| rest.get(at..).and_then(one).is_none())
}
