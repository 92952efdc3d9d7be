//! Users and sessions of the binary, among real parts: three servers of NATS, a directory of OpenLDAP, processes that are killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests fail by panicking"
)]

mod attacks;
mod browsers;
mod caller;
mod clocks;
mod faults;
mod ldap;
mod load;
mod node;
mod recovery;
mod store_login;
mod streams;
mod tokens;
mod users;

#[path = "../../../durward-server/tests/server/attacks.rs"]
mod attack_table;
#[path = "../cli/binary.rs"]
mod binary;
#[path = "../../../durward-session/tests/support/certificates.rs"]
mod certificates;
#[path = "../../../durward-session/tests/support/nats_servers.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod nats_servers;
#[path = "../../../durward-session/tests/support/slapd.rs"]
#[allow(dead_code, reason = "other tests use other parts of it")]
mod slapd;

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Longer than anything here takes; only a test that has failed waits for so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Two tests at a time: most of the time they wait for servers to find a leader, and twelve processes are enough for two cores.
pub(crate) async fn turn() -> SemaphorePermit<'static> {
    static PLACES: Semaphore = Semaphore::const_new(2);
    PLACES.acquire().await.unwrap()
}
