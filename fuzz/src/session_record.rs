//! Records of sessions: what can be read is written and read again as the same; and a node that is told it stays up.

use std::sync::Arc;

use durward_identity::protocol::{Event, Node, NodeSettings};
use durward_identity::session::{ClusterKey, Record, SessionSettings, Sessions};
use durward_identity::{Moment, SystemEntropy};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(record) = Record::from_bytes(bytes) else { return };
    assert_eq!(Record::from_bytes(&record.to_bytes()).as_ref(), Ok(&record));
    let sessions = Arc::new(Sessions::new(SessionSettings::default()));
    let cluster = ClusterKey::new([1; 32]).expect("a key");
    let node = Node::new(NodeSettings::default(), sessions.clone(), cluster, Arc::new(SystemEntropy));
    let now = Moment::from_ms(1_700_000_000_000);
    node.expect("a node").handle(now, Event::Told { record }, &mut Vec::new());
    assert!(sessions.live_count() <= 1);
}
