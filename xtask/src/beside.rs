//! What tests want of others, fetched while this machine compiles: most of it is waiting for a network.
//!
//! On the build machine only; elsewhere nothing is installed that was not asked for. What goes wrong here is not said here: the step that
//! wants the part tries again, and says it.

use crate::{clients, opcua, plans, tools};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread that fetches.
pub(crate) struct Beside(Option<JoinHandle<Duration>>);

/// Starts to fetch, where that is wanted.
pub(crate) fn start() -> Beside {
    let is_wanted = crate::report::on_build_machine();
    Beside(is_wanted.then(|| std::thread::spawn(all)))
}

/// Programs of the system first, because the rest is fetched by them.
fn all() -> Duration {
    let start = Instant::now();
    tools::install_all();
    let _ = tools::json_schema_suite();
    let _ = tools::nats_server();
    let _ = tools::java_home();
    let _ = tools::go_modules();
    let _ = tools::helm();
    clients::fetch();
    opcua::fetch();
    plans::fetch();
    start.elapsed()
}

impl Beside {
    /// Waits until all is there.
    pub(crate) fn wait(self) {
        let start = Instant::now();
        if let Some(took) = self.0.and_then(|thread| thread.join().ok()) {
            println!(
                "\nfetched beside it: {:.1} s, {:.1} s of them waited for",
                took.as_secs_f64(),
                start.elapsed().as_secs_f64()
            );
        }
    }
}
