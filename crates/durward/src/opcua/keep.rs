//! The file store of the authorization service, which survives a restart: the journal that users and sessions have as well.
//!
//! An entry is a record as JSON, with its kind. Node tables are not kept: gates publish them again when they follow a service that
//! begins, and tokens wait until then.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use durward_opcua::authority::AuthorityStore;
use durward_opcua::protocol::AuthorityRecord;
use durward_opcua::token::CutoffTarget;
use durward_session::identity::user::Journal;
use durward_session::identity::{IdentityError, Moment};
use serde::{Deserialize, Serialize};

use crate::failure::CommandError;

/// A store in a file. One process at a time has it.
pub(super) struct FileAuthorityStore {
    journal: Mutex<Journal>,
    /// What the file held when it was opened.
    loaded: Vec<AuthorityRecord<Arc<str>>>,
}

/// A record as it is written.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum StoredRecord {
    Epoch(u64),
    Mark { ms: u64 },
    Sequence(u64),
    Cutoff { sequence: u64, of: StoredTarget, before_ms: u64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredTarget {
    All,
    Subject(String),
    Session(String),
    Client(String),
    Policy(String),
}

impl FileAuthorityStore {
    /// Opens the file, or begins one.
    ///
    /// # Errors
    /// It cannot be read or written, another process has it, or it holds something else.
    pub(super) fn open(path: &Path) -> Result<FileAuthorityStore, CommandError> {
        let failed = |error: IdentityError| CommandError::new(error.to_string());
        let (journal, entries) = Journal::open(path).map_err(failed)?;
        let loaded: Result<Vec<_>, _> = entries.iter().map(|entry| read(entry)).collect();
        let loaded = loaded.map_err(|error| {
            CommandError::new(format!("it is no store of an authorization service: {error}"))
                .hint("without it, a new one is begun, and all tokens are revoked")
                .at(path)
        })?;
        Ok(FileAuthorityStore { journal: Mutex::new(journal), loaded })
    }

    fn write(&self, change: impl FnOnce(&mut Journal) -> Result<(), IdentityError>) -> io::Result<()> {
        change(&mut self.journal.lock().unwrap_or_else(PoisonError::into_inner))
            .map_err(|error| io::Error::other(error.to_string()))
    }
}

impl AuthorityStore for FileAuthorityStore {
    fn load(&self) -> io::Result<Vec<AuthorityRecord<Arc<str>>>> {
        Ok(self.loaded.clone())
    }

    fn append(&self, record: &AuthorityRecord<Arc<str>>) -> io::Result<()> {
        let entry = written(record)?;
        self.write(|journal| journal.append(&[entry.as_slice()]))
    }

    fn replace(&self, records: &[AuthorityRecord<Arc<str>>]) -> io::Result<()> {
        let entries = records.iter().map(written).collect::<io::Result<Vec<_>>>()?;
        let entries: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
        self.write(|journal| journal.replace(&entries))
    }
}

fn read(entry: &[u8]) -> serde_json::Result<AuthorityRecord<Arc<str>>> {
    Ok(match serde_json::from_slice(entry)? {
        StoredRecord::Epoch(epoch) => AuthorityRecord::Epoch(epoch),
        StoredRecord::Mark { ms } => AuthorityRecord::Mark(Moment::from_ms(ms)),
        StoredRecord::Sequence(sequence) => AuthorityRecord::Sequence(sequence),
        StoredRecord::Cutoff { sequence, of, before_ms } => {
            let target = match of {
                StoredTarget::All => CutoffTarget::All,
                StoredTarget::Subject(name) => CutoffTarget::Subject(name.into()),
                StoredTarget::Session(name) => CutoffTarget::Session(name.into()),
                StoredTarget::Client(name) => CutoffTarget::Client(name.into()),
                StoredTarget::Policy(name) => CutoffTarget::Policy(name.into()),
            };
            AuthorityRecord::Cutoff { sequence, target, before: Moment::from_ms(before_ms) }
        }
    })
}

fn written(record: &AuthorityRecord<Arc<str>>) -> io::Result<Vec<u8>> {
    let entry = match record {
        AuthorityRecord::Epoch(epoch) => StoredRecord::Epoch(*epoch),
        AuthorityRecord::Mark(moment) => StoredRecord::Mark { ms: moment.ms() },
        AuthorityRecord::Sequence(sequence) => StoredRecord::Sequence(*sequence),
        AuthorityRecord::Cutoff { sequence, target, before } => {
            let of = match target {
                CutoffTarget::All => StoredTarget::All,
                CutoffTarget::Subject(name) => StoredTarget::Subject(name.to_string()),
                CutoffTarget::Session(name) => StoredTarget::Session(name.to_string()),
                CutoffTarget::Client(name) => StoredTarget::Client(name.to_string()),
                CutoffTarget::Policy(name) => StoredTarget::Policy(name.to_string()),
            };
            StoredRecord::Cutoff { sequence: *sequence, of, before_ms: before.ms() }
        }
    };
    Ok(serde_json::to_vec(&entry)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<AuthorityRecord<Arc<str>>> {
        let cutoff =
            |sequence, target| AuthorityRecord::Cutoff { sequence, target, before: Moment::from_ms(12_345) };
        vec![
            AuthorityRecord::Epoch(u64::MAX),
            AuthorityRecord::Mark(Moment::from_ms(7)),
            AuthorityRecord::Sequence(3),
            cutoff(4, CutoffTarget::All),
            cutoff(5, CutoffTarget::Subject("anna".into())),
            cutoff(6, CutoffTarget::Session("s".into())),
            cutoff(7, CutoffTarget::Client("c".into())),
            cutoff(8, CutoffTarget::Policy("1-x".into())),
        ]
    }

    #[test]
    fn records_are_there_after_a_restart_and_replaced_as_a_whole() {
        let path = std::env::temp_dir().join(format!("durward-opcua-keep-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let keep = FileAuthorityStore::open(&path).unwrap();
        assert!(keep.load().unwrap().is_empty());
        for record in records() {
            keep.append(&record).unwrap();
        }
        drop(keep);
        let keep = FileAuthorityStore::open(&path).unwrap();
        assert_eq!(keep.load().unwrap(), records());
        keep.replace(&records()[..2]).unwrap();
        drop(keep);
        assert_eq!(FileAuthorityStore::open(&path).unwrap().load().unwrap(), records()[..2]);

        let mut journal = Journal::open(&path).unwrap().0;
        journal.append(&[b"{\"cutoff\":{}}".as_slice()]).unwrap();
        drop(journal);
        assert!(FileAuthorityStore::open(&path).is_err(), "an entry that is none must not be passed over");
        std::fs::remove_file(path).unwrap();
    }
}
