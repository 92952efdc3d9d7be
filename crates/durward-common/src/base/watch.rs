//! Watching files.
//!
//! Looking at the files again and again is what finds changes, on every file system; events of the operating
//! system only make the next look come sooner. So a lost event, a directory replaced as a whole or a network file
//! system without events cost a fraction of a second and never a change.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// A look may cost this part of one core at most; where there are so many files that it would cost more, looks
/// come less often.
const LOOK_SHARE: u32 = 20;

/// How often files that keep changing are looked at until they are read as they are.
const SETTLE_LOOKS_MAX: usize = 8;

/// What wakes the watching thread.
enum Wake {
    /// Something may have changed.
    Look(Why),
    End,
}

/// Why files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was time, or the system told of a change.
    Regular,
    /// Somebody asked for it: they are to be read even if they look the same.
    Asked,
}

/// What is watched.
pub trait Watched: Send + 'static {
    /// What the watching thread is called.
    const THREAD: &'static str;

    /// Where events come from; `None` where there are no files, and looks only come when somebody asks.
    fn path(&self) -> Option<PathBuf>;

    /// The time from one look to the next.
    fn pause(&self) -> Duration;

    /// Looks whether anything has changed, and puts it in force. Whether it had.
    fn look(&mut self, why: Why) -> bool;
}

/// Files being watched; watching ends when this is dropped.
pub struct Watch {
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
    pub fn start<W: Watched>(watched: W) -> io::Result<Watch> {
        let (wake, woken) = channel();
        let events = wake.clone();
        thread::Builder::new().name(W::THREAD.into()).spawn(move || watch(watched, &events, &woken))?;
        Ok(Watch { wake })
    }

    /// Has the files read now.
    pub fn ask(&self) {
        // The thread ends only with this.
        let _ = self.wake.send(Wake::Look(Why::Asked));
    }
}

fn watch(mut watched: impl Watched, events: &Sender<Wake>, woken: &Receiver<Wake>) {
    let path = watched.path();
    let events_of_path = || path.as_deref().and_then(|path| watch_events(path, events));
    let mut pause = watched.pause();
    let mut watcher = events_of_path();
    loop {
        let why = match woken.recv_timeout(pause) {
            Ok(Wake::Look(why)) => why,
            Err(RecvTimeoutError::Timeout) => Why::Regular,
            Ok(Wake::End) | Err(RecvTimeoutError::Disconnected) => return,
        };
        let begun = Instant::now();
        pause = watched.pause();
        if !watched.look(why) {
            pause = pause.max(begun.elapsed() * LOOK_SHARE);
            continue;
        }
        // A directory put in the place of another one is not the one that was watched.
        drop(watcher);
        watcher = events_of_path();
        if !drain(woken, events) {
            return;
        }
    }
}

/// Waits until two looks in a row see the same, and gives that.
pub fn settle<T: PartialEq>(mut last: T, time: Duration, look: impl Fn() -> T) -> T {
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

/// Forgets events of changes that have just been read; what somebody asked for is not forgotten. False when watching is to end.
fn drain(woken: &Receiver<Wake>, events: &Sender<Wake>) -> bool {
    let wakes: Vec<Wake> = woken.try_iter().collect();
    if wakes.iter().any(|wake| matches!(wake, Wake::Look(Why::Asked))) {
        let _ = events.send(Wake::Look(Why::Asked));
    }
    !wakes.iter().any(|wake| matches!(wake, Wake::End))
}

/// Events of the path and of the directory it lies in, because a path can be replaced as a whole. Where the system
/// has none to give, there are none.
fn watch_events(path: &Path, events: &Sender<Wake>) -> Option<RecommendedWatcher> {
    let events = events.clone();
    let on_event = move |event: notify::Result<notify::Event>| {
        // Reading is an event too, and looking at the files would cause the next one.
        let is_reading = event.as_ref().is_ok_and(|event| event.kind.is_access());
        if !is_reading {
            let _ = events.send(Wake::Look(Why::Regular));
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
            tracing::debug!(%error, "no events for these files; they are looked at regularly");
            None
        }
    }
}
