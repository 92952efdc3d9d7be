//! From the node ids of one server to the rows of a table.

use std::collections::HashSet;
use std::sync::Arc;

use opcua_types::NodeId;

use super::node::NAMESPACE_OF_THE_STANDARD;
use super::table::NodeTable;

/// A table as one server sees it: that server's NamespaceArray says which index means which namespace. When the array changes,
/// make new ones; the table stays.
#[derive(Clone, Debug)]
pub struct TableRows {
    table: Arc<NodeTable>,
    /// For each index of the server the index in the table, `None` where the table has no node of that namespace.
    namespaces: Box<[Option<u16>]>,
}

impl TableRows {
    /// The table under a NamespaceArray. Index 0 is the standard's namespace whatever the array says of it (Part 5, 6.3.14). An URI that
    /// the array has twice counts where it stands first: nodes of the second index are in no row.
    pub fn new<S: AsRef<str>>(table: Arc<NodeTable>, namespace_array: &[S]) -> TableRows {
        let own: Vec<&str> = table.namespaces().collect();
        let mut uris: Vec<&str> = vec![NAMESPACE_OF_THE_STANDARD];
        uris.extend(namespace_array.iter().skip(1).map(AsRef::as_ref));
        let mut seen = HashSet::new();
        let place = |uri: &str| {
            let own = own.binary_search(&uri).ok().filter(|_| seen.insert(uri.to_owned()))?;
            u16::try_from(own).ok()
        };
        let namespaces = uris.into_iter().map(place).collect();
        TableRows { table, namespaces }
    }

    /// The table.
    pub fn table(&self) -> &Arc<NodeTable> {
        &self.table
    }

    /// The row of a node: one look-up. `None` where the table does not have it, and then no token grants anything on it.
    pub fn find(&self, node: &NodeId) -> Option<u32> {
        let namespace = self.namespaces.get(usize::from(node.namespace)).copied().flatten()?;
        self.table.row_in(namespace, &node.identifier)
    }
}
