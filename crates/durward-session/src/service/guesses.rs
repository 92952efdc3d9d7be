//! Failed logins on their way to the other nodes, so that all together give about the guesses of one.
//!
//! Whoever guesses decides how many failures there are, within what the throttle and hashing let through. So they are told together, and
//! no more often than every [`TOLD_EVERY`]: a flood of guesses is a trickle of small records.

use std::sync::Weak;
use std::time::Duration;

use durward_identity::protocol::NodeEvent;
use tokio::time::sleep;

use super::{AttemptQueue, Service, ServiceInner};

/// The shortest time between two records: far less than nodes wait for each other before the next turn.
const TOLD_EVERY: Duration = Duration::from_millis(50);

/// Tells the other nodes for as long as there is the service.
pub(super) async fn tell(service: Weak<ServiceInner>, turns: AttemptQueue) {
    loop {
        let news = turns.news().await;
        let Some(service) = service.upgrade().map(Service) else { return };
        // As well as can be: what gets lost is counted here all the same.
        let _ = service.done(|ask| NodeEvent::Guesses { ask, news }).await;
        drop(service);
        sleep(TOLD_EVERY).await;
    }
}
