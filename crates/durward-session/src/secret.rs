//! Files with passwords, tokens and keys that others brought.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use durward_identity::IdentityError;

/// A file with a password, a token, a key or credentials is no longer than that.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// What a file with a secret holds, without the end of its last line. Its owner and its group may read it, since secrets are
/// put into containers with a group (Kubernetes: `defaultMode: 0440`), and nobody but its owner may write it.
///
/// # Errors
/// It cannot be read, is longer than 64 KiB, is empty or no text; or others may read or write it.
pub fn read_secret(path: &Path) -> Result<String, IdentityError> {
    let failed = |message: String| IdentityError::new(message).of(path.display());
    let unreadable = |error: std::io::Error| failed(error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    if !is_kept_secret(&file.metadata().map_err(unreadable)?) {
        return Err(failed(
            "may be written by its group, or read by everybody: `chmod 600` it, and replace what it holds"
                .to_owned(),
        ));
    }
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > SECRET_BYTES_MAX {
        return Err(failed(format!("is longer than {SECRET_BYTES_MAX} bytes")));
    }
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() { Err(failed("is empty".to_owned())) } else { Ok(text.to_owned()) }
}

#[cfg(unix)]
fn is_kept_secret(metadata: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o027 == 0
}

/// Who may read a file is not said in bits here.
#[cfg(not(unix))]
fn is_kept_secret(_: &Metadata) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_that_others_may_read_or_write_is_none() {
        let path = std::env::temp_dir().join(format!("durward-secret-{}", std::process::id()));
        fs::write(&path, "secret\r\n").unwrap();
        let with = |mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_secret(&path).map_err(|error| error.to_string())
        };
        for mode in [0o600, 0o400, 0o440, 0o640] {
            assert_eq!(with(mode).as_deref(), Ok("secret"), "{mode:o}");
        }
        for mode in [0o604, 0o602, 0o620, 0o644, 0o660] {
            assert!(with(mode).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        fs::write(&path, "\n").unwrap();
        assert!(with(0o600).unwrap_err().contains("is empty"));
        fs::write(&path, "x".repeat(70_000)).unwrap();
        assert!(with(0o600).unwrap_err().contains("longer than"));
        fs::remove_file(path).unwrap();
    }
}
