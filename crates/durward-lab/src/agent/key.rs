//! The pre-shared key of agents and leader, and the proof of possession.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::{fmt, io};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durward_files::{SecretFileError, SecretReaders, is_weak_key, read_secret};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// A longer file holds no key.
const FILE_BYTES_MAX: u64 = 1024;

/// 32 random bytes that agents and their leader have in common. It is never printed.
#[derive(Clone)]
pub struct AgentKey(hmac::Key);

impl fmt::Debug for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Who proves to have the key: a proof of one side is none of the other, so it cannot be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofSide {
    Leader,
    Agent,
}

impl ProofSide {
    fn label(self) -> &'static [u8] {
        match self {
            ProofSide::Leader => b"durward-lab leader 1",
            ProofSide::Agent => b"durward-lab agent 1",
        }
    }
}

/// Why there is no key.
#[derive(Debug)]
pub enum AgentKeyError {
    /// The file cannot be read or written.
    File(io::Error),
    /// The file is there already.
    Exists,
    /// Others than its owner may read the file.
    Open,
    /// The file holds no key.
    NoKey,
    /// The system gives no random numbers.
    NoChance,
}

impl fmt::Display for AgentKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentKeyError::File(error) => write!(f, "{error}"),
            AgentKeyError::Exists => f.write_str("is there already; a key is not overwritten"),
            AgentKeyError::Open => {
                f.write_str("may be read by others than its owner: `chmod 600` it, or make a new key")
            }
            AgentKeyError::NoKey => {
                f.write_str("holds no key: make one by `durward lab agent --new-key FILE`")
            }
            AgentKeyError::NoChance => f.write_str("cannot be made: the system gives no random numbers"),
        }
    }
}

impl std::error::Error for AgentKeyError {}

impl AgentKey {
    /// Writes a new key as a line of Base64 to a file that is not there yet and only its owner may read.
    ///
    /// # Errors
    /// A file that is there, or cannot be written.
    pub fn write_new(path: &Path) -> Result<(), AgentKeyError> {
        let bytes = random()?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_there = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        let file = options.open(path);
        let mut file =
            file.map_err(
                |error| if is_there(&error) { AgentKeyError::Exists } else { AgentKeyError::File(error) },
            )?;
        let line = format!("{}\n", STANDARD.encode(bytes));
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
            // Half a key is of no use.
            let _ = fs::remove_file(path);
            AgentKeyError::File(error)
        })
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// A file that cannot be read, that others may read, or that holds no key.
    pub fn read(path: &Path) -> Result<AgentKey, AgentKeyError> {
        let text = read_secret(path, SecretReaders::Owner, FILE_BYTES_MAX).map_err(|error| match error {
            SecretFileError::Unreadable(error) => AgentKeyError::File(error),
            SecretFileError::Exposed(_) => AgentKeyError::Open,
            SecretFileError::TooLong(_) | SecretFileError::NoText => AgentKeyError::NoKey,
        })?;
        let bytes = STANDARD.decode(text.trim_ascii()).map_err(|_| AgentKeyError::NoKey)?;
        if bytes.len() == KEY_BYTES && !is_weak_key(&bytes) {
            Ok(AgentKey::of(&bytes))
        } else {
            Err(AgentKeyError::NoKey)
        }
    }

    /// A key that nobody else has.
    pub(super) fn random() -> Result<AgentKey, AgentKeyError> {
        Ok(AgentKey::of(&random()?))
    }

    fn of(bytes: &[u8]) -> AgentKey {
        AgentKey(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Proves for one connection, whose `binding` no other connection has, that this side has the key.
    pub(super) fn proof(&self, side: ProofSide, binding: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(side.label());
        context.update(binding);
        STANDARD.encode(context.sign())
    }

    /// Whether this is such a proof. Takes as long for a wrong one as for a right one.
    pub(super) fn is_proof(&self, side: ProofSide, binding: &[u8], proof: &str) -> bool {
        let Ok(tag) = STANDARD.decode(proof) else { return false };
        let message = [side.label(), binding].concat();
        hmac::verify(&self.0, &message, &tag).is_ok()
    }
}

fn random() -> Result<[u8; KEY_BYTES], AgentKeyError> {
    let mut bytes = [0; KEY_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| AgentKeyError::NoChance)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_key_one_side_and_one_connection() {
        let (key, other) = (AgentKey::random().unwrap(), AgentKey::random().unwrap());
        let proof = key.proof(ProofSide::Leader, b"here");
        assert!(key.is_proof(ProofSide::Leader, b"here", &proof));
        assert!(!other.is_proof(ProofSide::Leader, b"here", &proof));
        assert!(!key.is_proof(ProofSide::Agent, b"here", &proof));
        assert!(!key.is_proof(ProofSide::Leader, b"elsewhere", &proof));
        assert!(
            !key.is_proof(ProofSide::Leader, b"here", "") && !key.is_proof(ProofSide::Leader, b"here", "?")
        );
    }

    #[test]
    fn key_files_are_private_and_not_overwritten() {
        let folder = std::env::temp_dir().join(format!("durward-lab-key-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("agent.key");
        AgentKey::write_new(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let key = AgentKey::read(&path).unwrap();
        assert!(matches!(AgentKey::write_new(&path), Err(AgentKeyError::Exists)));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(AgentKey::read(&path).unwrap().is_proof(
            ProofSide::Agent,
            b"x",
            &key.proof(ProofSide::Agent, b"x")
        ));
        assert_eq!(format!("{key:?}"), "Key");
        let zeros = STANDARD.encode([0; KEY_BYTES]);
        for wrong in ["", "password", "AAAA", &text.repeat(2), &"A".repeat(2000), &zeros] {
            fs::write(&path, wrong).unwrap();
            assert!(matches!(AgentKey::read(&path), Err(AgentKeyError::NoKey)), "{wrong}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::write(&path, &text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(matches!(AgentKey::read(&path), Err(AgentKeyError::Open)));
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
