//! Watching policy files.
//!
//! Looking at the files again and again is what finds changes, on every file system; events of the operating
//! system only make the next look come sooner. So a lost event, a directory replaced as a whole or a network file
//! system without events cost a fraction of a second and never a change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::InForce;

/// A look may cost this part of one core at most; where there are so many files that it would cost more, looks
/// come less often.
const LOOK_SHARE: u32 = 20;

/// How often files that keep changing are looked at until they are read as they are.
const SETTLE_LOOKS_MAX: usize = 8;

/// What wakes the watching thread.
enum Wake {
    /// Something may have changed.
    Look,
    End,
}

/// What is watched.
pub(crate) trait Watched: Send + 'static {
    /// Where events come from.
    fn path(&self, in_force: &InForce) -> PathBuf;

    /// Looks whether anything has changed, and puts it in force. Whether it had.
    fn look(&mut self, in_force: &InForce) -> bool;
}

/// Policies being watched; watching ends when this is dropped.
pub(crate) struct Watch {
    wake: Sender<Wake>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread may have ended already.
        let _ = self.wake.send(Wake::End);
    }
}

impl Watch {
    /// # Errors
    /// A thread that cannot be started.
    pub(crate) fn start(watched: impl Watched, in_force: Arc<InForce>) -> io::Result<Watch> {
        let (wake, woken) = channel();
        let events = wake.clone();
        thread::Builder::new()
            .name("policies".into())
            .spawn(move || watch(watched, &in_force, &events, &woken))?;
        Ok(Watch { wake })
    }
}

fn watch(mut watched: impl Watched, in_force: &InForce, events: &Sender<Wake>, woken: &Receiver<Wake>) {
    let path = watched.path(in_force);
    let mut pause = in_force.settings.policies.poll_time();
    let mut watcher = watch_events(&path, events);
    loop {
        match woken.recv_timeout(pause) {
            Ok(Wake::Look) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Wake::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let begun = Instant::now();
        pause = in_force.settings.policies.poll_time();
        if !watched.look(in_force) {
            pause = pause.max(begun.elapsed() * LOOK_SHARE);
            continue;
        }
        // A directory put in the place of another one is not the one that was watched.
        drop(watcher);
        watcher = watch_events(&path, events);
        if !drain(woken) {
            return;
        }
    }
}

/// Waits until two looks in a row see the same, and gives that.
pub(super) fn settle<T: PartialEq>(mut last: T, time: Duration, look: impl Fn() -> T) -> T {
    for _ in 0..SETTLE_LOOKS_MAX {
        thread::sleep(time);
        let now = look();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

/// Forgets events of changes that have just been read. False when watching is to end.
fn drain(woken: &Receiver<Wake>) -> bool {
    woken.try_iter().all(|wake| matches!(wake, Wake::Look))
}

/// Events of the path and of the directory it lies in, because a path can be replaced as a whole. Where the system
/// has none to give, there are none.
fn watch_events(path: &Path, events: &Sender<Wake>) -> Option<RecommendedWatcher> {
    let events = events.clone();
    let on_event = move |event: notify::Result<notify::Event>| {
        // Reading is an event too, and looking at the files would cause the next one.
        let is_reading = event.as_ref().is_ok_and(|event| event.kind.is_access());
        if !is_reading {
            let _ = events.send(Wake::Look);
        }
    };
    let watched = notify::recommended_watcher(on_event).and_then(|mut watcher| {
        watcher.watch(path, RecursiveMode::Recursive)?;
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        Ok(watcher)
    });
    match watched {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::debug!(%error, "no events for the policy files; they are looked at regularly");
            None
        }
    }
}
