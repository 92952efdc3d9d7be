//! When a subscription publishes what.

use opcua_types::{
    CreateSubscriptionRequest, CreateSubscriptionResponse, ModifySubscriptionRequest,
    ModifySubscriptionResponse, PublishRequest, RepublishRequest, RepublishResponse, RequestHeader,
    StatusCode,
};

use super::{changes, ending, numbers, still};
use crate::authority::CallerSessionId;
use crate::plant::limits;
use crate::plant::test_client::TestClient;

#[test]
fn terms_are_revised_into_the_limits() {
    let mut client = still();
    let mut ask = |interval, lifetime, keep_alive| {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: interval,
            requested_lifetime_count: lifetime,
            requested_max_keep_alive_count: keep_alive,
            ..CreateSubscriptionRequest::default()
        };
        let response: CreateSubscriptionResponse = client.ask(&request).unwrap();
        (
            response.revised_publishing_interval,
            response.revised_lifetime_count,
            response.revised_max_keep_alive_count,
        )
    };
    assert_eq!(ask(100.0, 30, 10), (100.0, 30, 10));
    assert_eq!(ask(100.0, 29, 10), (100.0, 30, 10), "the lifetime is at least three keep alives");
    assert_eq!(ask(0.0, 0, 0), (10.0, 30, 10));
    assert_eq!(ask(-5.0, 100, 1), (10.0, 100, 1));
    assert_eq!(ask(f64::NAN, 100, 1).0, 10.0);
    assert_eq!(
        ask(f64::INFINITY, u32::MAX, u32::MAX),
        (3_600_000.0, limits::LIFETIME_COUNT_MAX, limits::KEEP_ALIVE_COUNT_MAX)
    );
}

#[test]
fn the_first_message_comes_after_one_interval_even_without_notifications() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let ticket = client.publish();
    client.run(90);
    assert_eq!(client.published(), []);
    client.run(10);
    let (served, message) = client.published().pop().unwrap();
    let message = message.unwrap();
    assert_eq!((served, message.subscription_id), (ticket, id));
    assert_eq!(
        (message.notification_message.sequence_number, message.notification_message.notification_data),
        (1, None)
    );
}

#[test]
fn keep_alives_come_after_their_count_of_quiet_intervals() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.watch(id, "a", 1, 1, true);
    client.publish();
    client.publish();
    client.run(100);
    assert_eq!(numbers(&client.message()), [0.0]);
    client.run(490);
    assert_eq!(client.published(), []);
    client.run(10);
    let keep_alive = client.message();
    assert_eq!(changes(&keep_alive), []);
    assert_eq!(
        keep_alive.notification_message.sequence_number, 2,
        "the number that the next notification will have"
    );
    client.publish();
    client.run(200);
    client.set("a", 1.0);
    client.run(100);
    let message = client.message();
    assert_eq!((message.notification_message.sequence_number, numbers(&message)), (2, vec![1.0]));
    client.publish();
    client.run(490);
    assert_eq!(client.published(), [], "a notification starts the count anew");
    client.run(10);
    assert_eq!(changes(&client.message()), []);
}

#[test]
fn a_late_message_goes_with_the_next_request() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.watch(id, "a", 1, 1, true);
    client.run(250);
    assert_eq!(client.published(), []);
    let ticket = client.publish();
    let (served, message) = client.published().pop().expect("at once");
    assert_eq!((served, numbers(&message.unwrap())), (ticket, vec![0.0]));
}

#[test]
fn without_requests_a_subscription_ends_after_its_lifetime_and_tells() {
    let mut client = still();
    let id = client.subscribe(15, 5);
    client.run(1_490);
    client.enable(id, true);
    client.run(1_390);
    assert_eq!(client.delete(id), StatusCode::Good, "using it was a sign of life");
    let id = client.subscribe(15, 5);
    client.run(1_500);
    assert_eq!(client.delete(id), StatusCode::BadSubscriptionIdInvalid);
    client.publish();
    let message = client.message();
    assert_eq!((message.subscription_id, ending(&message)), (id, Some(StatusCode::BadTimeout)));
    assert_eq!(client.park(&PublishRequest::default()).unwrap_err(), StatusCode::BadNoSubscription);
}

#[test]
fn requests_that_wait_keep_a_subscription_alive() {
    let mut client = still();
    let id = client.subscribe(15, 5);
    for _ in 0..10 {
        client.publish();
        client.run(1_000);
    }
    assert_eq!(client.delete(id), StatusCode::Good);
}

#[test]
fn a_long_pause_of_the_server_counts_as_the_intervals_it_was() {
    let mut client = still();
    let id = client.subscribe(15, 5);
    client.advance(1_499);
    client.server.tick(client.now);
    assert!(client.server.subscriptions.all.contains_key(&id));
    client.advance(1);
    client.server.tick(client.now);
    assert!(!client.server.subscriptions.all.contains_key(&id));
}

#[test]
fn acknowledged_messages_are_not_kept() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.watch(id, "a", 1, 1, true);
    client.publish();
    client.run(100);
    assert_eq!(client.message().available_sequence_numbers, Some(vec![1]));
    client.set("a", 1.0);
    client.publish();
    client.run(100);
    assert_eq!(client.message().available_sequence_numbers, Some(vec![1, 2]));
    client.acknowledge(id, 1);
    client.set("a", 2.0);
    client.run(100);
    let message = client.message();
    assert_eq!(
        (message.results.clone(), message.available_sequence_numbers),
        (Some(vec![StatusCode::Good]), Some(vec![2, 3]))
    );
    client.acknowledge(id, 1);
    client.run(500);
    assert_eq!(client.message().results, Some(vec![StatusCode::BadSequenceNumberUnknown]));
    client.acknowledge(id + 1, 1);
    client.run(500);
    assert_eq!(client.message().results, Some(vec![StatusCode::BadSubscriptionIdInvalid]));
}

#[test]
fn a_message_is_sent_again_until_it_is_acknowledged() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    client.watch(id, "a", 1, 1, true);
    client.publish();
    client.run(100);
    let sent = client.message().notification_message;
    let again = |client: &mut TestClient, sequence| {
        let request = RepublishRequest {
            subscription_id: id,
            retransmit_sequence_number: sequence,
            ..RepublishRequest::default()
        };
        client.ask::<_, RepublishResponse>(&request).map(|response| response.notification_message)
    };
    assert_eq!(again(&mut client, 1), Ok(sent));
    assert_eq!(again(&mut client, 2), Err(StatusCode::BadMessageNotAvailable));
    client.acknowledge(id, 1);
    assert_eq!(again(&mut client, 1), Err(StatusCode::BadMessageNotAvailable));
    client.caller.session = CallerSessionId(2);
    assert_eq!(again(&mut client, 1), Err(StatusCode::BadSubscriptionIdInvalid), "it is another session's");
}

#[test]
fn messages_that_nobody_acknowledges_are_bounded() {
    let mut client = still();
    let id = client.subscribe(1_000, 5);
    client.watch(id, "a", 1, 1, true);
    let most = limits::RETRANSMISSIONS_MAX as u32;
    for round in 0..most + 5 {
        client.set("a", f64::from(round) + 1.0);
        client.publish();
        client.run(100);
    }
    let last = client.published().pop().unwrap().1.unwrap();
    assert_eq!(last.available_sequence_numbers, Some((6..most + 6).collect()));
}

#[test]
fn notifications_beyond_the_maximum_come_in_the_next_message() {
    let mut client = still();
    let request = CreateSubscriptionRequest {
        requested_publishing_interval: 100.0,
        requested_lifetime_count: 100,
        requested_max_keep_alive_count: 5,
        max_notifications_per_publish: 2,
        publishing_enabled: true,
        ..CreateSubscriptionRequest::default()
    };
    let id = client.ask::<_, CreateSubscriptionResponse>(&request).unwrap().subscription_id;
    client.watch(id, "a", 1, 10, true);
    client.publish();
    client.publish();
    for value in 1..5 {
        client.run(20);
        client.set("a", f64::from(value));
    }
    client.run(20);
    let messages: Vec<_> = client.published().into_iter().map(|(_, message)| message.unwrap()).collect();
    assert_eq!(messages.iter().map(|message| message.more_notifications).collect::<Vec<_>>(), [true, true]);
    assert_eq!(messages.iter().flat_map(numbers).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0]);
    client.publish();
    let last = client.message();
    assert_eq!(
        (numbers(&last), last.more_notifications),
        (vec![4.0], false),
        "the rest was late and goes at once"
    );
}

#[test]
fn publishing_that_is_switched_off_sends_keep_alives_only() {
    let mut client = still();
    let id = client.subscribe(100, 3);
    client.watch(id, "a", 1, 5, true);
    client.enable(id, false);
    client.publish();
    client.run(100);
    assert_eq!(changes(&client.message()), []);
    client.publish();
    client.run(300);
    assert_eq!(changes(&client.message()), []);
    client.enable(id, true);
    client.publish();
    client.run(100);
    assert_eq!(numbers(&client.message()), [0.0], "what was sampled meanwhile is there");
}

#[test]
fn requests_beyond_the_maximum_send_the_oldest_back() {
    let mut client = still();
    client.subscribe(100, 5);
    let first = client.publish();
    for _ in 1..limits::PUBLISH_REQUESTS_MAX {
        client.publish();
    }
    assert_eq!(client.published(), []);
    client.publish();
    assert_eq!(client.published(), [(first, Err(StatusCode::BadTooManyPublishRequests))]);
}

#[test]
fn requests_end_when_their_client_waits_no_longer() {
    let mut client = still();
    client.subscribe(100, 50);
    client.publish();
    client.run(100);
    client.message();
    let header = RequestHeader { timeout_hint: 200, ..RequestHeader::dummy() };
    let ticket =
        client.park(&PublishRequest { request_header: header, ..PublishRequest::default() }).unwrap();
    client.run(190);
    assert_eq!(client.published(), []);
    client.run(10);
    assert_eq!(client.published(), [(ticket, Err(StatusCode::BadTimeout))]);
}

#[test]
fn requests_go_back_when_the_last_subscription_is_deleted() {
    let mut client = still();
    let (first, second) = (client.subscribe(100, 5), client.subscribe(100, 5));
    let ticket = client.publish();
    client.delete(first);
    assert_eq!(client.published(), []);
    client.delete(second);
    assert_eq!(client.published(), [(ticket, Err(StatusCode::BadNoSubscription))]);
}

#[test]
fn the_higher_priority_goes_first_and_equals_take_turns() {
    let mut client = still();
    let mut create = |priority| {
        let request = CreateSubscriptionRequest {
            requested_publishing_interval: 100.0,
            requested_lifetime_count: 1_000,
            requested_max_keep_alive_count: 1,
            priority,
            ..CreateSubscriptionRequest::default()
        };
        client.ask::<_, CreateSubscriptionResponse>(&request).unwrap().subscription_id
    };
    let (low, other, high) = (create(1), create(1), create(9));
    client.run(100);
    let mut order = Vec::new();
    for _ in 0..3 {
        client.publish();
        order.push(client.message().subscription_id);
    }
    assert_eq!(order, [high, low, other]);
}

#[test]
fn modified_terms_hold_from_the_running_interval_on() {
    let mut client = still();
    let id = client.subscribe(100, 5);
    let request = ModifySubscriptionRequest {
        subscription_id: id,
        requested_publishing_interval: 20.0,
        requested_lifetime_count: 100,
        requested_max_keep_alive_count: 2,
        ..ModifySubscriptionRequest::default()
    };
    let response: ModifySubscriptionResponse = client.ask(&request).unwrap();
    assert_eq!(response.revised_publishing_interval, 20.0);
    client.publish();
    client.run(20);
    client.message();
    let unknown = ModifySubscriptionRequest { subscription_id: id + 1, ..request };
    assert_eq!(
        client.ask::<_, ModifySubscriptionResponse>(&unknown).unwrap_err(),
        StatusCode::BadSubscriptionIdInvalid
    );
}

#[test]
fn a_session_has_a_maximum_of_subscriptions() {
    let mut client = still();
    for _ in 0..limits::SUBSCRIPTIONS_PER_SESSION_MAX {
        client.subscribe(100, 5);
    }
    let one_more = client.ask::<_, CreateSubscriptionResponse>(&CreateSubscriptionRequest::default());
    assert_eq!(one_more.unwrap_err(), StatusCode::BadTooManySubscriptions);
    client.caller.session = CallerSessionId(2);
    client.subscribe(100, 5);
}
