//! Records of sessions: what can be read is written and read again as the same; and a node that is told it stays up.

use std::sync::Arc;

use durward_identity::protocol::{NodeEvent, NodeSettings, SessionNode};
use durward_identity::session::{ClusterKey, SessionRecord, SessionSettings, SessionTable};
use durward_identity::{Moment, SystemEntropy};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(record) = SessionRecord::from_bytes(bytes) else { return };
    assert_eq!(SessionRecord::from_bytes(&record.to_bytes()).as_ref(), Ok(&record));
    let sessions = Arc::new(SessionTable::new(SessionSettings::default()));
    let cluster = ClusterKey::new([1; 32]).expect("a key");
    let node = SessionNode::new(NodeSettings::default(), sessions.clone(), cluster, Arc::new(SystemEntropy));
    let now = Moment::from_ms(1_700_000_000_000);
    node.expect("a node").handle(now, NodeEvent::Told { record }, &mut Vec::new());
    assert!(sessions.live_count() <= 1);
}
