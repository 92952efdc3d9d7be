//! Codes of second steps where nodes have a copy of the users each and no store in common: they tell each other.

use std::sync::Arc;
use std::time::Duration;

use durward_identity::protocol::{Mode, NodeEvent};
use durward_identity::session::{Purpose, Refusal};
use durward_identity::user::{Account, Directory};
use durward_identity::{Moment, SystemEntropy};
use durward_session::store::StoreTask;
use durward_session::{
    Builder, Embedded, Failed, Login, LoginRequest, NodeLink, Refused, Running, SecondStepPolicy, Service,
    SessionStore, StoreCommand,
};
use tokio::sync::mpsc;

use crate::support::{CHEAP, HOME, Turned, Users, granted, patient, users};

/// One of two stores of the mode `none`: what its node tells, the other one's hears.
pub(crate) struct Twin {
    to_other: mpsc::UnboundedSender<NodeEvent>,
    from_other: mpsc::UnboundedReceiver<NodeEvent>,
}

pub(crate) fn twins() -> [Twin; 2] {
    let ((to_b, from_a), (to_a, from_b)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
    [Twin { to_other: to_b, from_other: from_b }, Twin { to_other: to_a, from_other: from_a }]
}

impl SessionStore for Twin {
    fn name(&self) -> &'static str {
        "twin"
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, mut orders: mpsc::Receiver<StoreCommand>, node: NodeLink) -> StoreTask {
        Box::pin(async move {
            let Twin { to_other, mut from_other } = *self;
            let mut is_there = true;
            while is_there {
                let event = tokio::select! {
                    order = orders.recv() => match order {
                        None => return,
                        Some(StoreCommand::Tell { record }) => {
                            // The other one may have gone.
                            let _ = to_other.send(NodeEvent::Told { record });
                            continue;
                        }
                        Some(StoreCommand::AskPeers) => NodeEvent::Knows { records: Vec::new() },
                        // Only where there is a store.
                        Some(StoreCommand::Store { .. } | StoreCommand::CatchUp { .. } | StoreCommand::AskLast { .. }) => continue,
                    },
                    Some(event) = from_other.recv() => event,
                };
                is_there = node.happened(event).await;
            }
        })
    }
}

/// A node with a copy of the users.
async fn node(store: Option<Twin>, accounts: &[Account], now: Moment) -> (Service, Running) {
    let copy = Arc::new(Directory::in_memory(CHEAP, Arc::new(SystemEntropy)).unwrap());
    copy.import(accounts.to_vec()).unwrap();
    let mut settings = patient();
    settings.node.mode = Mode::None;
    settings.second_step = SecondStepPolicy::OnStepUp;
    let embedded = Arc::new(Embedded::new(copy, settings.pool).unwrap());
    // It stands still: no code becomes too old.
    let mut builder = Builder::new(settings, Arc::new(move || now)).cluster_secret([7; 32]);
    if let Some(store) = store {
        builder = builder.store(store);
    }
    let (service, running) = builder.realm("/", embedded).unwrap().start().unwrap();
    assert!(service.ready().await);
    (service, running)
}

async fn log_in(service: &Service, code: &str) -> Result<Login, Refused> {
    let request = LoginRequest::new("/", "berta", "secret", HOME);
    service.login(LoginRequest { code: Some(code.to_owned()), ..request }).await
}

/// Waits until one node has heard what the other told: it comes in order.
async fn has_heard(node: &Service, from: &Service) {
    let last = granted(from.login(LoginRequest::new("/", "anna", "secret", HOME)).await);
    from.logout(&last.token, None).await.unwrap();
    let heard = async {
        while node.validate(&last.token, Purpose::Look).await != Err(Refusal::Revoked) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.expect("the other node hears nothing");
}

#[tokio::test]
async fn a_code_that_one_node_has_taken_is_taken_by_no_other_that_heard_of_it() {
    let Users { directory, totp, recovery } = users();
    let (accounts, now) = (directory.list(), Turned::default().now());
    let [one, other] = twins();
    let (one, _one) = node(Some(one), &accounts, now).await;
    let (other, _other) = node(Some(other), &accounts, now).await;
    let code = totp.code(now);
    for (code, again) in [(code.clone(), code), (recovery[0].clone(), recovery[0].to_lowercase())] {
        granted(log_in(&one, &code).await);
        has_heard(&other, &one).await;
        assert_eq!(log_in(&other, &again).await, Err(Refused::Wrong));
        let low = granted(other.login(LoginRequest::new("/", "berta", "secret", HOME)).await);
        assert_eq!(other.step_up(&low.token, &again, HOME).await, Err(Failed::Code));
    }
    granted(log_in(&other, &recovery[1]).await);
}

#[tokio::test]
async fn a_node_alone_asks_nobody() {
    let Users { directory, totp, .. } = users();
    let now = Turned::default().now();
    let (service, _running) = node(None, &directory.list(), now).await;
    let code = totp.code(now);
    granted(log_in(&service, &code).await);
    assert_eq!(log_in(&service, &code).await, Err(Refused::Wrong));
}
