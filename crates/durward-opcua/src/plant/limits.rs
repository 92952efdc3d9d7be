//! Limits of the server: whatever a client can make grow has one.

/// Operations in one request of Read, Write, RegisterNodes, HistoryRead and of services on monitored items.
pub const OPERATIONS_MAX: usize = 5_000;
/// Nodes in one Browse, BrowseNext or TranslateBrowsePathsToNodeIds: each can answer with many references.
pub const BROWSE_NODES_MAX: usize = 500;
/// Methods in one Call.
pub const CALLS_MAX: usize = 100;
/// References in one result of Browse; what is left is fetched with a continuation point.
pub const REFERENCES_MAX: usize = 1_000;
/// Continuation points of one session, of Browse and of HistoryRead each.
pub const CONTINUATION_POINTS_MAX: usize = 10;
/// Elements of one relative path.
pub const PATH_ELEMENTS_MAX: usize = 32;
/// Nodes that one element of a relative path may lead to.
pub const PATH_WIDTH_MAX: usize = 1_000;
/// How deep the hierarchy of types is followed.
pub const TYPE_DEPTH_MAX: usize = 32;
/// Nodes of an address space.
pub const NODES_MAX: usize = 1_000_000;

/// Elements of a decoded array. Larger than [`OPERATIONS_MAX`], so that too many operations get their own status code.
pub const ARRAY_LENGTH_MAX: usize = 10_000;
/// Bytes of a decoded string.
pub const STRING_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a decoded byte string or extension object: a node table of 100,000 nodes.
pub const BYTE_STRING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How deep variants and extension objects are nested.
pub const DEPTH_MAX: u64 = 10;
/// Bytes of a value that can be written to a variable.
pub const VALUE_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a response.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Subscriptions of one session.
pub const SUBSCRIPTIONS_PER_SESSION_MAX: usize = 100;
/// Subscriptions of the server.
pub const SUBSCRIPTIONS_MAX: usize = 10_000;
/// Monitored items of one subscription.
pub const ITEMS_PER_SUBSCRIPTION_MAX: usize = 50_000;
/// Values in the queue of one monitored item.
pub const QUEUE_MAX: u32 = 1_000;
/// Places in the queues of all monitored items.
pub const QUEUED_MAX: usize = 1_000_000;
/// Publish requests that one session may have waiting.
pub const PUBLISH_REQUESTS_MAX: usize = 32;
/// Notification messages that one subscription keeps for Republish: twice [`PUBLISH_REQUESTS_MAX`], as Part 4, 5.14.1.2 asks.
pub const RETRANSMISSIONS_MAX: usize = 64;
/// Notifications in one message, where the client does not ask for fewer.
pub const NOTIFICATIONS_MAX: usize = 10_000;
/// The fastest sampling and publishing, in milliseconds.
pub const INTERVAL_MS_MIN: u64 = 10;
/// The slowest sampling and publishing, in milliseconds.
pub const INTERVAL_MS_MAX: u64 = 3_600_000;
/// Publishing intervals without a notification until a keep alive is due.
pub const KEEP_ALIVE_COUNT_MAX: u32 = 10_000;
/// Publishing intervals without a publish request until a subscription ends.
pub const LIFETIME_COUNT_MAX: u32 = 100_000;
/// Select clauses of an event filter.
pub const SELECT_CLAUSES_MAX: usize = 100;
/// Elements of the where clause of an event filter.
pub const WHERE_ELEMENTS_MAX: usize = 50;

/// Values of history that one variable keeps.
pub const HISTORY_VALUES_MAX: usize = 10_000;
/// Values in one result of HistoryRead.
pub const HISTORY_RESULT_MAX: usize = 1_000;
