use durward_opcua::protocol::{
    AuthorityAction, AuthorityEvent, AuthorityMachine, AuthorityRecord, AuthorityTimings, IssueRefusal,
    PENDING_MAX, TokenApplicant,
};
use durward_opcua::token::{CutoffTarget, FeedMessage, TokenFacts};

use super::{at, s};

type Service = AuthorityMachine<&'static str, u32>;
type Action = AuthorityAction<&'static str, u32, u8>;

fn settings() -> AuthorityTimings {
    let (token_lifetime, cutoff_lifetime) = (s(100), s(200));
    AuthorityTimings { token_lifetime, cutoff_lifetime, heartbeat_interval: s(1), dated_ahead_max: s(0) }
}

fn wanted() -> TokenApplicant<&'static str> {
    TokenApplicant { subject: "anna", session: Some("session"), client: "certificate" }
}

fn ask(request: u32) -> AuthorityEvent<&'static str, u32, u8> {
    AuthorityEvent::Ask { request, wanted: wanted() }
}

fn granted(ticket: u64) -> AuthorityEvent<&'static str, u32, u8> {
    AuthorityEvent::Decided { ticket, granted_by: Some("policy") }
}

fn ticket(actions: &[Action]) -> u64 {
    match actions {
        [AuthorityAction::Decide { ticket, .. }] => *ticket,
        other => panic!("{other:?}"),
    }
}

const RECALL: AuthorityEvent<&'static str, u32, u8> = AuthorityEvent::Recall(CutoffTarget::Subject("anna"));

/// What it has stored goes into the store.
fn stored(store: &mut Vec<AuthorityRecord<&'static str>>, actions: Vec<Action>) -> Vec<Action> {
    let is_record = |action: &Action| matches!(action, AuthorityAction::Store(_));
    let (records, rest): (Vec<_>, Vec<_>) = actions.into_iter().partition(is_record);
    store.extend(records.into_iter().filter_map(|action| match action {
        AuthorityAction::Store(record) => Some(record),
        _ => None,
    }));
    rest
}

struct World {
    service: Service,
    store: Vec<AuthorityRecord<&'static str>>,
}

impl World {
    fn new(now: u32) -> World {
        let (service, actions) = AuthorityMachine::new(settings(), at(now));
        let mut store = Vec::new();
        stored(&mut store, actions);
        World { service, store }
    }

    fn step(&mut self, now: u32, event: AuthorityEvent<&'static str, u32, u8>) -> Vec<Action> {
        let actions = self.service.step(at(now), event);
        stored(&mut self.store, actions)
    }

    fn restart(&mut self) {
        self.service = AuthorityMachine::restore(settings(), self.store.clone()).unwrap();
    }

    /// A token that is asked for, decided and issued at one moment.
    fn token(&mut self, now: u32) -> TokenFacts<&'static str> {
        let ticket = ticket(&self.step(now, ask(1)));
        issued(&self.step(now, granted(ticket)))
    }

    fn recall(&mut self, now: u32) -> durward_identity::Moment {
        match &self.step(now, RECALL)[..] {
            [AuthorityAction::Publish(FeedMessage::Cutoff { before, .. })] => *before,
            other => panic!("{other:?}"),
        }
    }
}

fn issued(actions: &[Action]) -> TokenFacts<&'static str> {
    match actions {
        [AuthorityAction::Issue { facts, .. }] => facts.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_issued_for_what_was_granted_and_refused_for_what_was_not() {
    let mut world = World::new(50);
    assert_eq!(world.step(100, ask(1)), [AuthorityAction::Decide { ticket: 1, wanted: wanted() }]);
    let facts = issued(&world.step(105, granted(1)));
    assert_eq!((facts.subject, facts.client, facts.policy), ("anna", "certificate", "policy"));
    assert_eq!((facts.issued, facts.expires), (at(100), at(200)), "dated when its decision was begun");
    assert_eq!(world.step(105, granted(1)), [], "a decision is good for one token");
    world.step(106, ask(2));
    let denied = world.step(106, AuthorityEvent::Decided { ticket: 2, granted_by: None });
    assert_eq!(denied, [AuthorityAction::Refuse { request: 2, why: IssueRefusal::Denied }]);
    world.step(107, ask(3));
    world.step(107, AuthorityEvent::Withdrawn { request: 3 });
    assert_eq!(world.step(107, granted(3)), []);
    assert_eq!(world.step(107, granted(99)), []);
}

/// A service that loses its store within the second in which it has dated a token ahead.
#[test]
fn a_lost_store_ends_tokens_that_were_dated_ahead() {
    let settings = || AuthorityTimings { dated_ahead_max: s(2), ..settings() };
    let begin = |now| {
        let (service, actions) = AuthorityMachine::new(settings(), at(now));
        let mut store = Vec::new();
        stored(&mut store, actions);
        World { service, store }
    };
    let mut first = begin(50);
    let old = first.token(50);
    // It is handed out when it is dated two seconds ahead at most.
    let handed_out = 51;
    assert_eq!(old.issued, at(handed_out + 2));
    let lost = begin(handed_out);
    let ended = |store: &[AuthorityRecord<&'static str>], facts: &TokenFacts<&'static str>| {
        let mut cutoffs = durward_opcua::token::Cutoffs::default();
        for record in store {
            if let AuthorityRecord::Cutoff { target, before, .. } = record {
                cutoffs.add(target.clone(), *before);
            }
        }
        cutoffs.end(facts)
    };
    assert!(ended(&lost.store, &old));
    let mut lost = lost;
    let new = lost.token(handed_out);
    assert!(!ended(&lost.store, &new));
}

#[test]
fn a_cutoff_is_later_than_tokens_before_it_and_not_later_than_those_after_it() {
    let mut world = World::new(50);
    let before = world.token(100);
    let cutoff = world.recall(100);
    let after = world.token(100);
    assert!(before.issued < cutoff && after.issued >= cutoff);
    // A second one in the same second ends that one as well.
    let next = world.recall(100);
    assert!(after.issued < next && world.token(100).issued >= next);
}

fn ask_of(request: u32, subject: &'static str) -> AuthorityEvent<&'static str, u32, u8> {
    AuthorityEvent::Ask { request, wanted: TokenApplicant { subject, session: None, client: subject } }
}

/// Hundreds of sessions end in a second, and all come back: none is dated so far ahead that gates refuse it.
#[test]
fn however_many_are_recalled_in_a_second_tokens_are_a_second_ahead_at_most() {
    const SUBJECTS: [&str; 6] = ["anna", "bert", "carl", "dora", "emil", "fred"];
    let mut world = World::new(50);
    for (at_request, subject) in (0..).zip(SUBJECTS.iter().cycle().take(600)) {
        let ticket = ticket(&world.step(100, ask_of(at_request, subject)));
        let facts = issued(&world.step(100, granted(ticket)));
        assert!(facts.issued <= at(101), "{at_request}: {:?}", facts.issued);
        if at_request >= 6 {
            continue;
        }
        let recall = AuthorityEvent::Recall(CutoffTarget::Subject(*subject));
        match &world.step(100, recall)[..] {
            [AuthorityAction::Publish(FeedMessage::Cutoff { before, .. })] => {
                assert!(*before == at(101) && facts.issued < *before);
            }
            other => panic!("{other:?}"),
        }
    }
    // One policy for all of them: later than whatever was begun.
    match &world.step(100, AuthorityEvent::Recall(CutoffTarget::Policy("policy")))[..] {
        [AuthorityAction::Publish(FeedMessage::Cutoff { before, .. })] => assert_eq!(*before, at(102)),
        other => panic!("{other:?}"),
    }
    let ticket = ticket(&world.step(100, ask_of(9_999, "gina")));
    assert_eq!(issued(&world.step(100, granted(ticket))).issued, at(102));
}

/// More tokens are dated ahead than are remembered one by one: a cutoff is later than all of them.
#[test]
fn a_cutoff_is_later_than_tokens_that_are_not_remembered() {
    let mut world = World::new(50);
    world.recall(100);
    for request in 0..PENDING_MAX as u32 + 1 {
        let ticket = ticket(&world.step(100, ask(request)));
        assert_eq!(issued(&world.step(100, granted(ticket))).issued, at(101));
    }
    assert_eq!(world.recall(100), at(102));
}

#[test]
fn what_is_recalled_while_it_is_decided_is_decided_anew() {
    let mut world = World::new(50);
    world.step(100, ask(1));
    let cutoff = world.recall(102);
    let again = world.step(103, granted(1));
    assert_eq!(again, [AuthorityAction::Decide { ticket: 2, wanted: wanted() }]);
    // The answer of before, once more: it would be taken for one of after the recall.
    assert_eq!(world.step(103, granted(1)), []);
    let facts = issued(&world.step(104, granted(2)));
    assert!(facts.issued >= cutoff);
}

#[test]
fn a_restart_forgets_no_cutoff_and_no_date() {
    let mut world = World::new(50);
    let token = world.token(100);
    let first = world.recall(100);
    world.token(110);
    let late = world.token(111);
    world.restart();
    // The clock went back by a minute.
    assert!(world.recall(51) > late.issued, "no token before it is as late");
    assert!(world.token(51).issued > late.issued, "not ended by that cutoff");
    let answer = world.step(52, AuthorityEvent::AskCutoffs { gate: 3, question: 9 });
    match &answer[..] {
        [AuthorityAction::Answer(3, FeedMessage::Snapshot { sequence, question: 9, cutoffs, .. })] => {
            assert_eq!(*sequence, 3);
            assert!(cutoffs.end(&token) && cutoffs.end(&late) && token.issued < first);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_shortened_store_says_the_same() {
    let mut world = World::new(50);
    let token = world.token(100);
    world.recall(100);
    // All cutoffs are old and dropped; their number is not.
    world.step(500, AuthorityEvent::Tick);
    let sequence = world.service.sequence();
    world.store = world.service.records();
    world.restart();
    assert_eq!((world.service.sequence(), sequence), (2, 2));
    assert!(world.recall(60) > token.issued);
}

#[test]
fn a_new_store_recalls_whatever_was_issued_before() {
    let (service, actions) = Service::new::<u8>(settings(), at(100));
    let expected: Vec<Action> = vec![
        AuthorityAction::Store(AuthorityRecord::Epoch(100_000)),
        AuthorityAction::Store(AuthorityRecord::Cutoff {
            sequence: 1,
            target: CutoffTarget::All,
            before: at(101),
        }),
        AuthorityAction::Publish(FeedMessage::Cutoff {
            epoch: 100_000,
            sequence: 1,
            target: CutoffTarget::All,
            before: at(101),
        }),
    ];
    assert_eq!((service.sequence(), actions), (1, expected));
    assert!(Service::restore(settings(), []).is_none());
    assert!(Service::restore(settings(), [AuthorityRecord::Mark(at(1))]).is_none());
}

#[test]
fn a_token_is_not_issued_before_its_mark_is_stored() {
    let (mut service, _) = Service::new::<u8>(settings(), at(50));
    let first = service.step::<u8>(at(100), ask(1));
    assert_eq!(first[0], AuthorityAction::Store(AuthorityRecord::Mark(at(102))));
    assert_eq!(service.step::<u8>(at(101), ask(2)).len(), 1, "stored ahead: one write in two seconds");
    let third = service.step::<u8>(at(102), ask(3));
    assert_eq!(third[0], AuthorityAction::Store(AuthorityRecord::Mark(at(104))));
}

#[test]
fn heartbeats_come_at_their_interval_with_the_last_number() {
    let mut world = World::new(50);
    let beat = |time| {
        let heartbeat = FeedMessage::Heartbeat { epoch: 50_000, sequence: 1, time: at(time) };
        vec![AuthorityAction::Publish(heartbeat)]
    };
    assert_eq!(world.step(60, AuthorityEvent::Tick), beat(60));
    assert_eq!(world.step(60, AuthorityEvent::Tick), []);
    assert_eq!(world.step(61, AuthorityEvent::Tick), beat(61));
}

#[test]
fn a_flood_of_requests_is_refused_as_busy() {
    let mut world = World::new(50);
    for request in 0..PENDING_MAX as u32 {
        assert_eq!(world.step(100, ask(request)).len(), 1);
    }
    let busy = world.step(100, ask(9_999));
    assert_eq!(busy, [AuthorityAction::Refuse { request: 9_999, why: IssueRefusal::Busy }]);
    issued(&world.step(100, granted(7)));
    assert_eq!(world.step(100, ask(9_999)).len(), 1);
}
