//! Namespace indexes of one session: each upstream session reads the server's NamespaceArray itself, so that none uses an array from before a restart of the server.

use std::sync::Arc;

use opcua_types::StatusCode;

use super::core::GateCore;
use super::link::SessionLink;
use super::nodes::namespaces;
use super::rights::FixedRights;
use super::upstream::UpstreamSession;
use crate::error::Error;
use crate::token::{NodeTable, TableRows};

/// A NamespaceArray, and what nobody in particular may do under it.
pub(super) struct NamespaceNames {
    pub(super) namespaces: Vec<String>,
    pub(super) anonymous: FixedRights,
}

impl NamespaceNames {
    /// A table, as this session numbers its namespaces.
    pub(super) fn rows(&self, table: &Arc<NodeTable>) -> Arc<TableRows> {
        Arc::new(TableRows::new(Arc::clone(table), &self.namespaces))
    }
}

impl GateCore {
    /// What these namespaces mean. Sessions that agree share it.
    pub(super) fn names(&self, namespaces: Vec<String>) -> Result<Arc<NamespaceNames>, Error> {
        let last = self.names.load();
        if let Some(last) = last.as_ref().filter(|last| last.namespaces == namespaces) {
            return Ok(Arc::clone(last));
        }
        let anonymous = FixedRights::new(self.settings.anonymous.as_ref(), &namespaces);
        let anonymous = anonymous.map_err(|error| {
            Error::new(StatusCode::BadConfigurationError, format!("anonymous rights: {error}"))
        })?;
        let names = Arc::new(NamespaceNames { namespaces, anonymous });
        self.names.store(Some(Arc::clone(&names)));
        Ok(names)
    }

    /// Reads what they mean in a session. Where it is something else than the node table was browsed under, the nodes are browsed again.
    pub(super) async fn read_names(&self, session: &UpstreamSession) -> Result<Arc<NamespaceNames>, Error> {
        let names = self.names(namespaces(session).await?)?;
        let tables = self.tables.load();
        if tables.current.is_some() && tables.namespaces != names.namespaces {
            self.browse.notify_one();
        }
        Ok(names)
    }

    /// The session that looks at the nodes has read this NamespaceArray: those that have another one look again.
    pub(super) fn compare_names(self: &Arc<GateCore>, namespaces: &[String]) {
        for cell in self.all_cells() {
            let Some(link) = cell.link.get().filter(|link| link.names().namespaces != namespaces) else {
                continue;
            };
            let (core, link) = (Arc::clone(self), Arc::clone(link));
            tokio::spawn(async move { core.look_at_names(&link).await });
        }
    }

    /// A server may add namespaces while it has sessions, nothing else (Part 5, 6.3.1). A session that cannot be asked has its own end.
    async fn look_at_names(&self, link: &SessionLink) {
        let Ok(now) = namespaces(&link.session).await else { return };
        let before = link.names();
        if now == before.namespaces {
            return;
        }
        if !now.starts_with(&before.namespaces) {
            return link.end("the server behind the gate has changed its namespaces: connect again");
        }
        if let Ok(names) = self.names(now) {
            link.follow_names(names);
        }
    }
}
