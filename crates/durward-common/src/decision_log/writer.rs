//! Where lines of the decision log go: standard output, or a file that may be rotated away under us.
//!
//! A line stands there whole or not at all. Where only a part of what waits could be written, because a disk is full, the
//! rest of it comes first as soon as there is room; lines that come meanwhile are lost, and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the file's name is looked at: after a rotation, lines go to the old file for at most so long.
const ROTATION_CHECK: Duration = Duration::from_secs(1);

/// How much waits to be written at once.
const BUFFER_BYTES: usize = 64 * 1024;

pub(super) struct Writer {
    out: Box<dyn Write + Send>,
    /// Whole lines, but for the first where a part of it is written.
    buffer: Vec<u8>,
    is_first_begun: bool,
    file: Option<Appended>,
    /// So that a full disk is reported once and not once per line.
    is_broken: bool,
}

/// What became of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) written: u64,
    pub(super) failed: u64,
}

/// The file at `path`, as it was when it was opened.
struct Appended {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    checked: Instant,
}

impl Writer {
    pub(super) fn stdout() -> Writer {
        Writer::to(Box::new(io::stdout()), None)
    }

    /// # Errors
    /// A file that cannot be opened for appending.
    pub(super) fn file(path: PathBuf) -> io::Result<Writer> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let appended = Appended { identity: identity(&file), path, checked: Instant::now() };
        Ok(Writer::to(Box::new(file), Some(appended)))
    }

    fn to(out: Box<dyn Write + Send>, file: Option<Appended>) -> Writer {
        Writer { out, buffer: Vec::new(), is_first_begun: false, file, is_broken: false }
    }

    /// Takes a line; it is written now, or by [`Writer::flush`].
    pub(super) fn write(&mut self, line: &str) -> Done {
        let done = self.follow_rotation();
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_BYTES { done.and(self.flush()) } else { done }
    }

    /// Writes what waits. What cannot be written is lost, but for the rest of a line that was begun.
    pub(super) fn flush(&mut self) -> Done {
        let (length, result) = self.write_out();
        self.note(&result);
        let written = lines(self.buffer.get(..length).unwrap_or_default());
        self.is_first_begun = match length.checked_sub(1).and_then(|last| self.buffer.get(last)) {
            Some(last) => *last != b'\n',
            None => self.is_first_begun && !self.buffer.is_empty(),
        };
        self.buffer.drain(..length);
        let end = self.buffer.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let kept = if self.is_first_begun { end } else { 0 };
        let failed = lines(self.buffer.get(kept..).unwrap_or_default());
        self.buffer.truncate(kept);
        if self.buffer.capacity() > 2 * BUFFER_BYTES {
            self.buffer.shrink_to(BUFFER_BYTES);
        }
        Done { written, failed }
    }

    /// How many bytes could be written, and what came in between.
    fn write_out(&mut self) -> (usize, io::Result<()>) {
        let mut length = 0;
        while let Some(rest) = self.buffer.get(length..).filter(|rest| !rest.is_empty()) {
            match self.out.write(rest) {
                Ok(0) => return (length, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (length, Err(error)),
            }
        }
        // Standard output keeps back what is no whole line.
        (length, self.out.flush())
    }

    fn note(&mut self, result: &io::Result<()>) {
        match result {
            Ok(()) => self.is_broken = false,
            Err(error) if !self.is_broken => {
                tracing::error!(%error, "the decision log cannot be written");
                self.is_broken = true;
            }
            Err(_) => {}
        }
    }

    /// Opens the file anew where its name leads to another file or to none. The rest of a line that was begun has no
    /// place in the new one.
    fn follow_rotation(&mut self) -> Done {
        let Some(file) = &mut self.file else { return Done::default() };
        if file.checked.elapsed() < ROTATION_CHECK {
            return Done::default();
        }
        file.checked = Instant::now();
        if file.identity.is_some() && identity_at(&file.path) == file.identity {
            return Done::default();
        }
        let path = file.path.clone();
        let done = self.flush();
        match Writer::file(path) {
            Ok(writer) => {
                let failed = u64::from(!self.buffer.is_empty());
                *self = writer;
                done.and(Done { written: 0, failed })
            }
            Err(error) => {
                tracing::error!(%error, "the decision log cannot be opened again");
                done
            }
        }
    }
}

impl Done {
    fn and(self, other: Done) -> Done {
        Done { written: self.written + other.written, failed: self.failed + other.failed }
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(unix)]
fn of(metadata: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Without device and file numbers, the length of the path's life is unknown: such systems do not rename open
/// files either.
#[cfg(not(unix))]
fn of(_: &std::fs::Metadata) -> (u64, u64) {
    (0, 0)
}

fn identity(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().as_ref().map(of)
}

fn identity_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().as_ref().map(of)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A disk with room for so many bytes more.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (kept, room) = &mut *self.0.lock().unwrap();
            if *room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(*room);
            *room -= count;
            kept.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Disk {
        fn make_room(&self, bytes: usize) {
            self.0.lock().unwrap().1 = bytes;
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().0.clone()).unwrap()
        }
    }

    fn done(written: u64, failed: u64) -> Done {
        Done { written, failed }
    }

    #[test]
    fn a_line_stands_whole_or_not_at_all_on_a_disk_that_is_full() {
        let disk = Disk::default();
        let mut writer = Writer::to(Box::new(disk.clone()), None);
        disk.make_room(8);
        ["one", "two", "three"].into_iter().for_each(|line| assert_eq!(writer.write(line), done(0, 0)));
        assert_eq!(writer.flush(), done(2, 1), "`one` and `two`; of `three` nothing");
        disk.make_room(2);
        writer.write("four");
        writer.write("five");
        assert_eq!(writer.flush(), done(0, 1), "of `four` a part, which is to be ended");
        writer.write("six");
        assert_eq!(writer.flush(), done(0, 1));
        disk.make_room(100);
        writer.write("seven");
        assert_eq!(writer.flush(), done(2, 0));
        assert_eq!(disk.text(), "one\ntwo\nfour\nseven\n");
    }
}
