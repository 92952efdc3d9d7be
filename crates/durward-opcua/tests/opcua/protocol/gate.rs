use std::sync::Arc;

use durward_identity::Moment;
use durward_opcua::protocol::{
    ActivationIdentity, ChannelId, GateAction, GateEvent, GateMachine, GateNote, GateRefusal, GateSessionId,
    GateTimings, NonceNumber, SessionStanding,
};
use durward_opcua::token::{
    CutoffTarget, Cutoffs, FeedMessage, PerRightKind, RightEnd, RightKind, StalenessLimits, TokenFacts,
};
use opcua_types::StatusCode;

use super::{at, s};

type Token = TokenFacts<&'static str>;

const SESSION: GateSessionId = GateSessionId(1);
const CHANNEL: ChannelId = ChannelId(1);

fn settings() -> GateTimings {
    GateTimings {
        reach: StalenessLimits::new(s(3)),
        skew: s(1),
        token_lifetime_max: s(1000),
        ask_interval: s(1),
        has_anonymous: false,
    }
}

fn token(issued: u32, expires: u32) -> Token {
    TokenFacts {
        subject: "anna",
        session: None,
        client: "certificate",
        policy: "policy",
        issued: at(issued),
        expires: at(expires),
    }
}

fn snapshot(sequence: u64, time: u32) -> FeedMessage<&'static str> {
    let cutoffs = Arc::new(Cutoffs::default());
    FeedMessage::Snapshot { epoch: 1, sequence, time: at(time), question: 7, cutoffs }
}

fn heartbeat(sequence: u64, time: u32) -> GateEvent<Token> {
    GateEvent::Heard(FeedMessage::Heartbeat { epoch: 1, sequence, time: at(time) })
}

fn cutoff(sequence: u64, before: u32) -> GateEvent<Token> {
    let (target, before) = (CutoffTarget::Subject("anna"), at(before));
    GateEvent::Heard(FeedMessage::Cutoff { epoch: 1, sequence, target, before })
}

/// Knows all cutoffs as of second 100, and has a session of the client that is not activated.
fn gate_with(settings: GateTimings) -> GateMachine<Token> {
    let mut gate = GateMachine::new(settings, 7);
    gate.step(at(100), GateEvent::Heard(snapshot(0, 100)));
    let created = gate.step(at(100), create(SESSION, CHANNEL));
    assert_eq!(created, [GateAction::Created(SESSION, NonceNumber(0))]);
    gate
}

fn create(session: GateSessionId, channel: ChannelId) -> GateEvent<Token> {
    GateEvent::Create { session, channel, client: "certificate" }
}

fn activate(channel: ChannelId, nonce: u32, token: Token) -> GateEvent<Token> {
    let identity = ActivationIdentity::Token(token);
    GateEvent::Activate {
        session: SESSION,
        channel,
        client: "certificate",
        nonce: NonceNumber(nonce),
        identity,
    }
}

/// Activated with a token from second 100 to 200.
fn active_with(settings: GateTimings) -> GateMachine<Token> {
    let mut gate = gate_with(settings);
    let actions = gate.step(at(100), activate(CHANNEL, 0, token(100, 200)));
    assert_eq!(actions, [GateAction::Activated(SESSION, NonceNumber(1))]);
    gate
}

fn active() -> GateMachine<Token> {
    active_with(settings())
}

fn refused(why: GateRefusal) -> Vec<GateAction> {
    vec![GateAction::RefuseActivation(SESSION, why)]
}

fn read(gate: &GateMachine<Token>, now: Moment) -> Result<(), GateRefusal> {
    gate.admit(now, SESSION, CHANNEL, RightKind::Reading)
}

#[test]
fn requests_are_served_between_activation_and_close_over_the_sessions_channel() {
    let mut gate = gate_with(settings());
    assert_eq!(read(&gate, at(100)), Err(GateRefusal::NotActivated));
    gate.step(at(100), activate(CHANNEL, 0, token(100, 200)));
    assert_eq!(read(&gate, at(100)), Ok(()));
    let request = |session, channel| GateEvent::Request { session, channel, kind: RightKind::Calling };
    assert_eq!(gate.step(at(100), request(SESSION, CHANNEL)), [GateAction::Serve(SESSION)]);
    let other = ChannelId(2);
    assert_eq!(
        gate.step(at(100), request(SESSION, other)),
        [GateAction::Refuse(SESSION, GateRefusal::OtherChannel)]
    );
    assert_eq!(
        gate.step(at(100), request(GateSessionId(9), CHANNEL)),
        [GateAction::Refuse(GateSessionId(9), GateRefusal::NoSession)]
    );
    gate.step(at(100), GateEvent::Close(SESSION));
    assert_eq!(read(&gate, at(100)), Err(GateRefusal::NoSession));
}

#[test]
fn a_session_number_is_not_given_twice() {
    let mut gate = active();
    let thief = GateEvent::Create { session: SESSION, channel: ChannelId(9), client: "thief" };
    assert_eq!(gate.step(at(100), thief), [GateAction::Refuse(SESSION, GateRefusal::NoSession)]);
    assert_eq!(read(&gate, at(100)), Ok(()));
}

#[test]
fn the_end_of_a_token_closes_the_session_in_its_moment() {
    let mut gate = active();
    gate.step(at(199), heartbeat(0, 199));
    let last = Moment::from_ms(199_999);
    assert_eq!(gate.step(last, GateEvent::Tick), []);
    assert_eq!(read(&gate, last), Ok(()));
    assert_eq!(read(&gate, at(200)), Err(GateRefusal::Ended(RightEnd::Expired)), "before the tick");
    assert_eq!(gate.step(at(200), GateEvent::Tick), [GateAction::CloseSession(SESSION, RightEnd::Expired)]);
    assert_eq!(read(&gate, last), Err(GateRefusal::NoSession));
}

#[test]
fn where_anonymous_is_allowed_a_session_goes_on_as_such() {
    let mut gate = active_with(GateTimings { has_anonymous: true, ..settings() });
    gate.step(at(199), heartbeat(0, 199));
    let actions = gate.step(at(200), GateEvent::Tick);
    assert_eq!(actions, [GateAction::BecomeAnonymous(SESSION, RightEnd::Expired)]);
    assert_eq!(gate.standing(SESSION), Some(&SessionStanding::Anonymous));
    assert_eq!(read(&gate, at(201)), Ok(()), "as whom, the glue knows: nobody");
    let anonymous = GateEvent::Activate {
        session: SESSION,
        channel: CHANNEL,
        client: "certificate",
        nonce: NonceNumber(1),
        identity: ActivationIdentity::Anonymous,
    };
    assert_eq!(gate.step(at(201), anonymous.clone())[0], GateAction::Activated(SESSION, NonceNumber(2)));
    assert_eq!(gate_with(settings()).step(at(100), anonymous), refused(GateRefusal::Nonce));
}

#[test]
fn a_token_that_ends_now_activates_nothing_even_in_grace() {
    let reach = StalenessLimits { grace: PerRightKind::all(s(1000)), ..StalenessLimits::new(s(3)) };
    for now in [200, 201] {
        let mut gate = gate_with(GateTimings { reach, ..settings() });
        let actions = gate.step(at(now), activate(CHANNEL, 0, token(100, 200)));
        assert_eq!(actions[0], GateAction::RefuseActivation(SESSION, GateRefusal::Ended(RightEnd::Expired)));
    }
}

#[test]
fn a_nonce_is_good_once() {
    let mut gate = active();
    let replay = activate(CHANNEL, 0, token(100, 200));
    assert_eq!(gate.step(at(100), replay.clone()), refused(GateRefusal::Nonce));
    assert_eq!(gate.step(at(100), activate(CHANNEL, 2, token(100, 200))), refused(GateRefusal::Nonce));
    // Two renewals that were verified beside each other: one of them comes first.
    let first = gate.step(at(101), activate(CHANNEL, 1, token(101, 250)));
    assert_eq!(first, [GateAction::Activated(SESSION, NonceNumber(2))]);
    assert_eq!(gate.step(at(101), activate(CHANNEL, 1, token(101, 300))), refused(GateRefusal::Nonce));
    let expires = match gate.standing(SESSION) {
        Some(SessionStanding::Token(token)) => token.expires,
        other => panic!("{other:?}"),
    };
    assert_eq!(expires, at(250));
}

#[test]
fn a_refused_activation_changes_nothing() {
    let mut gate = active();
    let before = gate.clone();
    for (event, why) in [
        (activate(CHANNEL, 1, token(50, 100)), GateRefusal::Ended(RightEnd::Expired)),
        (activate(CHANNEL, 1, TokenFacts { client: "thief", ..token(100, 300) }), GateRefusal::OtherClient),
        (activate(CHANNEL, 0, token(100, 300)), GateRefusal::Nonce),
    ] {
        assert_eq!(gate.step(at(100), event), refused(why));
        assert_eq!(gate, before);
    }
}

#[test]
fn a_token_of_another_client_is_refused_whoever_brings_it() {
    let mut gate = gate_with(settings());
    let thief = |identity: Token, session| GateEvent::Activate {
        session,
        channel: ChannelId(9),
        client: "thief",
        nonce: NonceNumber(0),
        identity: ActivationIdentity::Token(identity),
    };
    // With a session of their own, and with the victim's.
    let own = GateSessionId(9);
    gate.step(at(100), GateEvent::Create { session: own, channel: ChannelId(9), client: "thief" });
    let refused = |session| [GateAction::RefuseActivation(session, GateRefusal::OtherClient)];
    assert_eq!(gate.step(at(100), thief(token(100, 200), own)), refused(own));
    assert_eq!(gate.step(at(100), thief(token(100, 200), SESSION)), refused(SESSION));
    let bound_to_the_thief = TokenFacts { client: "thief", ..token(100, 200) };
    assert_eq!(gate.step(at(100), thief(bound_to_the_thief, SESSION)), refused(SESSION));
    assert_eq!(GateRefusal::OtherClient.activation_status(), StatusCode::BadIdentityTokenRejected);
}

#[test]
fn the_first_activation_is_over_the_channel_of_creation_and_later_ones_over_any_of_the_same_client_and_user()
{
    let mut gate = gate_with(settings());
    let next = ChannelId(2);
    assert_eq!(gate.step(at(100), activate(next, 0, token(100, 200))), refused(GateRefusal::OtherChannel));
    gate.step(at(100), activate(CHANNEL, 0, token(100, 200)));
    gate.step(at(101), GateEvent::ChannelClosed(CHANNEL));
    assert_eq!(
        read(&gate, at(101)),
        Err(GateRefusal::OtherChannel),
        "until it is activated over another one"
    );
    let bert = TokenFacts { subject: "bert", ..token(100, 200) };
    assert_eq!(gate.step(at(101), activate(next, 1, bert.clone())), refused(GateRefusal::OtherUser));
    let moved = gate.step(at(101), activate(next, 1, token(100, 200)));
    assert_eq!(moved, [GateAction::Activated(SESSION, NonceNumber(2))]);
    assert_eq!(read(&gate, at(101)), Err(GateRefusal::OtherChannel));
    assert_eq!(gate.admit(at(101), SESSION, next, RightKind::Reading), Ok(()));
    // Over the same channel the user may change.
    assert_eq!(
        gate.step(at(102), activate(next, 2, bert))[0],
        GateAction::Activated(SESSION, NonceNumber(3))
    );
}

#[test]
fn a_cutoff_closes_what_was_issued_before_it_and_nothing_else() {
    let mut gate = active();
    gate.step(
        at(100),
        GateEvent::Create { session: GateSessionId(2), channel: CHANNEL, client: "certificate" },
    );
    assert_eq!(gate.step(at(100), cutoff(1, 100)), []);
    assert_eq!(read(&gate, at(100)), Ok(()), "issued in the moment of the cutoff");
    assert_eq!(gate.step(at(101), cutoff(2, 101)), [GateAction::CloseSession(SESSION, RightEnd::Recalled)]);
    assert!(gate.standing(GateSessionId(2)).is_some(), "not activated: nothing to recall");
}

#[test]
fn a_recalled_token_does_not_come_back_by_another_activation() {
    let mut gate = active_with(GateTimings { has_anonymous: true, ..settings() });
    gate.step(at(101), cutoff(1, 101));
    assert_eq!(gate.standing(SESSION), Some(&SessionStanding::Anonymous));
    let again = gate.step(at(101), activate(CHANNEL, 1, token(100, 200)));
    assert_eq!(again, refused(GateRefusal::Ended(RightEnd::Recalled)));
    let anew = gate.step(at(101), activate(CHANNEL, 1, token(101, 200)));
    assert_eq!(anew, [GateAction::Activated(SESSION, NonceNumber(2))]);
}

#[test]
fn delivery_stops_in_the_moment_a_right_ends() {
    let subscribed = || {
        let mut gate = active();
        gate.step(at(100), GateEvent::Subscribed { session: SESSION, has: true });
        gate
    };
    let stop = GateAction::StopDelivery(SESSION);
    let actions = subscribed().step(at(101), cutoff(1, 101));
    assert_eq!(actions, [stop.clone(), GateAction::CloseSession(SESSION, RightEnd::Recalled)]);
    let mut gate = subscribed();
    gate.step(at(199), heartbeat(0, 199));
    let actions = gate.step(at(200), GateEvent::Tick);
    assert_eq!(actions, [stop, GateAction::CloseSession(SESSION, RightEnd::Expired)]);
    // Another token: all items are ruled on again.
    let actions = subscribed().step(at(100), activate(CHANNEL, 1, token(100, 300)));
    assert_eq!(
        actions,
        [GateAction::Activated(SESSION, NonceNumber(2)), GateAction::RecheckDelivery(SESSION)]
    );
    let mut gate = subscribed();
    gate.step(at(100), GateEvent::Subscribed { session: SESSION, has: false });
    assert_eq!(gate.step(at(101), cutoff(1, 101)), [GateAction::CloseSession(SESSION, RightEnd::Recalled)]);
}

#[test]
fn silence_stops_delivery_and_a_heartbeat_resumes_it() {
    let hold = PerRightKind { reading: Some(s(10)), ..PerRightKind::all(None) };
    let mut gate = active_with(GateTimings {
        reach: StalenessLimits { hold, ..StalenessLimits::new(s(3)) },
        ..settings()
    });
    gate.step(at(100), GateEvent::Subscribed { session: SESSION, has: true });
    let ask = GateAction::AskCutoffs(7);
    assert_eq!(gate.step(at(109), GateEvent::Tick)[..], *std::slice::from_ref(&ask));
    assert_eq!(read(&gate, at(109)), Ok(()));
    assert_eq!(gate.step(at(110), GateEvent::Tick), [ask, GateAction::StopDelivery(SESSION)]);
    assert_eq!(read(&gate, at(110)), Err(GateRefusal::Ended(RightEnd::OutOfReach)));
    assert_eq!(
        gate.admit(at(110), SESSION, CHANNEL, RightKind::Writing),
        Ok(()),
        "which holds until the end"
    );
    assert_eq!(gate.step(at(111), heartbeat(0, 111)), [GateAction::ResumeDelivery(SESSION)]);
    assert_eq!(read(&gate, at(111)), Ok(()));
}

#[test]
fn grace_serves_what_it_is_set_for_and_is_noted_once() {
    let grace = PerRightKind { reading: s(30), ..PerRightKind::all(s(0)) };
    let mut gate = active_with(GateTimings {
        reach: StalenessLimits { grace, ..StalenessLimits::new(s(3)) },
        ..settings()
    });
    let ask = GateAction::AskCutoffs(7);
    let note = GateAction::Note(GateNote::GraceBegan(SESSION));
    assert_eq!(gate.step(at(200), GateEvent::Tick), [ask.clone(), note]);
    assert_eq!(read(&gate, at(229)), Ok(()));
    let write = gate.admit(at(200), SESSION, CHANNEL, RightKind::Writing);
    assert_eq!(write, Err(GateRefusal::Ended(RightEnd::Expired)));
    assert_eq!(gate.step(at(229), GateEvent::Tick)[..], *std::slice::from_ref(&ask));
    assert_eq!(
        gate.step(at(230), GateEvent::Tick),
        [ask, GateAction::CloseSession(SESSION, RightEnd::Expired)]
    );
}

#[test]
fn grace_ends_when_the_service_is_back() {
    let reach = StalenessLimits { grace: PerRightKind::all(s(30)), ..StalenessLimits::new(s(3)) };
    let mut gate = active_with(GateTimings { reach, ..settings() });
    gate.step(at(201), GateEvent::Tick);
    let actions = gate.step(at(202), heartbeat(0, 202));
    assert_eq!(actions, [GateAction::CloseSession(SESSION, RightEnd::Expired)]);
}

#[test]
fn a_gap_is_noted_asked_about_and_ends_rights_when_it_stays() {
    let mut gate = active();
    let ask = GateAction::AskCutoffs(7);
    let missing = GateAction::Note(GateNote::CutoffsMissing);
    assert_eq!(gate.step(at(101), heartbeat(5, 101)), [missing, ask.clone()]);
    assert_eq!(read(&gate, at(102)), Ok(()));
    assert_eq!(gate.step(at(102), heartbeat(5, 102)), [ask]);
    assert_eq!(read(&gate, at(103)), Err(GateRefusal::Ended(RightEnd::CutoffsMissing)));
    gate.step(at(104), GateEvent::Heard(snapshot(5, 104)));
    assert_eq!(read(&gate, at(104)), Ok(()));
}

#[test]
fn a_gate_that_was_started_lets_nobody_in_before_it_knows_the_cutoffs() {
    let mut gate: GateMachine<Token> = GateMachine::new(settings(), 7);
    let asked = gate.step(at(100), GateEvent::AuthorityConnected);
    assert_eq!(asked, [GateAction::AskCutoffs(7)]);
    gate.step(at(100), create(SESSION, CHANNEL));
    let unknown = refused(GateRefusal::Ended(RightEnd::CutoffsUnknown));
    assert_eq!(gate.step(at(100), activate(CHANNEL, 0, token(100, 200))), unknown);
    let old = FeedMessage::Snapshot {
        epoch: 1,
        sequence: 0,
        time: at(100),
        question: 6,
        cutoffs: Arc::new(Cutoffs::default()),
    };
    gate.step(at(100), GateEvent::Heard(old));
    assert_eq!(gate.step(at(100), activate(CHANNEL, 0, token(100, 200))), unknown);
    gate.step(at(100), GateEvent::Heard(snapshot(0, 100)));
    let activated = gate.step(at(100), activate(CHANNEL, 0, token(100, 200)));
    assert_eq!(activated, [GateAction::Activated(SESSION, NonceNumber(1))]);
}

#[test]
fn a_clock_that_goes_back_brings_nothing_back() {
    let mut gate = active();
    gate.step(at(150), heartbeat(0, 150));
    gate.step(at(199), heartbeat(0, 199));
    gate.step(at(100), GateEvent::Tick);
    let late = gate.step(at(100), activate(CHANNEL, 1, token(100, 199)));
    assert_eq!(late, refused(GateRefusal::Ended(RightEnd::Expired)));
}

#[test]
fn messages_from_the_future_are_noted_and_no_sign_of_life() {
    let mut gate = active();
    let actions = gate.step(at(101), heartbeat(0, 103));
    assert_eq!(actions, [GateAction::Note(GateNote::ClocksDiffer)]);
    assert_eq!(gate.feed().complete_until(), Some(at(100)));
}

/// Whoever runs the gate fetches the next token of a user who cannot.
#[test]
fn a_renewal_puts_the_next_token_in_the_place_of_the_first() {
    let mut gate = active();
    gate.step(at(190), heartbeat(0, 190));
    let renew = |nonce, token| GateEvent::Renew { session: SESSION, nonce: NonceNumber(nonce), token };
    for (event, why) in [
        (renew(0, token(190, 300)), GateRefusal::Nonce),
        (renew(1, TokenFacts { subject: "eve", ..token(190, 300) }), GateRefusal::OtherUser),
        (renew(1, TokenFacts { client: "thief", ..token(190, 300) }), GateRefusal::OtherClient),
        (renew(1, token(90, 190)), GateRefusal::Ended(RightEnd::Expired)),
    ] {
        assert_eq!(gate.step(at(190), event), refused(why));
    }
    assert_eq!(gate.step(at(190), renew(1, token(190, 300))), []);
    gate.step(at(250), heartbeat(0, 250));
    assert_eq!(read(&gate, at(250)), Ok(()));
    // The client's own activation over its nonce goes on.
    let again = gate.step(at(250), activate(CHANNEL, 1, token(250, 400)));
    assert_eq!(again, [GateAction::Activated(SESSION, NonceNumber(2))]);
    assert_eq!(gate.step(at(250), renew(1, token(250, 500))), refused(GateRefusal::Nonce));
    assert_eq!(
        gate_with(settings()).step(at(100), renew(0, token(100, 300))),
        refused(GateRefusal::OtherUser)
    );
}

/// What ended by time must not come to life, and a message that was under way says nothing of the clocks.
#[test]
fn a_clock_that_is_set_back_ends_sessions_and_asks_anew() {
    let mut gate = active();
    gate.step(at(150), cutoff(1, 90));
    let actions = gate.step(at(120), GateEvent::ClockSetBack);
    assert_eq!(
        actions,
        [GateAction::AskCutoffs(8), GateAction::CloseSession(SESSION, RightEnd::ClockSetBack)]
    );
    gate.step(at(120), create(GateSessionId(2), CHANNEL));
    let again = |gate: &mut GateMachine<Token>| {
        let event = GateEvent::Activate {
            session: GateSessionId(2),
            channel: CHANNEL,
            client: "certificate",
            nonce: NonceNumber(0),
            identity: ActivationIdentity::Token(token(100, 200)),
        };
        gate.step(at(120), event).remove(0)
    };
    let unknown =
        GateAction::RefuseActivation(GateSessionId(2), GateRefusal::Ended(RightEnd::CutoffsUnknown));
    for message in [snapshot(1, 119), snapshot(1, 150)] {
        gate.step(at(120), GateEvent::Heard(message));
        gate.step(at(120), heartbeat(1, 120));
        assert_eq!(again(&mut gate), unknown);
    }
    let cutoffs = Arc::new(Cutoffs::default());
    let answer = FeedMessage::Snapshot { epoch: 1, sequence: 1, time: at(120), question: 8, cutoffs };
    gate.step(at(120), GateEvent::Heard(answer));
    assert_eq!(gate.feed().cutoffs().len(), 1, "what was heard is not forgotten");
    assert_eq!(again(&mut gate), GateAction::Activated(GateSessionId(2), NonceNumber(1)));
}
