//! Watching policy files: what `base/watch.rs` does, for whatever reads policies.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::InForce;
use crate::base::watch::{self, Watch, Why};

pub(super) use crate::base::watch::settle;

/// What reads policies and is watched.
pub(crate) trait Watched: Send + 'static {
    /// Where events come from.
    fn path(&self, in_force: &InForce) -> PathBuf;

    /// Looks whether anything has changed, and puts it in force. Whether it had.
    fn look(&mut self, in_force: &InForce) -> bool;
}

/// The same with the policies in force.
struct Kept<W> {
    watched: W,
    in_force: Arc<InForce>,
}

impl<W: Watched> watch::Watched for Kept<W> {
    const THREAD: &'static str = "policies";

    fn path(&self) -> Option<PathBuf> {
        Some(self.watched.path(&self.in_force))
    }

    fn pause(&self) -> Duration {
        self.in_force.settings.policies.poll_time()
    }

    fn look(&mut self, _: Why) -> bool {
        self.watched.look(&self.in_force)
    }
}

/// # Errors
/// A thread that cannot be started.
pub(super) fn start(watched: impl Watched, in_force: Arc<InForce>) -> io::Result<Watch> {
    Watch::start(Kept { watched, in_force })
}
