//! Files that are replaced whole: whoever reads one meanwhile, or after a crash, finds the old bytes or the new ones. And files with secrets,
//! which are not read where others can read them: [`read_secret`].

mod secret;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub use secret::{SecretFileError, SecretReaders, is_weak_key, read_secret, read_secret_text};

/// How many names are tried for the file beside: a process that was killed may have left one of the same number.
const NAMES_MAX: u64 = 100;

/// Who may read a file.
#[derive(Clone, Debug)]
pub enum FileAccess {
    /// Its owner only, from its first byte on.
    Owner,
    /// Whoever the process lets read the files that it makes.
    Usual,
    /// Those of another file.
    Like(Permissions),
}

/// Writes a file, in the place of the one that may be there: into a hidden file beside it first, which is waited for, takes the name, and
/// whose name is waited for (on Unix). A link is replaced, not what it points to.
///
/// # Errors
/// It cannot be written: then the old one is there, and nothing beside it. Or the disk did not take the new name: then the new one is there
/// and may not be after a crash.
pub fn replace(path: &Path, bytes: &[u8], access: FileAccess) -> io::Result<()> {
    let (file, beside) = create_beside(path, &access)?;
    let written = write(file, bytes, access).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        // Half a file helps nobody; that it stays is no worse than what failed.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    sync_folder(path)
}

/// Waits until the names in the directory of a file are on the disk. Where directories cannot be opened, they are without that.
///
/// # Errors
/// The directory cannot be opened, or the disk did not take them.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn create_beside(path: &Path, access: &FileAccess) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if matches!(access, FileAccess::Owner | FileAccess::Like(_)) {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut taken = None;
    for _ in 0..NAMES_MAX {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}-{number}", name.to_string_lossy(), std::process::id());
        let beside = path.with_file_name(name);
        match options.open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(taken.unwrap_or_else(|| io::Error::other("there is no name for the file beside")))
}

fn write(mut file: File, bytes: &[u8], access: FileAccess) -> io::Result<()> {
    if let FileAccess::Like(permissions) = access {
        file.set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("durward-files-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_stays_beside_it() {
        let folder = Folder::new("made");
        let path = folder.0.join("a.json");
        for text in ["one", "", "three"] {
            replace(&path, text.as_bytes(), FileAccess::Usual).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(folder.names(), ["a.json"]);
        }
    }

    /// Who had the old one open reads the old one to its end.
    #[test]
    fn a_reader_sees_the_old_or_the_new() {
        use std::io::Read as _;
        let folder = Folder::new("reader");
        let path = folder.0.join("a");
        replace(&path, b"old", FileAccess::Usual).unwrap();
        let mut open = File::open(&path).unwrap();
        replace(&path, b"newer", FileAccess::Usual).unwrap();
        let mut text = String::new();
        open.read_to_string(&mut text).unwrap();
        assert_eq!(text, "old");
    }

    #[test]
    fn what_cannot_take_the_place_leaves_all_as_it_was() {
        let folder = Folder::new("refused");
        let path = folder.0.join("a");
        fs::create_dir_all(path.join("not empty")).unwrap();
        assert!(replace(&path, b"x", FileAccess::Usual).is_err());
        assert_eq!(folder.names(), ["a"]);
        assert!(replace(&folder.0.join("absent/a"), b"x", FileAccess::Usual).is_err());
        assert!(replace(Path::new("/"), b"x", FileAccess::Usual).is_err());
    }

    /// A killed process left the file that would be written beside.
    #[test]
    fn what_was_left_beside_is_not_written_into() {
        let folder = Folder::new("left");
        let path = folder.0.join("a");
        for number in 0..50 {
            fs::write(folder.0.join(format!(".a.{}-{number}", std::process::id())), "left").unwrap();
        }
        replace(&path, b"new", FileAccess::Usual).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(folder.names().len() == 51);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_what_was_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = Folder::new("mode");
        let path = folder.0.join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"x", FileAccess::Owner).unwrap();
        assert_eq!(mode(), 0o600);
        replace(&path, b"x", FileAccess::Like(Permissions::from_mode(0o640))).unwrap();
        assert_eq!(mode(), 0o640);
    }
}
