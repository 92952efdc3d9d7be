//! Attributes that XACML's policies read and requests lack, asked for over the network: `[[attributes]]` with `http`, `ldap`
//! or `jwt`.
//!
//! ```text
//!   decide --reads--> Round: known?  yes: values --> decision
//!                            no: noted, and this decision is thrown away
//!   all that was noted is asked for at once; then decide again
//! ```
//!
//! No thread waits: deciding is synchronous and short, asking is not and happens on a thread of its own. What cannot be
//! asked, or is not answered, makes the decision Indeterminate; it is never an empty bag.

mod flights;
mod input;
mod issuer;
mod kinds;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use durward_pdp::{AttributeName, AttributeSource, Request, Response, SourceError, Value};
use durward_session::Seldom;
use durward_session::ldap::LdapLookup;
use futures_util::future::join_all;
use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

use crate::Clock;
use crate::constants::is_meant;
use crate::http::Client;
use crate::settings::{AttributeSettings, SettingError, SourceSettings};
use durward_net::connect::Connector;
use flights::{Answer, Flights, Key, Times};
pub use issuer::{Claims, Issuers, NotBelieved, TokenIssuer};
pub(crate) use kinds::check;
use kinds::{Kind, Parts};

/// How often one request is decided again because answers made further attributes matter. Real policies need one or two.
const ROUNDS_MAX: usize = 16;

/// How many questions to sources one request may cause: a request for many decisions must not become an attack on a
/// directory.
const QUESTIONS_MAX: usize = 256;

/// What operators are told when a source fails: once a minute for each source, with the reason.
const NOT_HAD: &str = "an attribute could not be had";

/// All attributes that are asked for.
pub struct AttributeSources {
    sources: Vec<Source>,
    flights: Flights,
    runtime: Handle,
    /// Ends the thread when it is dropped.
    _thread: oneshot::Sender<()>,
}

struct Source {
    name: AttributeName,
    kind: Kind,
    times: Times,
    failures: Seldom,
}

impl AttributeSources {
    /// The sources of `attributes`, on a thread of their own; `None` where none is asked for. `issuers` verify the tokens of
    /// `[sources.jwt]`, by its names.
    ///
    /// # Errors
    /// A setting that is wrong, a file that cannot be read, or a thread that cannot be started.
    pub fn start(
        attributes: &[AttributeSettings],
        settings: &SourceSettings,
        issuers: Issuers,
        clock: &Clock,
    ) -> Result<Option<AttributeSources>, SettingError> {
        if !attributes.iter().any(AttributeSettings::is_asked_for) {
            return Ok(None);
        }
        let parts = parts(settings, issuers, clock)?;
        let asked_for = attributes.iter().filter(|attribute| attribute.is_asked_for());
        let sources = asked_for.map(|attribute| source(attribute, &parts)).collect::<Result<_, _>>()?;
        let failed = |error: io::Error| SettingError::new("sources", format!("cannot be started: {error}"));
        let runtime =
            runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (thread, stop) = oneshot::channel::<()>();
        let run = move || {
            // The error is what is waited for: the other end was dropped.
            let _ = runtime.block_on(stop);
            runtime.shutdown_background();
        };
        thread::Builder::new().name("attributes".into()).spawn(run).map_err(failed)?;
        let flights = Flights::new(settings.cache_bytes_max);
        Ok(Some(AttributeSources { sources, flights, runtime: handle, _thread: thread }))
    }

    /// Decides, with what sources know. `decide` does what is short; the last answer counts, unless [`ROUNDS_MAX`] ended it.
    ///
    /// # Errors
    /// Those of `decide`.
    pub async fn decide<E>(
        &self,
        mut decide: impl FnMut(&dyn AttributeSource) -> Result<Response, E>,
    ) -> Result<Rounds, E> {
        let round = Round { sources: self, notes: Mutex::default() };
        for _ in 0..ROUNDS_MAX {
            let response = decide(&round)?;
            let open = std::mem::take(&mut round.notes().open);
            if open.is_empty() {
                return Ok(Rounds::Enough(response));
            }
            let answers = join_all(open.iter().map(|key| self.answer(key))).await;
            round.notes().answers.extend(open.into_iter().zip(answers));
        }
        let message =
            format!("attribute sources made further attributes matter more than {ROUNDS_MAX} times");
        Ok(Rounds::TooMany(message))
    }

    async fn answer(&self, key: &Key) -> Answer {
        let (number, question) = key;
        let Some(Source { name, kind, times, failures }) = self.sources.get(*number) else {
            return Err(SourceError::new("there is no such source"));
        };
        let ask = || kind.clone().ask(question.clone(), name.data_type);
        let answer = self.flights.answer(&self.runtime, key, *times, ask).await;
        // Callers are not told the reason. Each request may meet it again.
        if let Err(error) = &answer {
            let reason = error.message.as_str();
            match failures.is_due() {
                true => tracing::warn!(attribute = ?name.id, reason, "{NOT_HAD}"),
                false => tracing::debug!(attribute = ?name.id, reason, "{NOT_HAD}"),
            }
        }
        answer
    }
}

/// What came of deciding again and again.
#[derive(Debug)]
pub enum Rounds {
    /// The answer of the last round, which lacked nothing.
    Enough(Response),
    /// None, for this reason.
    TooMany(String),
}

/// What decision points are told of sources: that there are some.
#[derive(Debug)]
pub struct Announced(pub Arc<AttributeSources>);

impl AttributeSource for Announced {
    fn provides(&self, name: &AttributeName) -> bool {
        self.0.sources.iter().any(|source| source.provides(name))
    }

    /// Whoever decides without rounds cannot know.
    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Err(SourceError::new("it is asked over the network, and this decision is made without"))
    }

    fn is_announcement(&self) -> bool {
        true
    }
}

impl Source {
    fn provides(&self, name: &AttributeName) -> bool {
        is_meant(&self.name, name)
    }
}

/// One request, from its first decision to its last.
struct Round<'s> {
    sources: &'s AttributeSources,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    answers: HashMap<Key, Answer>,
    /// What was wanted and is not known.
    open: Vec<Key>,
}

impl Round<'_> {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer, which holds for this request however long it takes.
    fn answer(&self, key: Key) -> Result<Arc<[Value]>, SourceError> {
        let mut notes = self.notes();
        let known = notes.answers.get(&key).cloned().or_else(|| self.sources.flights.known(&key));
        if let Some(answer) = known {
            notes.answers.insert(key, answer.clone());
            return answer;
        }
        if notes.answers.len() + notes.open.len() >= QUESTIONS_MAX {
            let message = format!("one request wants more than {QUESTIONS_MAX} questions asked");
            return Err(SourceError::new(message));
        }
        if !notes.open.contains(&key) {
            notes.open.push(key);
        }
        // Thrown away with the decision.
        Err(SourceError::new("it has not answered yet"))
    }
}

impl AttributeSource for Round<'_> {
    fn provides(&self, name: &AttributeName) -> bool {
        self.sources.sources.iter().any(|source| source.provides(name))
    }

    fn values(&self, name: &AttributeName, request: &Request) -> Result<Vec<Value>, SourceError> {
        let numbered = self.sources.sources.iter().enumerate();
        let mut all = Vec::new();
        // Values of all issuers are one bag (7.3.5). All are asked at once, in one round.
        let mut failed = None;
        for (number, source) in numbered.filter(|(_, source)| source.provides(name)) {
            match source.kind.question(request).and_then(|question| self.answer((number, question))) {
                Ok(values) => all.extend_from_slice(&values),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(all), Err)
    }
}

fn parts(settings: &SourceSettings, issuers: Issuers, clock: &Clock) -> Result<Parts, SettingError> {
    let connector = Connector::new(settings.authorities.as_deref(), settings.connect_time_max())
        .map_err(|error| SettingError::new("sources.authorities", error.to_string()))?;
    let directory = |(name, directory): (&String, &crate::settings::LdapSourceSettings)| {
        let wrong = |error: durward_session::identity::IdentityError| {
            SettingError::new(&format!("sources.ldap.{name}"), format!("cannot be used: {error}"))
        };
        let lookup = LdapLookup::new(directory.settings().map_err(wrong)?).map_err(wrong)?;
        Ok((name.clone(), lookup))
    };
    Ok(Parts {
        client: Arc::new(Client::new(connector, settings)),
        directories: settings.ldap.iter().map(directory).collect::<Result<BTreeMap<_, _>, SettingError>>()?,
        issuers,
        clock: Arc::clone(clock),
        answer_bytes_max: settings.answer_bytes_max,
    })
}

fn source(attribute: &AttributeSettings, parts: &Parts) -> Result<Source, SettingError> {
    let setting = &attribute.setting();
    let kind = match (&attribute.http, &attribute.ldap, &attribute.jwt) {
        (Some(http), _, _) => Kind::http(setting, http, parts),
        (None, Some(ldap), _) => Kind::ldap(setting, ldap, parts),
        (None, None, Some(jwt)) => Kind::jwt(setting, jwt, parts),
        (None, None, None) => Err(setting.wrong("has no source")),
    };
    Ok(Source {
        name: attribute.name()?,
        kind: kind?,
        times: Times { answer: attribute.time_max(), cache: attribute.cache_time() },
        failures: Seldom::default(),
    })
}

impl std::fmt::Debug for AttributeSources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttributeSources").field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::net::TcpListener;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Callers are not told; and operators are told once, not for each request.
    #[test]
    fn operators_are_told_why_a_source_fails() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let text = format!("id = 'site'\nhttp.url = 'http://{gone}/site'\n");
        let attribute: AttributeSettings = toml::from_str(&text).unwrap();
        let clock: Clock = Arc::new(|| std::time::SystemTime::UNIX_EPOCH);
        let sources =
            AttributeSources::start(&[attribute], &SourceSettings::default(), Issuers::new(), &clock);
        let sources = sources.unwrap().unwrap();
        let lines = Lines::default();
        let writer = lines.clone();
        let builder = tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_ansi(false);
        let subscriber = builder.with_writer(move || writer.clone()).finish();
        let key: Key = (0, [format!("http://{gone}/site")].into());
        tracing::subscriber::with_default(subscriber, || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            (0..3).for_each(|_| drop(runtime.block_on(sources.answer(&key)).unwrap_err()));
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.contains("site") && text.contains(NOT_HAD) && text.contains(&gone.to_string()),
            "{text}"
        );
    }
}
