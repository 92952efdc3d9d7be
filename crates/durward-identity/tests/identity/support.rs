//! One node without a store.

use std::sync::Arc;
use std::time::Duration;

use durward_identity::protocol::{AskId, AskOutcome, NodeEffect, NodeEvent, NodeSettings, SessionNode};
use durward_identity::session::{
    ClusterKey, Level, Properties, Refusal, Scratch, SessionId, SessionSettings, SessionTable, User,
};
use durward_identity::{Moment, SystemEntropy};

pub(crate) struct Single {
    pub(crate) node: SessionNode,
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) now: Moment,
}

pub(crate) fn user(name: &str) -> User {
    User::new("/", name).unwrap()
}

impl Single {
    /// A node that is ready, with a key.
    pub(crate) fn new(settings: SessionSettings) -> Single {
        let sessions = Arc::new(SessionTable::new(settings));
        let cluster = ClusterKey::new([1; 32]).unwrap();
        let node =
            SessionNode::new(NodeSettings::default(), sessions.clone(), cluster, Arc::new(SystemEntropy))
                .unwrap();
        let mut single = Single { node, sessions, now: Moment::from_ms(1_700_000_000_000) };
        single.handle(NodeEvent::Tick);
        single.pass(Duration::from_secs(3));
        single
    }

    pub(crate) fn handle(&mut self, event: NodeEvent) -> Vec<NodeEffect> {
        let mut effects = Vec::new();
        self.node.handle(self.now, event, &mut effects);
        effects
    }

    /// Lets time pass, with a tick each second.
    pub(crate) fn pass(&mut self, span: Duration) {
        for _ in 0..span.as_secs() {
            self.now = self.now.plus(Duration::from_secs(1));
            self.handle(NodeEvent::Tick);
        }
    }

    pub(crate) fn answer(&mut self, event: NodeEvent) -> AskOutcome {
        let answer = self.handle(event).into_iter().find_map(|effect| match effect {
            NodeEffect::Answer { ask: AskId(1), answer } => Some(answer),
            _ => None,
        });
        answer.unwrap()
    }

    pub(crate) fn login(&mut self, name: &str) -> (SessionId, String) {
        let (user, properties) = (user(name), Properties::new());
        match self.answer(NodeEvent::Login { ask: AskId(1), user, level: Level(0), properties }) {
            AskOutcome::Token { id, token } => (id, token),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn logout(&mut self, name: &str, id: SessionId) {
        let ends = self.now.plus(Duration::from_secs(7200));
        assert_eq!(
            self.answer(NodeEvent::Logout { ask: AskId(1), user: user(name), id, ends }),
            AskOutcome::Done
        );
    }

    pub(crate) fn validate(&self, token: &str) -> Result<String, Refusal> {
        let mut scratch = Scratch::new();
        self.sessions.validate(self.now, token, &mut scratch).map(|claims| claims.subject.to_owned())
    }
}
