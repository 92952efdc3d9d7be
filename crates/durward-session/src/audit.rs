//! The record of what happened, on disk: lines chained by hashes, in files that are rotated.
//!
//! `audit.jsonl` is written to; when it is full it becomes `audit-NUMBER.jsonl`, with the number of its first line, so that names in
//! order are lines in order. The chain goes on from file to file. A last line that a crash has torn is cut off when the record is opened
//! again, and a line says so.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_identity::audit::{AuditChain, AuditEvent, Kind, LINE_BYTES_MAX};
use durward_identity::{IdentityError, Moment, user};
use tokio::runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::counters::{Counter, Counters};
use crate::turned_away::RejectionSummary;

/// How many events may wait for the disk.
const EVENTS_MAX: usize = 8192;

/// How many events are written at once.
const BATCH: usize = 512;

/// How long lines wait for the disk in [`AuditSync::EverySecond`].
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The file that is written to.
const CURRENT: &str = "audit.jsonl";

/// When the disk is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AuditSync {
    /// Never: a crash of the machine loses what the system had not written yet.
    Never,
    /// Once a second.
    #[default]
    EverySecond,
    /// After each batch of lines.
    Always,
}

/// Where the record is and how much of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// The directory.
    pub path: PathBuf,
    /// How long a file may become before the next one is begun.
    pub file_bytes_max: u64,
    /// How many full files are kept; the oldest goes. 0 keeps all.
    pub files_max: usize,
    /// When the disk is waited for.
    pub sync: AuditSync,
}

/// Writes the record. Cloning shares it.
#[derive(Clone, Debug)]
pub struct SessionAuditLog {
    events: mpsc::Sender<AuditQueueEntry>,
    counters: Arc<Counters>,
}

#[derive(Debug)]
enum AuditQueueEntry {
    Event(Moment, Box<AuditEvent>),
    TurnedAway(Moment, IpAddr, Box<AuditEvent>),
    Close(oneshot::Sender<()>),
}

impl SessionAuditLog {
    /// Opens the record and goes on with its chain.
    ///
    /// # Errors
    /// The directory or file cannot be used, or the last line of the record is none.
    pub fn open(
        settings: AuditSettings,
        now: Moment,
        counters: Arc<Counters>,
    ) -> Result<SessionAuditLog, IdentityError> {
        let place = settings.path.join(CURRENT);
        let mut writer = AuditWriter::open(settings).map_err(|error| error.of(place.display()))?;
        writer.write(now, AuditEvent::new(Kind::Started)).map_err(|error| error.of(place.display()))?;
        let (events, queue) = mpsc::channel(EVENTS_MAX);
        let counted = Arc::clone(&counters);
        let thread_failed =
            |error: io::Error| IdentityError::new(format!("cannot start a thread for the audit: {error}"));
        let time = runtime::Builder::new_current_thread().enable_time().build().map_err(thread_failed)?;
        thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || time.block_on(writer.work(queue, &counted)))
            .map_err(thread_failed)?;
        Ok(SessionAuditLog { events, counters })
    }

    /// Notes an event, and waits for room where there is none: whoever floods the record waits for it.
    pub async fn record(&self, at: Moment, event: AuditEvent) {
        self.send(AuditQueueEntry::Event(at, Box::new(event))).await;
    }

    /// Records a request that was rejected before its credentials were checked: as a line, or in the count of a later line.
    pub async fn record_turned_away(&self, at: Moment, address: IpAddr, event: AuditEvent) {
        self.send(AuditQueueEntry::TurnedAway(at, address, Box::new(event))).await;
    }

    async fn send(&self, entry: AuditQueueEntry) {
        if self.events.send(entry).await.is_err() {
            self.counters.count(Counter::AuditLost);
        }
    }

    /// Notes an event where nobody can wait; it is lost, and counted, where there is no room.
    pub fn note(&self, at: Moment, event: AuditEvent) {
        if self.events.try_send(AuditQueueEntry::Event(at, Box::new(event))).is_err() {
            self.counters.count(Counter::AuditLost);
        }
    }

    /// Writes everything noted so far, waits for the disk, and closes the file. What is noted later is lost.
    pub async fn close(&self) {
        let (done, waits) = oneshot::channel();
        if self.events.send(AuditQueueEntry::Close(done)).await.is_ok() {
            // When the writer is gone there is nothing to wait for.
            let _ = waits.await;
        }
    }
}

struct AuditWriter {
    settings: AuditSettings,
    file: File,
    bytes: u64,
    chain: AuditChain,
    is_dirty: bool,
    /// Whether the next file could not be begun; the one that is full is written to.
    is_stuck: bool,
    turned_away: RejectionSummary,
}

impl AuditWriter {
    fn open(settings: AuditSettings) -> Result<AuditWriter, IdentityError> {
        private_folder().create(&settings.path).map_err(failed)?;
        let path = settings.path.join(CURRENT);
        let mut file = open_current(&path)?;
        let (bytes, torn) = cut_torn(&mut file)?;
        let last = match last_line(&mut file, bytes)? {
            Some(line) => Some(line),
            None => last_of_rotated(&settings.path)?,
        };
        let chain = last.map_or(Ok(AuditChain::default()), |line| AuditChain::after(&line))?;
        if torn > 0 {
            tracing::warn!(
                bytes = torn,
                "the audit record ended with a line that was not whole; it was cut off"
            );
        }
        let turned_away = RejectionSummary::default();
        Ok(AuditWriter { settings, file, bytes, chain, is_dirty: false, is_stuck: false, turned_away })
    }

    /// Writes what comes, on a thread of its own, which may block.
    async fn work(mut self, mut queue: mpsc::Receiver<AuditQueueEntry>, counters: &Counters) {
        let mut synced = Instant::now();
        let mut batch = Vec::new();
        loop {
            let due = synced + SYNC_EVERY;
            // The last lines of a while go to the disk as well when no other follows.
            let is_waited_for = self.is_dirty && self.settings.sync == AuditSync::EverySecond;
            let ends = self.turned_away.ends();
            tokio::select! {
                biased;
                () = sleep_until(due), if is_waited_for => {}
                () = sleep_until(ends.unwrap_or(due)), if ends.is_some() => {}
                count = queue.recv_many(&mut batch, BATCH) => if count == 0 {
                    break;
                },
            }
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                self.write_turned_away(counters);
            }
            for entry in batch.drain(..) {
                match entry {
                    AuditQueueEntry::Event(at, event) => self.write_or_count(at, *event, counters),
                    AuditQueueEntry::TurnedAway(at, address, event) => {
                        if let Some(event) = self.turned_away.count(Instant::now(), at, address, *event) {
                            self.write_or_count(at, event, counters);
                        }
                    }
                    AuditQueueEntry::Close(done) => {
                        self.write_turned_away(counters);
                        self.sync_and_count(counters);
                        drop(self);
                        // Whoever waited may have gone.
                        let _ = done.send(());
                        return;
                    }
                }
            }
            let is_due = match self.settings.sync {
                AuditSync::Never => false,
                AuditSync::EverySecond => self.is_dirty && Instant::now() >= due,
                AuditSync::Always => true,
            };
            if is_due {
                self.sync_and_count(counters);
                synced = Instant::now();
            }
        }
        self.write_turned_away(counters);
        self.sync_and_count(counters);
    }

    /// Writes how many were turned away beside those that are lines.
    fn write_turned_away(&mut self, counters: &Counters) {
        let lines: Vec<(Moment, AuditEvent)> = self.turned_away.end().collect();
        for (at, event) in lines {
            self.write_or_count(at, event, counters);
        }
    }

    fn write_or_count(&mut self, at: Moment, event: AuditEvent, counters: &Counters) {
        if let Err(error) = self.write(at, event) {
            counters.count(Counter::AuditLost);
            tracing::error!(%error, "a line of the audit record is lost");
        }
    }

    fn sync_and_count(&mut self, counters: &Counters) {
        if self.sync() {
            counters.count(Counter::AuditSynced);
        }
    }

    /// Waits for the disk where there is something for it. Whether it took that.
    fn sync(&mut self) -> bool {
        if !std::mem::take(&mut self.is_dirty) {
            return false;
        }
        let synced = self.file.sync_data();
        if let Err(error) = &synced {
            tracing::error!(%error, "the disk does not take the audit record");
        }
        synced.is_ok()
    }

    fn write(&mut self, at: Moment, event: AuditEvent) -> Result<(), IdentityError> {
        if self.bytes >= self.settings.file_bytes_max {
            self.rotate_or_go_on();
        }
        let before = self.chain.clone();
        let line = self.chain.line(at, event)? + "\n";
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // What may be there of the line must not stand before the next one.
            let _ = self.file.set_len(self.bytes);
            self.chain = before;
            return Err(failed(error));
        }
        self.bytes += line.len() as u64;
        self.is_dirty = true;
        Ok(())
    }

    /// A file that becomes too long loses nothing, and a line that is not written is lost.
    fn rotate_or_go_on(&mut self) {
        match self.rotate() {
            Ok(()) => self.is_stuck = false,
            // Each line tries again.
            Err(_) if self.is_stuck => {}
            Err(error) => {
                self.is_stuck = true;
                tracing::error!(%error, "the next file of the audit record cannot be begun; the full one goes on");
            }
        }
    }

    fn rotate(&mut self) -> Result<(), IdentityError> {
        let current = self.settings.path.join(CURRENT);
        let first = first_number(&current).unwrap_or_else(|| self.chain.checkpoint().number());
        let full = self.settings.path.join(format!("audit-{first:015}.jsonl"));
        match fs::rename(&current, full) {
            // It got its name before, and then the next one could not be opened.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed.map_err(failed)?,
        }
        let next = open_current(&current)?;
        self.sync();
        self.file = next;
        self.bytes = 0;
        if let Err(error) = self.remove_oldest() {
            tracing::error!(%error, "old files of the audit record cannot be listed");
        }
        Ok(())
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let mut full = rotated(&self.settings.path)?;
        let excess = match self.settings.files_max {
            0 => 0,
            max => full.len().saturating_sub(max),
        };
        for old in full.drain(..excess) {
            if let Err(error) = fs::remove_file(&old) {
                tracing::error!(%error, file = %old.display(), "an old file of the audit record cannot be removed");
            }
        }
        Ok(())
    }
}

fn open_current(path: &Path) -> Result<File, IdentityError> {
    let file = private(OpenOptions::new().read(true).create(true).append(true)).open(path).map_err(failed)?;
    user::lock(&file).map_err(|error| IdentityError::new(format!("another process writes it ({error})")))?;
    Ok(file)
}

/// For its owner's eyes only, when it is made: people type passwords where their names belong.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The same for a directory.
fn private_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder
}

fn failed(error: io::Error) -> IdentityError {
    IdentityError::new(error.to_string())
}

/// The full files, oldest first.
fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if name.starts_with("audit-") && name.ends_with(".jsonl") {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn last_of_rotated(path: &Path) -> Result<Option<String>, IdentityError> {
    let Some(last) = rotated(path).map_err(failed)?.pop() else { return Ok(None) };
    let mut file = File::open(&last).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    last_line(&mut file, bytes).map_err(|error| error.of(last.display()))
}

/// Cuts off what follows the last end of a line. How long the file is then, and how much was cut.
fn cut_torn(file: &mut File) -> Result<(u64, u64), IdentityError> {
    let length = file.metadata().map_err(failed)?.len();
    let tail = tail(file, length)?;
    let torn = tail.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    if torn > 0 && torn == tail.len() as u64 && length > torn {
        return Err(IdentityError::new("the audit record ends with what is no line of it"));
    }
    file.set_len(length - torn).map_err(failed)?;
    Ok((length - torn, torn))
}

/// The end of a file, at least one line of it.
fn tail(file: &mut File, length: u64) -> Result<Vec<u8>, IdentityError> {
    let from = length.saturating_sub(2 * LINE_BYTES_MAX as u64);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut tail = Vec::new();
    file.take(length - from).read_to_end(&mut tail).map_err(failed)?;
    Ok(tail)
}

/// The last line of a file of whole lines, without its end.
fn last_line(file: &mut File, length: u64) -> Result<Option<String>, IdentityError> {
    let tail = tail(file, length)?;
    let whole = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let last = whole.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(last) {
        Ok("") => Ok(None),
        Ok(line) => Ok(Some(line.to_owned())),
        Err(_) => Err(IdentityError::new("the last line of the audit record is no text")),
    }
}

/// The number of a file's first line: what stands after `{"number":`.
fn first_number(path: &Path) -> Option<u64> {
    let mut head = [0; 64];
    let count = File::open(path).ok()?.read(&mut head).ok()?;
    let text = std::str::from_utf8(head.get(..count)?).ok()?;
    text.strip_prefix("{\"number\":")?.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use durward_identity::audit::ChainVerifier;

    use super::*;

    fn writer(folder: &Path, files_max: usize) -> AuditWriter {
        let _ = fs::remove_dir_all(folder);
        // Each line has a file of its own.
        let settings =
            AuditSettings { path: folder.to_owned(), file_bytes_max: 1, files_max, sync: AuditSync::Never };
        AuditWriter::open(settings).unwrap()
    }

    fn note(writer: &mut AuditWriter) {
        writer.write(Moment::from_ms(1), AuditEvent::new(Kind::Started)).unwrap();
    }

    /// How many lines there are; their chain holds.
    fn lines(folder: &Path, files: &[PathBuf]) -> usize {
        let mut verifier = ChainVerifier::new(None);
        let current = folder.join(CURRENT);
        let all = files.iter().chain([&current]);
        let count = |file| {
            verifier.file(BufReader::new(File::open(file).unwrap())).unwrap();
            fs::read_to_string(file).unwrap().lines().count()
        };
        let count = all.map(count).sum();
        verifier.end().unwrap();
        count
    }

    /// The full file had its name, and the next one could not be opened (a process with too many files open). From then on there was
    /// none to rename, and every line was lost until the restart.
    #[test]
    fn a_file_that_cannot_be_begun_loses_no_line_and_is_tried_again() {
        let folder = std::env::temp_dir().join(format!("durward-audit-stuck-{}", std::process::id()));
        let mut writer = writer(&folder, 0);
        note(&mut writer);
        note(&mut writer);
        fs::rename(folder.join(CURRENT), folder.join("audit-000000000000002.jsonl")).unwrap();
        fs::create_dir(folder.join(CURRENT)).unwrap();
        note(&mut writer);
        assert!(writer.is_stuck);
        fs::remove_dir(folder.join(CURRENT)).unwrap();
        note(&mut writer);
        assert!(!writer.is_stuck);
        let full = rotated(&folder).unwrap();
        assert_eq!((full.len(), lines(&folder, &full)), (2, 4));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_old_file_that_cannot_be_removed_loses_no_line() {
        let folder = std::env::temp_dir().join(format!("durward-audit-stays-{}", std::process::id()));
        let mut writer = writer(&folder, 1);
        // A directory is not removed as a file is.
        fs::create_dir(folder.join("audit-.jsonl")).unwrap();
        for number in 1..4 {
            note(&mut writer);
            assert_eq!(first_number(&folder.join(CURRENT)), Some(number));
        }
        assert_eq!(rotated(&folder).unwrap().len(), 2, "the others are removed");
        fs::remove_dir_all(folder).unwrap();
    }

    /// People type passwords where their names belong, and names are written down.
    #[cfg(unix)]
    #[test]
    fn the_record_is_for_its_owners_eyes_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("durward-audit-private-{}", std::process::id()));
        let mut writer = writer(&folder, 0);
        note(&mut writer);
        note(&mut writer);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(CURRENT))), (0o700, 0o600));
        for full in rotated(&folder).unwrap() {
            assert_eq!(mode(&full), 0o600);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
