//! Session tokens: nothing that was not sealed here is accepted, and nothing makes the node stumble.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use durward_identity::protocol::{Event, Node, NodeSettings};
use durward_identity::session::{ClusterKey, Scratch, SessionSettings, Sessions};
use durward_identity::{Moment, SystemEntropy};

const NOW: Moment = Moment::from_ms(1_700_000_000_000);

/// A node with a key, and no session.
fn sessions() -> &'static Sessions {
    static SESSIONS: OnceLock<Arc<Sessions>> = OnceLock::new();
    SESSIONS.get_or_init(|| {
        let sessions = Arc::new(Sessions::new(SessionSettings::default()));
        let cluster = ClusterKey::new([1; 32]).expect("a key");
        let mut node = Node::new(NodeSettings::default(), sessions.clone(), cluster, Arc::new(SystemEntropy))
            .expect("a node");
        for seconds in [0, 3] {
            node.handle(NOW.plus(Duration::from_secs(seconds)), Event::Tick, &mut Vec::new());
        }
        sessions
    })
}

pub(crate) fn run(token: &[u8]) {
    let token = crate::text(token);
    assert!(sessions().validate(NOW, token, &mut Scratch::new()).is_err());
}
