//! The tokens that were recalled before their end, in memory and in a file. Nodes that share sessions tell each other beside that, by the
//! name that [`name_of`] gives.
//!
//! A line of the file is the second in which the token ends, a blank, and the token's name. Lines are only added; what has ended is left out
//! when the file is written anew at the start.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durward_session::identity::session::SessionId;
use durward_session::identity::{IdentityError, Moment};
use sha2::{Digest, Sha256};

/// How many recalled tokens are remembered; beyond, none is recalled until some have ended. About 20 MiB.
const REVOKED_TOKENS_MAX: usize = 100_000;

/// The longest file that is read: twice what so many tokens take.
const REVOKED_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const NAME: &str = "revoked-tokens";

/// Tokens by name, with the second in which each ends.
pub(super) struct Revoked(Mutex<Inner>);

struct Inner {
    ends: HashMap<String, u64>,
    file: Option<File>,
}

/// Why a token could not be recalled.
#[derive(Debug)]
pub(super) enum NotRevoked {
    Full,
    Failed(io::Error),
}

/// What names a token among the nodes that share sessions, where it is told as a session that has ended is.
pub(super) fn name_of(token: &str) -> SessionId {
    let digest = Sha256::digest(format!("oauth token {token}"));
    let mut name = [0; 16];
    name.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    SessionId(name)
}

impl Revoked {
    /// What a directory holds; without one, only what is recalled from now on, and until the end of the process.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(super) fn open(data: Option<&Path>, now: Moment) -> Result<Revoked, IdentityError> {
        let Some(data) = data else {
            return Ok(Revoked(Mutex::new(Inner { ends: HashMap::new(), file: None })));
        };
        let path = data.join(NAME);
        let failed = |error: io::Error| IdentityError::new(format!("`{}`: {error}", path.display()));
        let ends = read(&path, now).map_err(failed)?;
        let file = write_anew(&path, &ends).map_err(failed)?;
        Ok(Revoked(Mutex::new(Inner { ends, file: Some(file) })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // What a thread that panicked left is a map with all that was put in.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contains(&self, token: &str) -> bool {
        self.inner().ends.contains_key(token)
    }

    /// Recalls a token. Waits for the disk.
    ///
    /// # Errors
    /// There are too many, or it cannot be written down: it is recalled until the end of the process then, and to be tried again.
    pub(super) fn add(&self, token: &str, ends_s: u64, now: Moment) -> Result<(), NotRevoked> {
        let mut inner = self.inner();
        if inner.ends.len() >= REVOKED_TOKENS_MAX {
            inner.ends.retain(|_, ends| *ends > now.ms() / 1000);
        }
        if inner.ends.len() >= REVOKED_TOKENS_MAX {
            return Err(NotRevoked::Full);
        }
        inner.ends.insert(token.to_owned(), ends_s);
        let Some(file) = &mut inner.file else { return Ok(()) };
        let written = file.write_all(format!("{ends_s} {token}\n").as_bytes());
        written.and_then(|()| file.sync_data()).map_err(NotRevoked::Failed)
    }
}

fn read(path: &Path, now: Moment) -> io::Result<HashMap<String, u64>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
        Ok(metadata) if metadata.len() > REVOKED_FILE_BYTES_MAX => {
            return Err(io::Error::other(format!("longer than {REVOKED_FILE_BYTES_MAX} bytes")));
        }
        Ok(_) => {}
    }
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    let token = |line: &str| {
        let (ends, token) = line.split_once(' ')?;
        let ends: u64 = ends.parse().ok()?;
        (ends > now.ms() / 1000).then(|| (token.to_owned(), ends))
    };
    // A last line that a crash cut short was never answered for.
    Ok(text.lines().filter_map(token).take(REVOKED_TOKENS_MAX).collect())
}

/// Writes the file without what has ended, and opens it for what comes.
fn write_anew(path: &Path, ends: &HashMap<String, u64>) -> io::Result<File> {
    let new = path.with_extension("new");
    let lines: String = ends.iter().map(|(token, ends)| format!("{ends} {token}\n")).collect();
    let mut file = File::create(&new)?;
    file.write_all(lines.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    OpenOptions::new().append(true).open(path)
}
