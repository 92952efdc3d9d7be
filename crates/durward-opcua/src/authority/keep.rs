//! The store of the authorization service, which survives a restart: records of its state machine, node tables of resources.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::AuthorityRecord;

/// A store of the service's records. Called on threads that may wait, one call at a time.
pub trait AuthorityStore: Send + Sync + 'static {
    /// All records, in the order in which they were stored; none where the store is new.
    ///
    /// # Errors
    /// They cannot be read.
    fn load(&self) -> io::Result<Vec<AuthorityRecord<Arc<str>>>>;

    /// Appends a record, which is durable when this returns.
    ///
    /// # Errors
    /// It is not. The service issues no token until it is.
    fn append(&self, record: &AuthorityRecord<Arc<str>>) -> io::Result<()>;

    /// Puts these records in the place of all, at once or not at all.
    ///
    /// # Errors
    /// The old ones are still there.
    fn replace(&self, records: &[AuthorityRecord<Arc<str>>]) -> io::Result<()>;

    /// The last node table of each resource, as it was published. Whoever keeps none has tokens wait until gates have published again.
    ///
    /// # Errors
    /// They cannot be read.
    fn tables(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        Ok(Vec::new())
    }

    /// Keeps the node table of a resource in the place of its last one.
    ///
    /// # Errors
    /// It is not kept; it counts until the next restart.
    fn keep_table(&self, resource: &str, table: &[u8]) -> io::Result<()> {
        let _ = (resource, table);
        Ok(())
    }
}

/// A store that lives as long as the process: for the demo and tests. After a restart all tokens are recalled.
#[derive(Debug, Default)]
pub struct MemoryAuthorityStore {
    records: Mutex<Vec<AuthorityRecord<Arc<str>>>>,
    tables: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl MemoryAuthorityStore {
    fn records(&self) -> MutexGuard<'_, Vec<AuthorityRecord<Arc<str>>>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuthorityStore for MemoryAuthorityStore {
    fn load(&self) -> io::Result<Vec<AuthorityRecord<Arc<str>>>> {
        Ok(self.records().clone())
    }

    fn append(&self, record: &AuthorityRecord<Arc<str>>) -> io::Result<()> {
        self.records().push(record.clone());
        Ok(())
    }

    fn replace(&self, records: &[AuthorityRecord<Arc<str>>]) -> io::Result<()> {
        *self.records() = records.to_vec();
        Ok(())
    }

    fn tables(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        Ok(self.kept().iter().map(|(resource, table)| (resource.clone(), table.clone())).collect())
    }

    fn keep_table(&self, resource: &str, table: &[u8]) -> io::Result<()> {
        self.kept().insert(resource.to_owned(), table.to_vec());
        Ok(())
    }
}
