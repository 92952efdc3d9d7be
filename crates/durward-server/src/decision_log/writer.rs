//! Where lines of the decision log go: standard output, or a file that may be rotated away under us.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the file's name is looked at: after a rotation, lines go to the old file for at most so long.
const ROTATION_CHECK: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    out: BufWriter<Box<dyn Write + Send>>,
    file: Option<Appended>,
    /// So that a full disk is reported once and not once per line.
    is_broken: bool,
}

/// The file at `path`, as it was when it was opened.
struct Appended {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    checked: Instant,
}

impl Writer {
    pub(super) fn stdout() -> Writer {
        Writer { out: BufWriter::new(Box::new(io::stdout())), file: None, is_broken: false }
    }

    /// # Errors
    /// A file that cannot be opened for appending.
    pub(super) fn file(path: PathBuf) -> io::Result<Writer> {
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let appended = Appended { identity: identity(&file), path, checked: Instant::now() };
        Ok(Writer { out: BufWriter::new(Box::new(file)), file: Some(appended), is_broken: false })
    }

    /// Whether the line could be written, as far as is known before it is flushed.
    pub(super) fn write(&mut self, line: &str) -> bool {
        self.follow_rotation();
        let result = self.out.write_all(line.as_bytes()).and_then(|()| self.out.write_all(b"\n"));
        self.note(result)
    }

    pub(super) fn flush(&mut self) -> bool {
        let result = self.out.flush();
        self.note(result)
    }

    fn note(&mut self, result: io::Result<()>) -> bool {
        match &result {
            Ok(()) => self.is_broken = false,
            Err(error) if !self.is_broken => {
                tracing::error!(%error, "the decision log cannot be written");
                self.is_broken = true;
            }
            Err(_) => {}
        }
        result.is_ok()
    }

    /// Opens the file anew where its name leads to another file or to none.
    fn follow_rotation(&mut self) {
        let Some(file) = &mut self.file else { return };
        if file.checked.elapsed() < ROTATION_CHECK {
            return;
        }
        file.checked = Instant::now();
        if file.identity.is_some() && identity_at(&file.path) == file.identity {
            return;
        }
        let path = file.path.clone();
        self.flush();
        match Writer::file(path) {
            Ok(writer) => *self = writer,
            Err(error) => tracing::error!(%error, "the decision log cannot be opened again"),
        }
    }
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
