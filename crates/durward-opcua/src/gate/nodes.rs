//! The node table: the nodes of the server, browsed when the gate starts, when its NamespaceArray changes, and when the server reports changes; tokens refer to its rows.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use opcua_types::{
    Array, AttributeId, BrowseDescription, BrowseDirection, BrowseNextRequest, BrowseNextResponse,
    BrowseRequest, BrowseResponse, BrowseResult, ByteString, DateTime, ExpandedNodeId, NodeId, NumericRange,
    ObjectId, QualifiedName, ReadRequest, ReadResponse, ReadValueId, ReferenceTypeId, RequestHeader,
    StatusCode, TimestampsToReturn, VariableId, Variant, ViewDescription,
};
use tokio::time::{Instant, sleep};

use super::audit::GateAuditKind;
use super::changes;
use super::core::GateCore;
use super::upstream::UpstreamSession;
use crate::error::Error;
use crate::token::{NAMESPACE_OF_THE_STANDARD, NodeTable, TableNode, TableRows};

/// Rounds of BrowseNext for one batch: a server that never ends is not followed for ever.
const ROUNDS_MAX: usize = 10_000;

/// A table, under the NamespaceArray of the session that browsed it. Sessions of clients number namespaces by their own: [`NamespaceNames`](super::names::NamespaceNames).
#[derive(Debug)]
pub(super) struct SessionTable {
    pub(super) rows: Arc<TableRows>,
}

/// The table in force, and the one before: tokens that were made over it count until they end.
#[derive(Debug, Default)]
pub(super) struct TablesInForce {
    pub(super) namespaces: Vec<String>,
    pub(super) current: Option<Arc<SessionTable>>,
    before: Option<Arc<SessionTable>>,
}

impl TablesInForce {
    /// The newest first.
    pub(super) fn in_force(&self) -> Vec<Arc<SessionTable>> {
        self.current.iter().chain(&self.before).cloned().collect()
    }

    fn next(&self, table: Arc<NodeTable>, namespaces: Vec<String>) -> TablesInForce {
        let under = |table: &Arc<NodeTable>| {
            Arc::new(SessionTable { rows: Arc::new(TableRows::new(Arc::clone(table), &namespaces)) })
        };
        let former = self.current.iter().chain(&self.before).map(|table| table.rows.table());
        let before = former.filter(|former| former.version() != table.version()).map(under).next();
        TablesInForce { current: Some(under(&table)), before, namespaces }
    }
}

/// Keeps the table up to date, for ever.
pub(super) async fn keep(core: Arc<GateCore>) {
    let settings = &core.settings.upstream;
    let mut backoff = settings.backoff_min;
    loop {
        match follow(&core, &mut backoff).await {
            Ok(()) => return,
            Err(error) => {
                core.figures.upstream_up.store(false, std::sync::atomic::Ordering::Relaxed);
                tracing::warn!(%error, url = settings.url, "the nodes of the server behind the gate cannot be browsed: trying again");
            }
        }
        // A session of a client that could be opened says that the server is there.
        sleep(settings.backoff_min).await;
        tokio::select! {
            () = sleep(backoff.saturating_sub(settings.backoff_min)) => {}
            () = core.browse.notified() => {}
        }
        backoff = backoff.saturating_mul(2).min(settings.backoff_max);
    }
}

/// Browses over one session as long as it lasts.
async fn follow(core: &Arc<GateCore>, backoff: &mut Duration) -> Result<(), Error> {
    let session = core.upstream.open().await?;
    tokio::select! {
        error = keep_browsing(core, &session, backoff) => error.map(|never| match never {}),
        never = changes::follow(core, &session) => match never {},
    }
}

async fn keep_browsing(
    core: &Arc<GateCore>,
    session: &UpstreamSession,
    backoff: &mut Duration,
) -> Result<Infallible, Error> {
    let channel = session.channel();
    let settings = &core.settings.table;
    loop {
        let namespaces = namespaces(session).await?;
        core.compare_names(&namespaces);
        core.figures.upstream_up.store(true, std::sync::atomic::Ordering::Relaxed);
        let table = browse(core, session, &namespaces).await?;
        *backoff = core.settings.upstream.backoff_min;
        put_in_force(core, table, namespaces.clone());
        let browsed = Instant::now();
        loop {
            let asked = tokio::select! {
                () = core.browse.notified() => true,
                () = sleep(settings.look_every) => false,
                error = channel.closed() => return Err(error),
            };
            let is_due = settings.browse_every.is_some_and(|every| browsed.elapsed() >= every);
            let now = self::namespaces(session).await?;
            core.compare_names(&now);
            if asked || is_due || now != namespaces {
                break;
            }
        }
    }
}

fn put_in_force(core: &GateCore, table: NodeTable, namespaces: Vec<String>) {
    let tables = core.tables.load_full();
    let is_same = tables.current.as_ref().is_some_and(|now| now.rows.table().version() == table.version());
    if is_same && tables.namespaces == namespaces {
        return;
    }
    let text = format!("the node table has {} nodes, version {}", table.len(), table.version());
    core.figures.table_nodes.store(table.len() as u64, std::sync::atomic::Ordering::Relaxed);
    core.tables.store(Arc::new(tables.next(Arc::new(table), namespaces)));
    tracing::info!("{text}");
    core.tell(core.watch.now(), None, GateAuditKind::Note { text: &text });
    core.table_changes.send_modify(|count| *count += 1);
}

/// The server's NamespaceArray.
pub(super) async fn namespaces(session: &UpstreamSession) -> Result<Vec<String>, Error> {
    let response: ReadResponse = session.call(&namespace_request()).await?;
    namespaces_of(response)
}

pub(super) fn namespace_request() -> ReadRequest {
    ReadRequest {
        request_header: RequestHeader::default(),
        max_age: 0.0,
        timestamps_to_return: TimestampsToReturn::Neither,
        nodes_to_read: Some(vec![ReadValueId {
            node_id: NodeId::from(VariableId::Server_NamespaceArray),
            attribute_id: AttributeId::Value as u32,
            index_range: NumericRange::None,
            data_encoding: QualifiedName::null(),
        }]),
    }
}

pub(super) fn namespaces_of(response: ReadResponse) -> Result<Vec<String>, Error> {
    let value = response.results.and_then(|results| results.into_iter().next()).and_then(|value| value.value);
    let Some(Variant::Array(array)) = value else {
        return Err(Error::new(StatusCode::BadUnexpectedError, "the server has no NamespaceArray"));
    };
    let Array { values, .. } = *array;
    let text = |value: Variant| {
        let Variant::String(text) = value else {
            // A namespace without a name would shift the names of all behind it.
            let reason = format!("the NamespaceArray holds {value}, which is no text");
            return Err(Error::new(StatusCode::BadUnexpectedError, reason));
        };
        Ok(text.as_ref().to_owned())
    };
    values.into_iter().map(text).collect()
}

/// Browses everything below the roots, breadth first.
async fn browse(
    core: &GateCore,
    session: &UpstreamSession,
    namespaces: &[String],
) -> Result<NodeTable, Error> {
    let settings = &core.settings.table;
    let mut seen: HashSet<NodeId> = settings.roots.iter().cloned().collect();
    let mut next: Vec<NodeId> = settings.roots.clone();
    seen.insert(NodeId::from(ObjectId::RootFolder));
    let mut is_full = false;
    while !next.is_empty() && !is_full {
        let rest = next.split_off(next.len().min(settings.batch.max(1)));
        let batch = std::mem::replace(&mut next, rest);
        for found in browse_all(session, batch).await? {
            let Some(node) = local(&found, namespaces) else { continue };
            if seen.len() >= settings.nodes_max {
                is_full = true;
                break;
            }
            if seen.insert(node.clone()) {
                next.push(node);
            }
        }
    }
    if is_full {
        tracing::warn!(
            nodes = seen.len(),
            "the server has more nodes than `table.nodes_max`: nobody reaches the others"
        );
    }
    let nodes = seen.into_iter().filter_map(|node| table_node(&node, namespaces));
    NodeTable::new(nodes).map_err(|error| Error::new(StatusCode::BadTooManyOperations, error.to_string()))
}

/// The targets of all hierarchical references of these nodes. Where the server has no room for so much at once, it is asked for half as much.
async fn browse_all(session: &UpstreamSession, nodes: Vec<NodeId>) -> Result<Vec<ExpandedNodeId>, Error> {
    let (mut found, mut waiting) = (Vec::new(), vec![nodes]);
    while let Some(mut nodes) = waiting.pop() {
        match browse_batch(session, nodes.clone(), &mut found).await {
            Ok(()) => {}
            Err(error) if nodes.len() > 1 && is_too_much(error.status()) => {
                let half = nodes.split_off(nodes.len() / 2);
                waiting.extend([half, nodes]);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn is_too_much(status: StatusCode) -> bool {
    [
        StatusCode::BadTooManyOperations,
        StatusCode::BadNoContinuationPoints,
        StatusCode::BadResponseTooLarge,
        StatusCode::BadEncodingLimitsExceeded,
    ]
    .contains(&status)
}

async fn browse_batch(
    session: &UpstreamSession,
    nodes: Vec<NodeId>,
    found: &mut Vec<ExpandedNodeId>,
) -> Result<(), Error> {
    let describe = |node_id: NodeId| BrowseDescription {
        node_id,
        browse_direction: BrowseDirection::Forward,
        reference_type_id: NodeId::from(ReferenceTypeId::HierarchicalReferences),
        include_subtypes: true,
        node_class_mask: 0,
        result_mask: 0,
    };
    let request = BrowseRequest {
        request_header: RequestHeader::default(),
        view: ViewDescription { view_id: NodeId::null(), timestamp: DateTime::null(), view_version: 0 },
        requested_max_references_per_node: 0,
        nodes_to_browse: Some(nodes.into_iter().map(describe).collect()),
    };
    let response: BrowseResponse = session.call(&request).await?;
    let mut points = take_results(response.results, found)?;
    for _ in 0..ROUNDS_MAX {
        if points.is_empty() {
            return Ok(());
        }
        let request = BrowseNextRequest {
            request_header: RequestHeader::default(),
            release_continuation_points: false,
            continuation_points: Some(points),
        };
        let response: BrowseNextResponse = session.call(&request).await?;
        points = take_results(response.results, found)?;
    }
    Err(Error::new(StatusCode::BadTooManyOperations, "browsing one batch of nodes does not end"))
}

/// Takes the references out; gives back the continuation points. A node that cannot be browsed has nothing below it.
///
/// # Errors
/// The server had no continuation point left.
fn take_results(
    results: Option<Vec<BrowseResult>>,
    found: &mut Vec<ExpandedNodeId>,
) -> Result<Vec<ByteString>, Error> {
    let mut points = Vec::new();
    for result in results.unwrap_or_default() {
        if result.status_code == StatusCode::BadNoContinuationPoints {
            return Err(Error::new(result.status_code, "the server has no continuation point left"));
        }
        found.extend(result.references.unwrap_or_default().into_iter().map(|reference| reference.node_id));
        if result.continuation_point.value.as_ref().is_some_and(|point| !point.is_empty()) {
            points.push(result.continuation_point);
        }
    }
    Ok(points)
}

/// The node id on this server, by the index of its namespace.
fn local(node: &ExpandedNodeId, namespaces: &[String]) -> Option<NodeId> {
    if node.server_index != 0 {
        return None;
    }
    let mut local = node.node_id.clone();
    if !node.namespace_uri.is_empty() {
        let index = namespaces.iter().position(|uri| uri == node.namespace_uri.as_ref())?;
        local.namespace = u16::try_from(index).ok()?;
    }
    Some(local)
}

fn table_node(node: &NodeId, namespaces: &[String]) -> Option<TableNode> {
    let namespace = match node.namespace {
        0 => NAMESPACE_OF_THE_STANDARD,
        index => namespaces.get(usize::from(index))?,
    };
    TableNode::new(namespace, node.identifier.clone()).ok()
}
