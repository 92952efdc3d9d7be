//! The tokens that were recalled before their end, in memory and in a file. Nodes that share sessions tell each other beside that, by the
//! name that [`name_of`] gives.
//!
//! A line of the file is the second in which the token ends, a blank, and the token's name. Lines are only added; what has ended is left out
//! when the file is written anew at the start.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use durward_session::identity::session::SessionId;
use durward_session::identity::{IdentityError, Moment};
use sha2::{Digest, Sha256};

/// How many revoked tokens are remembered. Beyond that, no token can be revoked until some have expired. About 20
/// MiB.
const REVOKED_TOKENS_MAX: usize = 100_000;

/// The longest file of revoked tokens that is read: twice what that many tokens take.
const REVOKED_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const NAME: &str = "revoked-tokens";

/// Tokens by name, with the second in which each ends.
pub(crate) struct Revoked {
    /// Nobody waits for the disk while holding it: every decision looks in.
    ends: RwLock<HashMap<String, u64>>,
    /// Held while a line is written: they come one after the other.
    file: Mutex<Option<Lines>>,
}

/// The file that is added to.
struct Lines {
    file: File,
    /// Whether the last line may not be whole.
    is_torn: bool,
}

impl Lines {
    fn new(file: File) -> Lines {
        Lines { file, is_torn: false }
    }

    /// Adds a line, and waits for the disk. Behind one that may not be whole it begins with the end of that.
    fn add(&mut self, ends_s: u64, token: &str) -> io::Result<()> {
        let before = if self.is_torn { "\n" } else { "" };
        self.is_torn = true;
        self.file.write_all(format!("{before}{ends_s} {token}\n").as_bytes())?;
        self.is_torn = false;
        self.file.sync_data()
    }
}

/// Why a token could not be recalled.
#[derive(Debug)]
pub(crate) enum NotRevoked {
    Full,
    Failed(io::Error),
}

/// What names a token among the nodes that share sessions, where it is told as a session that has ended is.
pub(crate) fn name_of(token: &str) -> SessionId {
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
    pub(crate) fn open(data: Option<&Path>, now: Moment) -> Result<Revoked, IdentityError> {
        let Some(data) = data else {
            return Ok(Revoked { ends: RwLock::default(), file: Mutex::default() });
        };
        let path = data.join(NAME);
        let failed = |error: io::Error| IdentityError::new(format!("`{}`: {error}", path.display()));
        let ends = read(&path, now).map_err(failed)?;
        let file = write_anew(&path, &ends).map_err(failed)?;
        Ok(Revoked { ends: RwLock::new(ends), file: Mutex::new(Some(Lines::new(file))) })
    }

    fn ends(&self) -> RwLockReadGuard<'_, HashMap<String, u64>> {
        // What a thread that panicked left is a map with all that was put in.
        self.ends.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends_mut(&self) -> RwLockWriteGuard<'_, HashMap<String, u64>> {
        self.ends.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn contains(&self, token: &str) -> bool {
        self.ends().contains_key(token)
    }

    /// Recalls a token. Waits for the disk.
    ///
    /// # Errors
    /// There are too many, or it cannot be written down: it is recalled until the end of the process then, and to be tried again.
    pub(crate) fn add(&self, token: &str, ends_s: u64, now: Moment) -> Result<(), NotRevoked> {
        self.remember(token, ends_s, now)?;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = &mut *file else { return Ok(()) };
        lines.add(ends_s, token).map_err(NotRevoked::Failed)
    }

    fn remember(&self, token: &str, ends_s: u64, now: Moment) -> Result<(), NotRevoked> {
        let mut ends = self.ends_mut();
        if ends.len() >= REVOKED_TOKENS_MAX {
            ends.retain(|_, ends| *ends > now.ms() / 1000);
        }
        if ends.len() >= REVOKED_TOKENS_MAX {
            return Err(NotRevoked::Full);
        }
        ends.insert(token.to_owned(), ends_s);
        Ok(())
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
    // What is added goes into the new file: its name must be on the disk before.
    #[cfg(unix)]
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    OpenOptions::new().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const NOW: Moment = Moment::from_ms(1_000);

    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("durward-revoked-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn with_file(folder: &Folder, file: File) -> Revoked {
        let revoked = Revoked::open(Some(&folder.0), NOW).unwrap();
        *revoked.file.lock().unwrap() = Some(Lines::new(file));
        revoked
    }

    /// A decision looked whether its token was recalled, and waited for the disk that another token's recall was waiting for.
    #[cfg(unix)]
    #[test]
    fn nobody_who_asks_waits_for_the_disk() {
        let folder = Folder::new("slow");
        // A disk that takes no more than a little, until somebody reads.
        let (reader, writer) = io::pipe().unwrap();
        let revoked = Arc::new(with_file(&folder, File::from(OwnedFd::from(writer))));
        let long = "x".repeat(1 << 24);
        let adding = thread::spawn({
            let (revoked, long) = (Arc::clone(&revoked), long.clone());
            move || revoked.add(&long, 100, NOW).is_ok()
        });
        let (answered, answer) = channel();
        thread::spawn(move || {
            while !revoked.contains(&long) {
                thread::yield_now();
            }
            answered.send(()).unwrap();
        });
        answer.recv_timeout(Duration::from_secs(600)).unwrap();
        assert!(!adding.is_finished());
        drop(reader);
        assert!(!adding.join().unwrap(), "nobody has it");
    }

    /// A disk that was full for a moment took a part of a line. The next line went on in it, and neither was there after a restart.
    #[test]
    fn a_line_that_was_not_written_whole_does_not_take_the_next_one_with_it() {
        let folder = Folder::new("torn");
        let path = folder.0.join(NAME);
        // Nobody can write to this one.
        let revoked = with_file(&folder, File::open("/dev/null").unwrap());
        assert!(matches!(revoked.add("first", 100, NOW), Err(NotRevoked::Failed(_))));
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"100 fir").unwrap();
        revoked.file.lock().unwrap().as_mut().unwrap().file = file;
        revoked.add("second", 100, NOW).unwrap();
        drop(revoked);
        let revoked = Revoked::open(Some(&folder.0), NOW).unwrap();
        assert!(revoked.contains("second") && !revoked.contains("first"));
    }
}
