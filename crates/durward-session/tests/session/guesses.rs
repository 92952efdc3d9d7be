//! Nodes tell each other of failed logins, and of an operator who forgives.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;
use durward_session::{Administrator, Builder, Embedded, LoginRequest, Refused, Running, Service};

use crate::codes::{Twin, twins};
use crate::support::{Turned, Users, granted, strict, user, users};

/// Far from each other.
fn elsewhere(number: u8) -> IpAddr {
    Ipv4Addr::new(198, number, 100, 1).into()
}

async fn node(store: Twin, now: Moment) -> (Service, Running) {
    let Users { directory, .. } = users();
    let mut settings = strict();
    settings.throttle.turn = Duration::from_secs(3600);
    let embedded = Arc::new(Embedded::new(directory, settings.pool).unwrap());
    // It stands still: no delay is over.
    let builder = Builder::new(settings, Arc::new(move || now)).cluster_secret([7; 32]).store(store);
    let (service, running) = builder.realm("/", embedded).unwrap().start().unwrap();
    assert!(service.ready().await);
    (service, running)
}

async fn is_delayed(node: &Service, name: &str, from: IpAddr) -> bool {
    match node.login(LoginRequest::new("/", name, "secret", from)).await {
        Ok(_) => false,
        Err(Refused::Delayed { .. }) => true,
        Err(other) => panic!("{other:?}"),
    }
}

/// Waits until one node has heard what the other counted: it comes in order. An address fails on the one, and has to wait on the other.
async fn has_heard(node: &Service, from: &Service, marker: IpAddr) {
    for number in 0..21 {
        let guess = LoginRequest::new("/", &format!("nobody{number}"), "other", marker);
        assert_eq!(from.login(guess).await, Err(Refused::Wrong));
    }
    let heard = async {
        while !is_delayed(node, "root", marker).await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.expect("the other node hears nothing");
}

#[tokio::test]
async fn what_fails_on_one_node_is_counted_on_the_other_and_so_is_forgiveness() {
    let now = Turned::default().now();
    let [one, other] = twins();
    let ((one, _one), (other, _other)) = (node(one, now).await, node(other, now).await);
    for number in 0..4 {
        let guess = LoginRequest::new("/", "anna", "other", elsewhere(number));
        assert_eq!(one.login(guess).await, Err(Refused::Wrong));
    }
    has_heard(&other, &one, elsewhere(100)).await;
    assert!(is_delayed(&other, "anna", elsewhere(50)).await);
    one.forgive(&Administrator::operator("test"), &user("anna")).await.unwrap();
    has_heard(&other, &one, elsewhere(101)).await;
    granted(other.login(LoginRequest::new("/", "anna", "secret", elsewhere(51))).await);
}
