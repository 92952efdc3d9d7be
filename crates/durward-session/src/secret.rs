//! Files with passwords, tokens and keys that others brought.

use std::path::Path;

use durward_files::{SecretReaders, read_secret_text};
use durward_identity::IdentityError;

/// A file with a password, a token, a key or credentials is no longer than that.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// What a file with a secret holds, without the end of its last line. Its owner and its group may read it, and nobody but its owner may
/// write it.
///
/// # Errors
/// It cannot be read, is longer than 64 KiB, is empty or no text; or others may read or write it.
pub fn read_secret(path: &Path) -> Result<String, IdentityError> {
    let failed = |message: String| IdentityError::new(message).of(path.display());
    let text = read_secret_text(path, SecretReaders::OwnerAndGroup, SECRET_BYTES_MAX)
        .map_err(|error| failed(error.to_string()))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() { Err(failed("is empty".to_owned())) } else { Ok(text.to_owned()) }
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
