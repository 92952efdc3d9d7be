use durward_opcua::protocol::{
    ClientAction, ClientEvent, ClientFailure, ClientMachine, ClientTimings, NonceNumber,
};

use super::{at, s};

type Action = ClientAction<&'static str>;

fn client() -> ClientMachine<&'static str> {
    ClientMachine::new(ClientTimings { patience: s(5), retry_min: s(1), retry_max: s(8) })
}

fn given(request: u32, token: &'static str, renew_percent: u8) -> ClientEvent<&'static str> {
    ClientEvent::TokenGiven { request, token, lifetime: s(100), renew_percent }
}

fn ask(request: u32) -> Action {
    ClientAction::AskToken { request }
}

/// With a session at the gate that was activated at second 100 with a token of 100 seconds.
fn active(renew_percent: u8) -> ClientMachine<&'static str> {
    let mut client = client();
    let begun = client.step(at(100), ClientEvent::Tick);
    assert_eq!(begun, [ClientAction::ConnectAuthority, ClientAction::ConnectGate]);
    assert_eq!(client.step(at(100), ClientEvent::AuthorityUp), [ask(1)]);
    assert_eq!(client.step(at(100), ClientEvent::SessionUp { nonce: NonceNumber(0) }), []);
    assert!(!client.is_active());
    let activate = client.step(at(100), given(1, "first", renew_percent));
    assert_eq!(activate, [ClientAction::Activate { token: "first", nonce: NonceNumber(0) }]);
    assert!(!client.is_active());
    assert_eq!(client.step(at(100), ClientEvent::Activated { nonce: NonceNumber(1) }), []);
    assert!(client.is_active());
    client
}

#[test]
fn a_token_is_renewed_at_its_hundredth_on_the_same_sessions() {
    for (renew_percent, renewed) in [(75, 175), (80, 180), (85, 185), (0, 175), (255, 185)] {
        let mut client = active(renew_percent);
        assert_eq!(client.wake_at(), Some(at(renewed)));
        assert_eq!(client.step(at(renewed - 1), ClientEvent::Tick), []);
        assert_eq!(client.step(at(renewed), ClientEvent::Tick), [ask(2)]);
        let activate = client.step(at(renewed), given(2, "second", 80));
        assert_eq!(activate, [ClientAction::Activate { token: "second", nonce: NonceNumber(1) }]);
        assert!(client.is_active(), "requests go on under the old token");
        client.step(at(renewed), ClientEvent::Activated { nonce: NonceNumber(2) });
        assert_eq!(client.wake_at(), Some(at(renewed + 80)));
    }
}

#[test]
fn renewal_is_tried_until_the_token_ends_and_after() {
    let mut client = active(75);
    let (mut asked, mut failed) = (Vec::new(), Vec::new());
    for second in 175..=230 {
        for action in client.step(at(second), ClientEvent::Tick) {
            match action {
                ClientAction::AskToken { .. } => asked.push(second),
                ClientAction::Fail(failure) => failed.push((second, failure)),
                _ => {}
            }
        }
        assert_eq!(client.is_active(), second < 200, "{second}");
    }
    // 5 s of patience, then pauses of 1, 2, 4, 8, 8 seconds.
    assert_eq!(asked[..4], [175, 181, 188, 197]);
    assert!(asked.iter().any(|second| *second > 200), "{asked:?}");
    assert_eq!(failed, [(200, ClientFailure::Ended)]);
}

#[test]
fn an_answer_to_another_request_is_not_taken() {
    let mut client = active(75);
    client.step(at(175), ClientEvent::Tick);
    assert_eq!(client.step(at(176), given(1, "late", 80)), []);
    assert_eq!(client.step(at(176), given(3, "early", 80)), []);
    assert_eq!(client.step(at(176), given(2, "second", 80)).len(), 1);
}

#[test]
fn a_new_channel_takes_the_session_and_the_token_along() {
    let mut client = active(80);
    let again = client.step(at(120), ClientEvent::ChannelReplaced);
    assert_eq!(again, [ClientAction::Activate { token: "first", nonce: NonceNumber(1) }]);
    assert!(!client.is_active());
    client.step(at(120), ClientEvent::Activated { nonce: NonceNumber(2) });
    assert!(client.is_active());
    // While an activation is under way nobody knows the last nonce: another session.
    client.step(at(180), ClientEvent::Tick);
    client.step(at(180), given(2, "second", 80));
    assert_eq!(client.step(at(181), ClientEvent::ChannelReplaced), [ClientAction::ConnectGate]);
    let activate = client.step(at(181), ClientEvent::SessionUp { nonce: NonceNumber(0) });
    assert_eq!(activate, [ClientAction::Activate { token: "second", nonce: NonceNumber(0) }]);
}

#[test]
fn a_gate_that_was_restarted_gets_the_same_token_in_a_new_session() {
    let mut client = active(80);
    assert_eq!(client.step(at(120), ClientEvent::SessionDown), []);
    assert!(!client.is_active());
    assert_eq!(client.wake_at(), Some(at(121)));
    assert_eq!(client.step(at(121), ClientEvent::Tick), [ClientAction::ConnectGate]);
    let activate = client.step(at(122), ClientEvent::SessionUp { nonce: NonceNumber(0) });
    assert_eq!(activate, [ClientAction::Activate { token: "first", nonce: NonceNumber(0) }]);
}

#[test]
fn a_service_that_was_restarted_is_asked_again() {
    let mut client = active(75);
    client.step(at(175), ClientEvent::Tick);
    assert_eq!(client.step(at(176), ClientEvent::AuthorityDown), []);
    assert!(client.is_active());
    assert_eq!(client.step(at(177), ClientEvent::Tick), [ClientAction::ConnectAuthority]);
    assert_eq!(client.step(at(178), ClientEvent::AuthorityUp), [ask(3)]);
}

#[test]
fn a_refused_token_is_replaced() {
    for (event, failures) in [
        (ClientEvent::RightEnded, vec![]),
        (ClientEvent::ActivationRefused, vec![ClientAction::Fail(ClientFailure::Refused)]),
    ] {
        let mut client = active(80);
        assert_eq!(client.step(at(120), event), failures);
        assert!(!client.is_active());
        let mut actions = client.step(at(121), ClientEvent::Tick);
        actions.extend(client.step(at(122), ClientEvent::Tick));
        assert!(actions.contains(&ask(2)) && actions.contains(&ClientAction::ConnectGate), "{actions:?}");
    }
}

#[test]
fn a_denied_client_pauses_ever_longer_and_never_ends() {
    let mut client = client();
    client.step(at(0), ClientEvent::Tick);
    client.step(at(0), ClientEvent::SessionUp { nonce: NonceNumber(0) });
    let mut actions = client.step(at(0), ClientEvent::AuthorityUp);
    let mut asked = Vec::new();
    for second in 0..60 {
        for action in std::mem::take(&mut actions) {
            if let ClientAction::AskToken { request } = action {
                asked.push(second);
                let denied = client.step(at(second), ClientEvent::TokenDenied { request });
                assert_eq!(denied, [ClientAction::Fail(ClientFailure::Denied)]);
            }
        }
        actions = client.step(at(second + 1), ClientEvent::Tick);
    }
    assert_eq!(asked[..7], [0, 1, 3, 7, 15, 23, 31]);
    assert!(client.wake_at().is_some());
}

#[test]
fn a_stopped_client_does_nothing_more() {
    let mut client = active(80);
    assert_eq!(client.step(at(120), ClientEvent::Stop), [ClientAction::Close]);
    assert_eq!(client.step(at(500), ClientEvent::Tick), []);
    assert!(client.is_stopped() && !client.is_active());
    assert_eq!(client.wake_at(), None);
}

/// It wants to wake when something can be done, not all the time until then.
#[test]
fn it_sleeps_while_the_authorization_service_is_down() {
    let without = client();
    for mut client in [without, active(75)] {
        let (mut now, mut wakes) = (at(170), 0);
        client.step(now, ClientEvent::Tick);
        client.step(now, ClientEvent::AuthorityDown);
        while now < at(270) {
            let wake = client.wake_at().unwrap();
            assert!(wake > now, "it wants to wake at {wake:?}, and it is {now:?}");
            (now, wakes) = (wake, wakes + 1);
            for action in client.step(now, ClientEvent::Tick) {
                match action {
                    ClientAction::ConnectAuthority => drop(client.step(now, ClientEvent::AuthorityDown)),
                    ClientAction::ConnectGate => {
                        drop(client.step(now, ClientEvent::SessionUp { nonce: NonceNumber(7) }))
                    }
                    _ => {}
                }
            }
        }
        assert!(wakes <= 40, "{wakes} times in 100 s");
    }
}
