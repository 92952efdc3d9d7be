//! Where policies get attributes from that questions lack: SAPL's over the network (`http`, `mqtt`, `jwt`, and services of one's own) or
//! published in a file ([`Sources`]); XACML's from services, directories and tokens ([`AttributeSources`]), or fixed ([`Constants`]).
//!
//! ```text
//!   broker (durward-pdp) --open--> finder --spawns--> task on a runtime --publishes--> broker
//!                          drop of the handle --stops--^
//! ```
//!
//! The finders keep no values: what is true now is the broker's to know. Secrets are read here, put into header fields and
//! logins, and into nothing else: no value, no error and no line of a log has them.

mod clock;
mod constants;
mod custom;
mod http;
mod jwt;
mod known;
mod mqtt;
mod published;
mod settings;
mod task;
mod template;
mod xacml;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use durward_net::connect::Connector;
use durward_pdp::stream::Finder;
use durward_pdp::stream::finders::{TimeFinder, X509Finder};
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

pub use constants::Constants;
pub use known::attributes;
pub use settings::{
    AttributeHttpSettings, AttributeJwtSettings, AttributeLdapSettings, AttributeSettings,
    AttributeSourceSettings, JwtSettings, LdapDepth, LdapSourceSettings, SettingError, SourceSettings,
};
pub use xacml::{Announced, AttributeSources, Claims, Issuers, NotBelieved, Rounds, TokenIssuer};

use custom::CustomFinder;
use http::{Client, HttpFinder};
use jwt::JwtFinder;
use mqtt::MqttFinder;
use published::PublishedFile;

/// Gives the time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The attribute finders that need the network.
///
/// Tenants share them: what differs between tenants, variables and secrets, comes with every question.
pub struct Sources {
    finders: Vec<Finder>,
    runtime: Handle,
    /// Where attributes are published, if anywhere.
    _published: Option<PublishedFile>,
    /// Ends the thread, if there is one of ours, when it is dropped.
    _thread: Option<oneshot::Sender<()>>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("finders", &self.finders.len()).finish()
    }
}

impl Sources {
    /// Finders whose tasks run on `runtime`, which needs I/O and time.
    ///
    /// # Errors
    /// A setting that is wrong, or authorities that cannot be read.
    pub fn new(settings: &SourceSettings, runtime: &Handle, clock: &Clock) -> Result<Sources, SettingError> {
        let connector = Connector::new(settings.authorities.as_deref(), settings.connect_time_max());
        let connector =
            connector.map_err(|error| SettingError::new("sources.authorities", error.to_string()))?;
        let client = Arc::new(Client::new(connector.clone(), settings));
        let bytes_max = settings.answer_bytes_max;
        let mut finders = vec![
            Finder::outside(HttpFinder::new(Arc::clone(&client), runtime.clone(), bytes_max)),
            Finder::outside(JwtFinder::new(Arc::clone(&client), runtime.clone(), Arc::clone(clock))),
            Finder::outside(MqttFinder::new(connector, runtime.clone())),
        ];
        for (name, attribute) in &settings.attributes {
            let finder = CustomFinder::new(name, attribute, Arc::clone(&client), runtime.clone(), bytes_max)?;
            finders.push(Finder::outside(custom::Shared(Arc::new(finder))));
        }
        let poll = Duration::from_millis(settings.published_poll_ms);
        let published = settings.published.as_deref();
        let published = published.map(|path| PublishedFile::start(path, poll, clock)).transpose()?;
        // It serves everything: what others do not.
        finders.extend(published.as_ref().map(PublishedFile::finder));
        Ok(Sources { finders, runtime: runtime.clone(), _published: published, _thread: None })
    }

    /// The same on a thread of their own, so that no slow service and no large answer keeps callers waiting. It ends when
    /// this is dropped; then no source says anything any more.
    ///
    /// # Errors
    /// As [`Sources::new`], and a thread that cannot be started.
    pub fn start(settings: &SourceSettings, clock: &Clock) -> Result<Sources, SettingError> {
        let failed = |error: io::Error| SettingError::new("sources", format!("cannot be started: {error}"));
        let runtime =
            runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let sources = match Sources::new(settings, runtime.handle(), clock) {
            Ok(sources) => sources,
            Err(error) => {
                // Dropping it would wait for its threads, which nobody may do who starts a server from within another.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let (handle, stop) = oneshot::channel::<()>();
        let run = move || {
            // The error is what is waited for: the other end was dropped.
            let _ = runtime.block_on(stop);
        };
        thread::Builder::new().name("sources".into()).spawn(run).map_err(failed)?;
        Ok(Sources { _thread: Some(handle), ..sources })
    }

    /// Where the tasks of finders run.
    pub fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    /// Adds a finder, to be asked before all others.
    pub fn add(&mut self, finder: Finder) {
        // What a file publishes is asked last: it serves everything.
        self.finders.insert(0, finder);
    }

    /// The finders, to be given to streams beside those that need nothing but the time.
    pub fn finders(&self) -> Vec<Finder> {
        self.finders.clone()
    }

    /// All finders that durward has: these, and those that need nothing but the time.
    pub fn all_finders(&self) -> Vec<Finder> {
        let timed = [Finder::timed(TimeFinder::default()), Finder::timed(X509Finder)];
        timed.into_iter().chain(self.finders()).collect()
    }
}
