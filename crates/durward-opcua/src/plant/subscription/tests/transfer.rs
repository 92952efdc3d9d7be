//! Subscriptions that outlive their session and go over to another.

use opcua_types::{StatusCode, TransferResult, TransferSubscriptionsRequest, TransferSubscriptionsResponse};

use super::{ending, numbers, still};
use crate::authority::{CallerSessionId, CallerUser};
use crate::plant::test_client::{TestClient, caller};

fn transfer(client: &mut TestClient, id: u32, send_initial_values: bool) -> TransferResult {
    let subscription_ids = Some(vec![id]);
    let request = TransferSubscriptionsRequest {
        subscription_ids,
        send_initial_values,
        ..TransferSubscriptionsRequest::default()
    };
    client.ask::<_, TransferSubscriptionsResponse>(&request).unwrap().results.unwrap().pop().unwrap()
}

#[test]
fn another_session_of_the_same_user_takes_over() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.watch(id, "a", 1, 1, true);
    client.publish();
    client.run(100);
    client.message();
    let waiting = client.publish();
    client.caller.session = CallerSessionId(2);
    let result = transfer(&mut client, id, true);
    assert_eq!((result.status_code, result.available_sequence_numbers), (StatusCode::Good, Some(vec![1])));
    let (ticket, told) = client.published().pop().unwrap();
    assert_eq!(
        (ticket, ending(&told.unwrap())),
        (waiting, Some(StatusCode::GoodSubscriptionTransferred)),
        "the earlier session is told"
    );
    client.publish();
    client.run(100);
    assert_eq!(numbers(&client.message()), [0.0], "the values once more");
    client.caller.session = CallerSessionId(1);
    assert_eq!(client.delete(id), StatusCode::BadSubscriptionIdInvalid, "it is the other session's");
}

#[test]
fn sessions_that_take_a_subscription_from_each_other_pile_nothing_up() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    for round in 0..1_000 {
        client.caller.session = CallerSessionId(2 - round % 2);
        assert_eq!(transfer(&mut client, id, false).status_code, StatusCode::Good);
    }
    let most = crate::plant::limits::SUBSCRIPTIONS_PER_SESSION_MAX;
    assert!(client.server.subscriptions.queues.values().all(|queue| queue.endings.len() <= most));
}

#[test]
fn another_user_cannot_take_over() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.caller = caller(2, "bert");
    assert_eq!(transfer(&mut client, id, false).status_code, StatusCode::BadUserAccessDenied);
    assert_eq!(transfer(&mut client, id + 1, false).status_code, StatusCode::BadSubscriptionIdInvalid);
}

#[test]
fn nobody_in_particular_takes_over_with_the_same_application_only() {
    let mut client = still();
    client.caller.user = CallerUser::Anonymous;
    let id = client.subscribe(100, 5);
    client.caller.session = CallerSessionId(2);
    client.caller.certificate = Some(std::sync::Arc::from(*b"another"));
    assert_eq!(transfer(&mut client, id, false).status_code, StatusCode::BadUserAccessDenied);
    client.caller = caller(2, "anna");
    client.caller.user = CallerUser::Anonymous;
    assert_eq!(transfer(&mut client, id, false).status_code, StatusCode::Good);
}

#[test]
fn a_closed_session_takes_its_subscriptions_along_or_leaves_them() {
    let mut client = still();
    let (kept, ticket) = (client.subscribe(15, 5), client.publish());
    client.watch(kept, "a", 1, 5, true);
    assert_eq!(client.server.close_session(CallerSessionId(1), false), [ticket]);
    client.run(500);
    assert_eq!(client.published(), [], "the request of a closed session gets nothing");
    client.caller.session = CallerSessionId(2);
    assert_eq!(transfer(&mut client, kept, false).status_code, StatusCode::Good);
    client.publish();
    assert_eq!(numbers(&client.message()), [0.0], "what was sampled meanwhile was late");
    client.server.close_session(CallerSessionId(2), true);
    client.caller.session = CallerSessionId(3);
    assert_eq!(transfer(&mut client, kept, false).status_code, StatusCode::BadSubscriptionIdInvalid);
    assert_eq!(client.server.subscriptions.reserved, 0);
}

#[test]
fn a_subscription_that_nobody_takes_over_ends() {
    let mut client = still();
    let id = client.subscribe(15, 5);
    client.server.close_session(CallerSessionId(1), false);
    client.run(1_490);
    assert!(client.server.subscriptions.all.contains_key(&id));
    client.run(10);
    assert!(!client.server.subscriptions.all.contains_key(&id));
}
