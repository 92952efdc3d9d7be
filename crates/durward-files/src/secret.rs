//! Files with private keys, passwords and tokens. Whoever else may read one has what is in it, and whoever may write one chooses it:
//! such a file is refused, before it is of use to anybody.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Who may read a file with a secret. Nobody but its owner may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretReaders {
    /// Its owner alone: a file that durward wrote itself.
    Owner,
    /// Its owner and its group, since secrets are put into containers with a group (Kubernetes: `defaultMode: 0440`).
    OwnerAndGroup,
}

/// Why a file with a secret is not used. The text stands behind the file's name.
#[derive(Debug)]
pub enum SecretFileError {
    /// It cannot be read.
    Unreadable(io::Error),
    /// Others may read it, or write it.
    Exposed(SecretReaders),
    /// It has more bytes than such a file has.
    TooLong(u64),
    /// It is no text.
    NoText,
}

impl fmt::Display for SecretFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretFileError::Unreadable(error) => error.fmt(f),
            SecretFileError::Exposed(SecretReaders::Owner) => f.write_str(
                "may be read by others than its owner: `chmod 600` it, and replace what it holds",
            ),
            SecretFileError::Exposed(SecretReaders::OwnerAndGroup) => f.write_str(
                "may be written by its group, or read by everybody: `chmod 600` it, and replace what it holds",
            ),
            SecretFileError::TooLong(bytes_max) => write!(f, "is longer than {bytes_max} bytes"),
            SecretFileError::NoText => f.write_str("is not UTF-8"),
        }
    }
}

impl std::error::Error for SecretFileError {}

impl From<SecretFileError> for io::Error {
    fn from(error: SecretFileError) -> io::Error {
        match error {
            SecretFileError::Unreadable(error) => error,
            error @ (SecretFileError::Exposed(_) | SecretFileError::TooLong(_) | SecretFileError::NoText) => {
                io::Error::other(error)
            }
        }
    }
}

/// What a file with a secret holds.
///
/// # Errors
/// It cannot be read, others may read or write it, or it has more bytes than `bytes_max`.
pub fn read_secret(path: &Path, readers: SecretReaders, bytes_max: u64) -> Result<Vec<u8>, SecretFileError> {
    let file = File::open(path).map_err(SecretFileError::Unreadable)?;
    let metadata = file.metadata().map_err(SecretFileError::Unreadable)?;
    if is_exposed(&metadata, readers) {
        return Err(SecretFileError::Exposed(readers));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(SecretFileError::Unreadable)?;
    if bytes.len() as u64 > bytes_max { Err(SecretFileError::TooLong(bytes_max)) } else { Ok(bytes) }
}

/// The same as text.
///
/// # Errors
/// As of [`read_secret`]; or it is not UTF-8.
pub fn read_secret_text(
    path: &Path,
    readers: SecretReaders,
    bytes_max: u64,
) -> Result<String, SecretFileError> {
    String::from_utf8(read_secret(path, readers, bytes_max)?).map_err(|_| SecretFileError::NoText)
}

/// Whether a key of random bytes was typed rather than drawn: zeros, one byte or a few again and again, or bytes that count up or down. Of
/// 16 bytes that were drawn, one in some 2^60 is refused wrongly.
pub fn is_weak_key(key: &[u8]) -> bool {
    let is_repeated = |period: usize| {
        let (head, tail) = (key.iter(), key.iter().skip(period));
        head.zip(tail).all(|(one, other)| one == other)
    };
    let mut steps = key.iter().zip(key.iter().skip(1)).map(|(one, next)| next.wrapping_sub(*one));
    let is_counting = steps.next().is_none_or(|first| steps.all(|step| step == first));
    is_counting || (1..=key.len() / 2).any(is_repeated)
}

/// Pipes and terminals are read by whoever was given them.
#[cfg(unix)]
fn is_exposed(metadata: &Metadata, readers: SecretReaders) -> bool {
    let forbidden = match readers {
        SecretReaders::Owner => 0o077,
        SecretReaders::OwnerAndGroup => 0o027,
    };
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
    metadata.is_file() && mode & forbidden != 0
}

/// Who may read a file is not said in bits here.
#[cfg(not(unix))]
fn is_exposed(_: &Metadata, _: SecretReaders) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_secret_that_others_may_read_or_write_is_refused() {
        use std::fs::{self, Permissions};
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("durward-files-secret-{}", std::process::id()));
        fs::write(&path, "secret").unwrap();
        let with = |mode, readers| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read_secret_text(&path, readers, 6).map_err(|error| error.to_string())
        };
        for mode in [0o600, 0o400] {
            assert_eq!(with(mode, SecretReaders::Owner).as_deref(), Ok("secret"), "{mode:o}");
        }
        for mode in [0o600, 0o400, 0o440, 0o640] {
            assert_eq!(with(mode, SecretReaders::OwnerAndGroup).as_deref(), Ok("secret"), "{mode:o}");
        }
        for mode in [0o604, 0o602, 0o620, 0o640, 0o440] {
            assert!(with(mode, SecretReaders::Owner).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        for mode in [0o604, 0o602, 0o620, 0o644, 0o660] {
            assert!(with(mode, SecretReaders::OwnerAndGroup).unwrap_err().contains("chmod 600"), "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let read = read_secret(&path, SecretReaders::Owner, 5);
        assert!(matches!(read, Err(SecretFileError::TooLong(5))));
        fs::write(&path, [0xff]).unwrap();
        let read = read_secret_text(&path, SecretReaders::Owner, 5);
        assert!(matches!(read, Err(SecretFileError::NoText)));
        fs::remove_file(&path).unwrap();
        assert!(read_secret(&path, SecretReaders::Owner, 5).is_err());
    }

    #[test]
    fn keys_that_were_typed_are_weak_and_drawn_ones_are_not() {
        let counted: Vec<u8> = (0..32).collect();
        let typed: [&[u8]; 7] = [
            b"",
            &[0; 32],
            &[0xff; 32],
            &[7; 16],
            &counted,
            b"0123456789abcdef0123456789abcdef",
            &[0xde, 0xad, 0xbe, 0xef, 0xde, 0xad, 0xbe, 0xef, 0xde],
        ];
        for key in typed {
            assert!(is_weak_key(key), "{key:?}");
        }
        // SHA-256 of the empty text.
        let drawn = [
            0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
            0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
        ];
        assert!(!is_weak_key(&drawn));
    }
}
