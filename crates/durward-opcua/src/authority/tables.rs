//! The node tables that resources published.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use crate::token::{NodeTable, TableVersion};

/// Versions of one resource's table that are kept: a gate that goes back to one need not have it read again.
const VERSIONS_MAX: usize = 4;

/// The tables, the newest first.
#[derive(Debug, Default)]
pub(super) struct NodeTables {
    by_resource: RwLock<HashMap<String, VecDeque<Arc<NodeTable>>>>,
}

impl NodeTables {
    /// The table that tokens for a resource speak of: the one published last.
    pub(super) fn current(&self, resource: &str) -> Option<Arc<NodeTable>> {
        let tables = self.by_resource.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(resource).and_then(|versions| versions.front().cloned())
    }

    /// Makes a table the current one.
    pub(super) fn put(&self, resource: &str, table: Arc<NodeTable>) {
        let mut tables = self.by_resource.write().unwrap_or_else(PoisonError::into_inner);
        let versions = tables.entry(resource.to_owned()).or_default();
        versions.retain(|known| known.version() != table.version());
        versions.push_front(table);
        versions.truncate(VERSIONS_MAX);
    }

    /// Whether a version is the current one.
    pub(super) fn is_current(&self, resource: &str, version: TableVersion) -> bool {
        self.current(resource).is_some_and(|table| table.version() == version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::TableNode;

    fn table(name: &str) -> Arc<NodeTable> {
        Arc::new(NodeTable::new([TableNode::new("urn:n", name).unwrap()]).unwrap())
    }

    #[test]
    fn the_table_published_last_counts_and_few_are_kept() {
        let tables = NodeTables::default();
        assert!(tables.current("urn:plc").is_none());
        for name in ["a", "b", "c", "d", "e", "b"] {
            tables.put("urn:plc", table(name));
            assert!(tables.is_current("urn:plc", table(name).version()));
        }
        let kept = tables.by_resource.read().unwrap();
        let versions: Vec<_> = kept["urn:plc"].iter().map(|table| table.version()).collect();
        assert_eq!(versions, ["b", "e", "d", "c"].map(|name| table(name).version()));
        assert!(!kept.contains_key("urn:other"));
    }
}
