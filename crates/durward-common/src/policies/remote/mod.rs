//! Tenants whose bundles are fetched from a server (SAPL's bundle protocol): `GET URL/TENANT`, with the ETag of the last
//! answer as `If-None-Match`.
//!
//! One task for each tenant, all on one thread; unpacking and building is done on another, one tenant at a time. What a
//! server says counts only if its bundle is verified; that it says nothing is noticed, too.

mod contact;
mod fetch;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use durward_settings::{RemoteBundleSettings, RemoteMode};
use hyper::header::HeaderValue;
use smol_str::SmolStr;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::policies::{InForce, PolicyLoadError};
use contact::Contact;
use fetch::{Answer, Fetcher};

/// A server that answers sooner that there is nothing new does not hold questions back.
const HELD_MIN: Duration = Duration::from_secs(1);

/// How long to wait at least between two questions, so that a server that always has something new does not keep a core
/// busy.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Fetches bundles until it is dropped.
pub struct RemoteTenants {
    fetcher: Arc<Fetcher>,
    _thread: Option<oneshot::Sender<()>>,
}

impl RemoteTenants {
    /// Fetches nothing yet.
    ///
    /// # Errors
    /// An address, a header field or authorities that cannot be used.
    pub fn new(in_force: &Arc<InForce>) -> Result<RemoteTenants, PolicyLoadError> {
        let fetcher = Fetcher::new(&in_force.settings)?;
        for tenant in &in_force.settings.remote_bundles.tenants {
            in_force.expect(tenant);
        }
        Ok(RemoteTenants { fetcher: Arc::new(fetcher), _thread: None })
    }

    /// # Errors
    /// A thread that cannot be started.
    pub fn start(&mut self, in_force: &Arc<InForce>) -> io::Result<()> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(1)
            .build()?;
        let (handle, stop) = oneshot::channel::<()>();
        for tenant in &in_force.settings.remote_bundles.tenants {
            let fetching = Fetching {
                tenant: tenant.into(),
                in_force: Arc::clone(in_force),
                fetcher: Arc::clone(&self.fetcher),
                contact: Arc::new(Contact::new()),
                etag: None,
                digest: None,
                failures: 0,
            };
            runtime.spawn(fetching.run());
        }
        let run = move || {
            // The error is what is waited for: the other end was dropped.
            let _ = runtime.block_on(stop);
            runtime.shutdown_background();
        };
        thread::Builder::new().name("bundles".into()).spawn(run)?;
        self._thread = Some(handle);
        Ok(())
    }
}

/// One tenant.
struct Fetching {
    tenant: SmolStr,
    in_force: Arc<InForce>,
    fetcher: Arc<Fetcher>,
    contact: Arc<Contact>,
    etag: Option<HeaderValue>,
    /// Of the bytes that were looked at last, for servers without ETags.
    digest: Option<u64>,
    /// In a row.
    failures: u32,
}

impl Fetching {
    async fn run(mut self) {
        let (in_force, contact, tenant) =
            (Arc::clone(&self.in_force), Arc::clone(&self.contact), self.tenant.clone());
        tokio::join!(contact.watch(&in_force, &tenant), async {
            loop {
                let pause = self.fetch().await;
                sleep(pause).await;
            }
        });
    }

    fn settings(&self) -> &RemoteBundleSettings {
        &self.in_force.settings.remote_bundles
    }

    /// Asks once. How long to wait before the next time.
    async fn fetch(&mut self) -> Duration {
        let begun = Instant::now();
        if self.contact.take_closed() {
            // Nothing is in force: that there is nothing new is no answer.
            (self.etag, self.digest) = (None, None);
        }
        let asked_with = self.etag.clone();
        match self.fetcher.fetch(&self.tenant, asked_with.as_ref()).await {
            Ok(Answer::Same) if asked_with.is_some() => {
                self.heard();
                self.pause(begun.elapsed() >= HELD_MIN)
            }
            Ok(Answer::Same) => self.failed("it says that nothing is new, and was not asked that"),
            Ok(Answer::New { bytes, etag }) => {
                let is_new = self.take(bytes).await;
                self.etag = etag;
                self.pause(is_new || begun.elapsed() >= HELD_MIN)
            }
            Err(reason) => self.failed(&reason),
        }
    }

    /// Puts a bundle in force, if it is not the one that was looked at last. Whether it is another.
    async fn take(&mut self, bytes: Vec<u8>) -> bool {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let digest = Some(hasher.finish());
        if digest == self.digest {
            self.heard();
            return false;
        }
        let (in_force, tenant) = (Arc::clone(&self.in_force), self.tenant.clone());
        let taken = tokio::task::spawn_blocking(move || {
            let newest = in_force.tenants.newest(&tenant);
            let content = in_force.intake.bundle(&bytes, &tenant, &tenant, newest);
            in_force.take(&tenant, content)
        });
        if taken.await.is_err() {
            tracing::error!(tenant = %self.tenant, "taking a bundle ended in a panic; please report it");
            return false;
        }
        self.digest = digest;
        self.heard();
        true
    }

    /// What a server answers shows that it is there, whatever it is.
    fn heard(&mut self) {
        self.failures = 0;
        self.contact.heard();
        self.in_force.find_contact(&self.tenant);
    }

    fn failed(&mut self, reason: &str) -> Duration {
        self.failures = self.failures.saturating_add(1);
        tracing::debug!(tenant = %self.tenant, reason, failures = self.failures, "no bundle was fetched");
        if self.in_force.tenants.get(&self.tenant).pdp.is_none() {
            self.in_force.lose_contact(&self.tenant, format!("no bundle was fetched: {reason}"));
        }
        let time = self.settings().backoff(self.failures);
        time / 2 + (time / 2).mul_f64(chance())
    }

    fn pause(&self, was_held: bool) -> Duration {
        match self.settings().mode {
            RemoteMode::LongPoll if was_held => PAUSE_MIN,
            RemoteMode::LongPoll | RemoteMode::Polling => {
                self.settings().poll_time(&self.tenant).max(PAUSE_MIN)
            }
        }
    }
}

/// From 0 to 1, so that not everybody asks a server that comes back at the same moment.
fn chance() -> f64 {
    let mut byte = [0];
    // Without randomness it is 0, which does no harm.
    let _ = getrandom::fill(&mut byte);
    let [byte] = byte;
    f64::from(byte) / 255.0
}
