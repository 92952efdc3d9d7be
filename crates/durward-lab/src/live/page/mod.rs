//! A run as a page: `durward lab run --page` serves it, and a browser draws it live, over server-sent events.
//!
//! The page needs nothing from elsewhere. The server has a thread of its own and answers GET only. Whoever comes late gets
//! what was so far; whoever does not read in time is dropped and begins anew: the run never waits. A page of another site
//! cannot read it by a name of its own that it lets point here (DNS rebinding): `Host` must be an address, `localhost`, or the
//! name that was asked for.

mod answer;
mod events;
mod serve;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{RunEnding, RunStatus};
use crate::record::MeasuredPoint;
use crate::run::{RunPosition, RunSecond, RunWatcher};
use events::{EventClients, PageEvent};

/// How often is looked whether somebody still looks.
const LOOK: Duration = Duration::from_millis(100);
/// A browser that loads the page anew is away for less.
const AWAY: Duration = Duration::from_secs(3);

/// A page that is served; it ends when this is dropped.
#[derive(Debug)]
pub struct LivePage {
    shared: Arc<PageShared>,
    address: SocketAddr,
    host: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Files that the page links to in the end: those of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageFiles {
    /// Where they are.
    pub folder: PathBuf,
    /// Which of them are served; the first one is linked to.
    pub names: Vec<String>,
}

/// Tells a page what goes on.
#[derive(Clone, Debug)]
pub struct PageWatcher(Arc<PageShared>);

/// What the run writes and the server reads.
#[derive(Debug)]
struct PageShared {
    inner: Mutex<PageInner>,
}

#[derive(Debug)]
struct PageInner {
    status: RunStatus,
    clients: EventClients,
    files: PageFiles,
}

impl PageShared {
    fn lock(&self) -> MutexGuard<'_, PageInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the status and tells everybody.
    fn tell(&self, change: impl FnOnce(&mut RunStatus), event: impl FnOnce(&RunStatus) -> PageEvent) {
        let mut inner = self.lock();
        change(&mut inner.status);
        let event = event(&inner.status);
        inner.clients.tell(&event);
    }
}

impl LivePage {
    /// Serves a page at `host:port`; at port 0 a free one is taken.
    ///
    /// # Errors
    /// An address that is none or not this machine's, a port that is taken, threads that the system refuses.
    pub fn start(address: &str, status: RunStatus) -> io::Result<LivePage> {
        let candidates: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let listener = TcpListener::bind(candidates.as_slice())?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host).to_owned();
        let inner = PageInner { status, clients: EventClients::default(), files: PageFiles::default() };
        let shared = Arc::new(PageShared { inner: Mutex::new(inner) });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let server = serve::PageServer::new(Arc::clone(&shared), host.clone());
        let serve = move || runtime.block_on(serve::serve(listener, server, stopped));
        let thread = thread::Builder::new().name("lab-page".to_owned()).spawn(serve)?;
        Ok(LivePage { shared, address: bound, host, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to open in a browser on this machine.
    pub fn url(&self) -> String {
        let port = self.address.port();
        match self.address {
            at if at.ip().is_unspecified() => format!("http://127.0.0.1:{port}/"),
            at if self.host.parse::<std::net::IpAddr>().is_ok() || self.host.starts_with('[') => {
                format!("http://{at}/")
            }
            _ => format!("http://{}:{port}/", self.host),
        }
    }

    /// Whether others than this machine can see it.
    pub fn is_public(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// What tells the page of a run.
    pub fn watcher(&self) -> PageWatcher {
        PageWatcher(Arc::clone(&self.shared))
    }

    /// Shows how the run ended. `files` are those of a report, if there is one.
    pub fn finish(&self, ending: RunEnding, files: Option<PageFiles>) {
        let report = files.as_ref().and_then(|files| files.names.first());
        let report = report.map(|name| format!("{}{name}", answer::REPORT));
        self.shared.lock().files = files.unwrap_or_default();
        self.shared.tell(|status| status.finish(RunEnding { report, ..ending }), PageEvent::end);
    }

    /// How many look at it now.
    pub fn viewers(&self) -> usize {
        self.shared.lock().clients.count()
    }

    /// Waits as long as somebody looks at it, no longer than `most`, and not once `stop` is set.
    pub fn stay(&self, most: Duration, stop: &AtomicBool) {
        let begun = Instant::now();
        let mut seen = Instant::now();
        let mut was_seen = false;
        while begun.elapsed() < most && !stop.load(Ordering::Relaxed) {
            if self.viewers() > 0 {
                (seen, was_seen) = (Instant::now(), true);
            } else if !was_seen || seen.elapsed() > AWAY {
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

impl RunWatcher for PageWatcher {
    fn generator_limit(&mut self) {
        self.0.tell(RunStatus::generator_limit, PageEvent::head);
    }

    fn begin(&mut self, place: &RunPosition) {
        self.0.tell(|status| status.begin(place), PageEvent::head);
    }

    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        let mut inner = self.0.lock();
        let last = |status: &RunStatus| status.seconds.back().map(|second| second.t);
        let before = last(&inner.status);
        inner.status.second(place, moment);
        // Seconds behind the end of measuring are not kept.
        let is_new = last(&inner.status) != before;
        let event = if is_new { PageEvent::second(&inner.status) } else { PageEvent::head(&inner.status) };
        inner.clients.tell(&event);
    }

    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        self.0.tell(|status| status.end(place, point), PageEvent::point);
    }
}
