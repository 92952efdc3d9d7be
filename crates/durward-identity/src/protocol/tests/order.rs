//! What follows from the order of the store alone: nodes that were given the same records, and what happened on one of them besides.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::{
    AskId, AskOutcome, Lack, Mode, NodeEffect, NodeEvent, NodeSettings, RecordId, SessionNode,
};
use crate::session::{
    ClusterKey, Level, LiveSession, Properties, Revocation, SessionChange, SessionId, SessionRecord,
    SessionSettings, SessionTable, User,
};
use crate::{Moment, Stamp, SystemEntropy};

const NOW: Moment = Moment::from_ms(1_700_000_000_000);

struct Reader {
    node: SessionNode,
    read: u64,
}

impl Reader {
    /// A node that has read all of an empty store.
    fn new(mode: Mode) -> Reader {
        let sessions = Arc::new(SessionTable::new(SessionSettings::default()));
        let settings = NodeSettings { mode, outbox_max: 3, ..NodeSettings::default() };
        let cluster = ClusterKey::new([1; 32]).unwrap();
        let node = SessionNode::new(settings, sessions, cluster, Arc::new(SystemEntropy)).unwrap();
        let mut reader = Reader { node, read: 0 };
        reader.handle(NodeEvent::Connected { last: 0 });
        reader.handle(NodeEvent::Idle { last: 0, after: 0 });
        reader
    }

    fn handle(&mut self, event: NodeEvent) -> Vec<NodeEffect> {
        let mut effects = Vec::new();
        self.node.handle(NOW, event, &mut effects);
        effects
    }

    /// The next record of the store.
    fn reads(&mut self, id: RecordId, record: &SessionRecord) -> Vec<NodeEffect> {
        self.read += 1;
        let (number, after) = (self.read, self.read - 1);
        self.handle(NodeEvent::Delivered { number, after, id, record: record.clone() })
    }

    fn reads_all(&mut self, records: &[SessionRecord]) {
        for record in records {
            let id = RecordId { node: 99, count: self.read };
            self.reads(id, record);
        }
    }

    fn lists(&self) -> Vec<SessionId> {
        self.node.sessions().list(&anna()).iter().map(|session| session.id).collect()
    }
}

fn anna() -> User {
    User::new("/", "anna").unwrap()
}

fn ends() -> Moment {
    NOW.plus(Duration::from_secs(7200))
}

/// A session of Anna's; her login was so many seconds after now by the clock of the node that took it.
fn login(number: u8, ahead_s: u64) -> LiveSession {
    LiveSession {
        user: anna(),
        id: SessionId([number; 16]),
        stamp: Stamp::from_us((NOW.ms() + ahead_s * 1000) * 1000),
        ends: ends(),
        idle: Duration::from_secs(1800),
        level: Level(0),
        properties: Properties::new(),
    }
}

fn logout(of: &LiveSession) -> NodeEvent {
    NodeEvent::Logout { ask: AskId(1), user: of.user.clone(), id: of.id, ends: of.ends }
}

/// A node with a clock 30 s ahead took the first login. Another one, that had not heard of it, ended Anna's sessions. The store has
/// the login first, so that session ends; the second login comes after both, though its stamp lies between theirs. A node
/// where the first session was already logged out used to keep the second one, where the others ended it.
#[test]
fn what_a_revocation_ends_follows_from_the_order_of_the_store_alone() {
    let (first, second) = (login(1, 30), login(2, 10));
    let before = login(0, 0).stamp;
    let revocations = [Revocation::User { user: anna(), before }, Revocation::All { before }];
    for revocation in revocations {
        let mut reader = Reader::new(Mode::AssuredWrite);
        let mut ended_here = Reader::new(Mode::AssuredWrite);
        let begun = SessionRecord::Login(first.clone());
        reader.reads_all(std::slice::from_ref(&begun));
        ended_here.reads_all(&[begun]);
        ended_here.handle(logout(&first));
        let rest = [SessionRecord::Revoked(revocation), SessionRecord::Login(second.clone())];
        reader.reads_all(&rest);
        ended_here.reads_all(&rest);
        assert_eq!(reader.lists(), [second.id]);
        assert_eq!(ended_here.lists(), [second.id]);
    }
}

/// The node that ended Anna's sessions was cut off before it heard that the store had that, and sends it again when the store does not
/// know it any more.
#[test]
fn a_revocation_that_the_store_has_twice_ends_only_what_came_before_the_first() {
    let before = login(0, 0).stamp;
    for revocation in [Revocation::User { user: anna(), before }, Revocation::All { before }] {
        let mut reader = Reader::new(Mode::AssuredWrite);
        let (first, second) = (login(1, 30), login(2, 30));
        let id = RecordId { node: 98, count: 1 };
        let revocation = SessionRecord::Revoked(revocation);
        reader.reads_all(&[SessionRecord::Login(first)]);
        reader.reads(id, &revocation);
        reader.reads_all(&[SessionRecord::Login(second.clone())]);
        reader.reads(id, &revocation);
        assert_eq!(reader.lists(), [second.id]);
        // Under another name it is another one, and comes after both.
        reader.reads_all(&[revocation]);
        assert_eq!(reader.lists(), []);
    }
}

/// Two nodes whose clocks are 400 s apart, which is more than clocks may differ. One took a login, and the other, whose clock is behind,
/// ended all sessions: that was acknowledged, and the session went on, because its stamp was too far after the revocation's.
#[test]
fn a_revocation_ends_what_the_store_has_before_it_however_far_clocks_are_apart() {
    let before = login(0, 0).stamp;
    for revocation in [Revocation::User { user: anna(), before }, Revocation::All { before }] {
        for mode in [Mode::BestEffort, Mode::AssuredWrite, Mode::AssuredRead] {
            let mut reader = Reader::new(mode);
            let (first, second) = (login(1, 400), login(2, 400));
            reader.reads_all(&[
                SessionRecord::Login(first.clone()),
                SessionRecord::Revoked(revocation.clone()),
                SessionRecord::Login(second.clone()),
            ]);
            assert_eq!(reader.lists(), [second.id], "{mode:?}");
            assert!(reader.node.sessions().is_revoked(&anna(), first.id, first.stamp), "{mode:?}");
        }
    }
}

/// The same where the node itself is asked: its stamp is held back by its own clock, which is far behind the session's.
#[test]
fn a_node_ends_all_that_it_knows_however_far_its_clock_is_behind() {
    type Asked = fn() -> NodeEvent;
    let asked: [Asked; 2] =
        [|| NodeEvent::RevokeUser { ask: AskId(1), user: anna() }, || NodeEvent::RevokeAll { ask: AskId(1) }];
    for mode in [Mode::None, Mode::BestEffort, Mode::AssuredWrite, Mode::AssuredRead] {
        for event in asked {
            let mut reader = Reader::new(mode);
            let session = login(1, 400);
            let begun = SessionRecord::Login(session.clone());
            match mode {
                Mode::None => drop(reader.handle(NodeEvent::Told { record: begun })),
                Mode::BestEffort | Mode::AssuredWrite | Mode::AssuredRead => reader.reads_all(&[begun]),
            }
            assert_eq!(reader.lists(), [session.id], "{mode:?}");
            reader.handle(event());
            assert_eq!(reader.lists(), [], "{mode:?}");
            assert!(reader.node.sessions().is_revoked(&anna(), session.id, session.stamp), "{mode:?}");
        }
    }
}

/// A load balancer that asks whether it is ready would send it logins, which it refuses.
#[test]
fn a_node_without_a_key_says_that_it_lacks_one() {
    let reader = Reader::new(Mode::AssuredWrite);
    assert_eq!(reader.node.outlook().lack, Some(Lack::Key));
}

/// A stream that was deleted and made anew counts from the beginning.
#[test]
fn a_store_that_begins_anew_is_not_believed() {
    let restart = |mode: Mode, event: &dyn Fn(&mut Reader) -> NodeEvent| {
        let mut reader = Reader::new(mode);
        reader.reads_all(&[SessionRecord::Login(login(1, 0)), SessionRecord::Login(login(2, 0))]);
        let event = event(&mut reader);
        let effects = reader.handle(event);
        assert!(effects.iter().any(|effect| matches!(effect, NodeEffect::Trouble(_))), "{effects:?}");
        assert_eq!(reader.node.outlook().lack, Some(Lack::Store));
        effects
    };
    let effects = restart(Mode::AssuredRead, &|reader| {
        let question = reader.handle(NodeEvent::Validate { ask: AskId(1) });
        let [NodeEffect::AskLast { question }] = question[..] else { panic!("{question:?}") };
        NodeEvent::Last { question, last: 1 }
    });
    let refused = NodeEffect::Answer { ask: AskId(1), answer: AskOutcome::Unavailable(Lack::Store) };
    assert!(effects.contains(&refused), "{effects:?}");
    restart(Mode::AssuredWrite, &|reader| {
        let (id, _) = stored(&reader.handle(logout(&login(1, 0))));
        NodeEvent::Stored { id, number: 2 }
    });
}

/// Somebody changes a session on one node while it is ended on another, and the store has the end first.
#[test]
fn a_session_that_ended_is_not_begun_anew_by_a_change() {
    let session = login(1, 0);
    let mut reader = Reader::new(Mode::AssuredWrite);
    reader.reads_all(&[SessionRecord::Login(session.clone())]);
    let key = reader.handle(NodeEvent::Rotate { ask: AskId(7) });
    let (id, record) = stored(&key);
    reader.reads(id, &record);
    let change = SessionChange { level: Level(1), properties: Vec::new() };
    let (ask, user, shown) = (AskId(1), anna(), Level(0));
    let effects = reader.handle(NodeEvent::Change { ask, user, id: session.id, shown, change });
    let (id, change) = stored(&effects);
    let end = Revocation::Session { user: anna(), id: session.id, ends: session.ends };
    reader.reads_all(&[SessionRecord::Revoked(end)]);
    let effects = reader.reads(id, &change);
    assert_eq!(effects.last(), Some(&NodeEffect::Answer { ask: AskId(1), answer: AskOutcome::NoSession }));
    assert_eq!(reader.lists(), []);
}

/// The store is down. Logouts take effect here and wait for it, up to a bound; then they are refused, and nothing has ended.
#[test]
fn logouts_wait_for_the_store_up_to_a_bound_and_are_refused_beyond() {
    for mode in [Mode::BestEffort, Mode::AssuredWrite, Mode::AssuredRead] {
        let mut reader = Reader::new(mode);
        let sessions: Vec<LiveSession> = (1..=8).map(|number| login(number, u64::from(number))).collect();
        sessions.iter().for_each(|live| reader.reads_all(&[SessionRecord::Login(live.clone())]));
        reader.handle(NodeEvent::Lost);
        let refused = NodeEffect::Answer { ask: AskId(1), answer: AskOutcome::Unavailable(Lack::Overload) };
        // Twice what makes a node refuse logins.
        let is_refused: Vec<bool> =
            sessions.iter().map(|live| reader.handle(logout(live)).contains(&refused)).collect();
        assert_eq!(is_refused, [false, false, false, false, false, false, true, true], "{mode:?}");
        assert_eq!(reader.lists(), [sessions[7].id, sessions[6].id], "{mode:?}");
        assert_eq!(reader.node.outlook().unsent, 6, "{mode:?}");
        assert!(reader.handle(NodeEvent::RevokeAll { ask: AskId(1) }).contains(&refused), "{mode:?}");
        assert!(reader.handle(NodeEvent::Rotate { ask: AskId(1) }).contains(&refused), "{mode:?}");
    }
}

/// A record that was acknowledged and is replaced in the store before it comes back is done when what is behind it has come.
#[test]
fn a_record_that_never_comes_back_is_done_when_the_store_is_past_it() {
    let mut reader = Reader::new(Mode::AssuredWrite);
    let session = login(1, 0);
    reader.reads_all(&[SessionRecord::Login(session.clone())]);
    let (id, _) = stored(&reader.handle(logout(&session)));
    assert_eq!(reader.handle(NodeEvent::Stored { id, number: 5 }), []);
    assert_eq!(reader.handle(NodeEvent::Stored { id, number: 5 }), []);
    let done = NodeEffect::Answer { ask: AskId(1), answer: AskOutcome::Done };
    assert_eq!(reader.handle(NodeEvent::Idle { last: 5, after: 1 }), [done]);
    assert_eq!(reader.handle(NodeEvent::Stored { id, number: 5 }), []);
    assert_eq!(reader.node.outlook().unsent, 0);
}

#[test]
fn what_was_revoked_with_all_is_not_listed_nor_refreshed_even_before_it_is_swept() {
    let mut reader = Reader::new(Mode::AssuredWrite);
    let session = login(1, 0);
    reader.reads_all(&[
        SessionRecord::Login(session.clone()),
        SessionRecord::Revoked(Revocation::All { before: session.stamp }),
    ]);
    assert_eq!(reader.lists(), []);
    let effects =
        reader.handle(NodeEvent::Refresh { ask: AskId(1), user: anna(), id: session.id, shown: Level(0) });
    assert_eq!(effects, [NodeEffect::Answer { ask: AskId(1), answer: AskOutcome::NoSession }]);
}

fn stored(effects: &[NodeEffect]) -> (RecordId, SessionRecord) {
    let store = effects.iter().find_map(|effect| {
        if let NodeEffect::Store { id, record } = effect { Some((*id, record.clone())) } else { None }
    });
    store.unwrap()
}
