//! Policies in force, asked in text.

use std::fmt;
use std::path::Path;
#[cfg(feature = "files")]
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durward_pdp::ir::json::read_subscription;
use durward_pdp::ir::question::RawSubscription;
#[cfg(feature = "files")]
use durward_pdp::read_policies;
use durward_pdp::sapl::{Decision, Subscription};
use durward_pdp::stream::finders::{self, MomentAttributes, MomentContext};
use durward_pdp::stream::{
    BrokerSettings, Decider, Finder, Invocation, PackedSubscription, PoliciesInForce, Streams,
};
use durward_pdp::xacml::request::{Limits, Request};
use durward_pdp::{Pdp, PolicyText, SnapshotInfo, Value, policies_of_directory};

#[cfg(feature = "threads")]
use crate::bell::Bell;
#[cfg(feature = "threads")]
use crate::driver::Driver;
use crate::error::{LoadError, QuestionError};
use crate::watch::Watch;

/// Most ticks, of about a millisecond each, in which whoever puts policies in force decides watched subscriptions again; the driver does the rest.
const TICKS_MAX: usize = 10_000;

/// The longest text of a question, in bytes; what a server reads is less. Longer ones are a mistake or an attack.
pub const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Gives the time: usually `SystemTime::now`; the host's clock where there is none, as in WebAssembly.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// A policy decision point with its policies. All of it may be called from any thread, and by many at once.
pub struct DecisionPoint {
    pdp: Arc<Pdp>,
    finders: Vec<Finder>,
    streams: Streams<PoliciesInForce>,
    #[cfg(feature = "threads")]
    driver: Driver,
    clock: Clock,
    #[cfg(feature = "files")]
    path: Option<PathBuf>,
    /// Held by whoever puts other policies in force.
    replacing: Mutex<()>,
}

/// A subscription whose answer needs more than a look at its text.
#[derive(Debug)]
pub struct Pending<'q> {
    point: &'q DecisionPoint,
    read: Read<'q>,
}

/// How far it has been read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack, for one decision")]
enum Read<'q> {
    Raw(RawSubscription<'q>),
    /// Not at all: it wants care, or is no subscription.
    Text(&'q [u8]),
}

impl Pending<'_> {
    /// Answers it.
    ///
    /// # Errors
    /// The text is no subscription.
    #[inline]
    pub fn decide(self) -> Result<Decision, QuestionError> {
        let subscription = match self.read {
            Read::Raw(raw) => Subscription::from_raw(raw),
            Read::Text(text) => Subscription::from_json(text)?,
        };
        Ok(self.point.decide_whole(&subscription))
    }
}

/// Why a question is answered as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// In words, many lines.
    pub text: String,
    /// The same as JSON.
    pub json: String,
}

impl fmt::Debug for DecisionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionPoint").field("pdp", &self.pdp).finish_non_exhaustive()
    }
}

impl DecisionPoint {
    /// Reads the policies of a folder, or of one file.
    ///
    /// # Errors
    /// They cannot be read, or are broken.
    #[cfg(feature = "files")]
    pub fn open(path: &Path, clock: Clock) -> Result<DecisionPoint, LoadError> {
        let mut point = DecisionPoint::of(read_policies(path)?, clock)?;
        point.path = Some(path.to_owned());
        Ok(point)
    }

    /// Takes policies as texts, each with the name by which messages call it. The name says the language, as a file's does: `.sapl`,
    /// `.xml`, `pdp.json` and so on.
    ///
    /// # Errors
    /// The policies are broken.
    pub fn from_texts<N, T>(
        texts: impl IntoIterator<Item = (N, T)>,
        clock: Clock,
    ) -> Result<DecisionPoint, LoadError>
    where
        N: Into<String>,
        T: Into<Vec<u8>>,
    {
        DecisionPoint::of(named(texts), clock)
    }

    /// Takes the files of a folder that the host has read: those below it of which [`is_policy_file`](crate::is_policy_file) says so.
    ///
    /// # Errors
    /// No policy is among them, or they are broken.
    pub fn from_folder<N, T>(
        folder: &Path,
        files: impl IntoIterator<Item = (N, T)>,
        clock: Clock,
    ) -> Result<DecisionPoint, LoadError>
    where
        N: Into<String>,
        T: Into<Vec<u8>>,
    {
        DecisionPoint::of(policies_of_directory(folder, named(files))?, clock)
    }

    fn of(texts: Vec<PolicyText>, clock: Clock) -> Result<DecisionPoint, LoadError> {
        let time = Arc::clone(&clock);
        let builder = Pdp::builder().policies(texts).explaining().clock(move || time());
        let pdp = Arc::new(builder.build()?);
        #[cfg(feature = "threads")]
        let bell = Arc::new(Bell::default());
        #[cfg(feature = "threads")]
        let wake = {
            let bell = Arc::clone(&bell);
            move || bell.ring()
        };
        // Nothing happens but in calls of the host, which calls `tick` after each.
        #[cfg(not(feature = "threads"))]
        let wake = || ();
        let streams = Streams::new(PoliciesInForce::of(&pdp), BrokerSettings::default(), 0, wake);
        let finders = finders::all();
        streams.set_finders(finders.clone(), ms_of(clock()));
        Ok(DecisionPoint {
            pdp,
            finders,
            #[cfg(feature = "threads")]
            driver: Driver::new(streams.clone(), bell, Arc::clone(&clock)),
            streams,
            clock,
            #[cfg(feature = "files")]
            path: None,
            replacing: Mutex::new(()),
        })
    }

    /// Reads the policies again from where they were read, and puts them in force. Watched subscriptions are decided again before this returns.
    ///
    /// # Errors
    /// As [`DecisionPoint::open`]; the policies stay as they were. Or there is nothing to read again.
    #[cfg(feature = "files")]
    pub fn reload(&self) -> Result<SnapshotInfo, LoadError> {
        let path = self.path.as_deref().ok_or(LoadError::NoFolder)?;
        self.put_in_force(|| Ok(read_policies(path)?))
    }

    /// Puts these texts in force in place of the policies there are.
    ///
    /// # Errors
    /// They are broken; the policies stay as they were.
    pub fn replace<N, T>(&self, texts: impl IntoIterator<Item = (N, T)>) -> Result<SnapshotInfo, LoadError>
    where
        N: Into<String>,
        T: Into<Vec<u8>>,
    {
        self.put_in_force(|| Ok(named(texts)))
    }

    /// Puts the files of a folder in force, as [`DecisionPoint::from_folder`] takes them.
    ///
    /// # Errors
    /// No policy is among them, or they are broken; the policies stay as they were.
    pub fn replace_folder<N, T>(
        &self,
        folder: &Path,
        files: impl IntoIterator<Item = (N, T)>,
    ) -> Result<SnapshotInfo, LoadError>
    where
        N: Into<String>,
        T: Into<Vec<u8>>,
    {
        self.put_in_force(|| Ok(policies_of_directory(folder, named(files))?))
    }

    /// One after the other: otherwise watched subscriptions could be left with the policies of whoever began first.
    fn put_in_force(
        &self,
        texts: impl FnOnce() -> Result<Vec<PolicyText>, LoadError>,
    ) -> Result<SnapshotInfo, LoadError> {
        let _alone = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let info = self.pdp.replace(&texts()?)?;
        let now_ms = self.now_ms();
        self.streams.replace(PoliciesInForce::of(&self.pdp), now_ms);
        // Nobody is to be told a permit of policies that are in force no more: this thread decides again before it returns.
        for _ in 0..TICKS_MAX {
            if self.streams.tick(now_ms).is_none_or(|next_ms| next_ms > now_ms) {
                break;
            }
        }
        Ok(info)
    }

    fn now_ms(&self) -> i64 {
        ms_of((self.clock)())
    }

    /// What is in force.
    pub fn snapshot(&self) -> SnapshotInfo {
        self.pdp.snapshot()
    }

    /// Answers a subscription of SAPL, a text of JSON: `{"subject": .., "action": .., "resource": .., "environment": ..}`. Policies of XACML
    /// see its values and their members as attributes.
    ///
    /// # Errors
    /// The text is no subscription.
    #[inline]
    pub fn decide(&self, subscription: &[u8]) -> Result<Decision, QuestionError> {
        self.decide_aside(subscription, |pending| pending.decide())
    }

    /// The same, for hosts that hold a lock meanwhile, as Python does: what is seen in the text is answered at once, and what takes longer is
    /// left to `aside`, which lets go of the lock and calls [`Pending::decide`].
    ///
    /// # Errors
    /// The text is no subscription.
    #[inline]
    pub fn decide_aside(
        &self,
        subscription: &[u8],
        aside: impl FnOnce(Pending<'_>) -> Result<Decision, QuestionError>,
    ) -> Result<Decision, QuestionError> {
        within(subscription)?;
        let read = match read_subscription(subscription) {
            Ok(raw) => match self.pdp.decide_raw(&raw) {
                Some(decision) => return Ok(decision),
                None => Read::Raw(raw),
            },
            Err(_) => Read::Text(subscription),
        };
        aside(Pending { point: self, read })
    }

    /// Answers a subscription of which values were made, with the attributes of this moment. It is evaluated once: the clock is read, and
    /// the configuration looked up, when a policy asks for an attribute that needs them.
    fn decide_whole(&self, subscription: &Subscription) -> Decision {
        self.at_this_moment(subscription, |known| self.pdp.decide_known(known).decision)
    }

    /// What no finder here serves is undefined.
    fn at_this_moment<R>(
        &self,
        subscription: &Subscription,
        ask: impl FnOnce(&MomentAttributes<'_>) -> R,
    ) -> R {
        let otherwise = |_: &Invocation| Ok(Value::Undefined);
        let moment = MomentContext {
            now_ms: &|| self.now_ms(),
            surroundings: &|| Arc::new(PoliciesInForce::of(&self.pdp).surroundings()),
        };
        ask(&MomentAttributes::new(subscription, &self.finders, moment, &otherwise))
    }

    /// Answers many subscriptions, each as [`DecisionPoint::decide`] does, in their order.
    pub fn decide_many<'q>(
        &self,
        subscriptions: impl IntoIterator<Item = &'q [u8]>,
    ) -> Vec<Result<Decision, QuestionError>> {
        subscriptions.into_iter().map(|subscription| self.decide(subscription)).collect()
    }

    /// Answers a request of XACML 3.0 or 2.0 in XML, or in JSON of its profile; the response is of the same form. What cannot be decided
    /// is an Indeterminate result that says why.
    ///
    /// # Errors
    /// The text is no request.
    pub fn decide_request(&self, request: &[u8]) -> Result<String, QuestionError> {
        within(request)?;
        if is_json(request) {
            return Ok(self.pdp.decide_request_json(request, &Limits::default())?.to_json());
        }
        let (response, version) = self.pdp.decide_xml(request, &Limits::default())?;
        Ok(response.to_xml(version))
    }

    /// Says why a subscription is answered as it is.
    ///
    /// # Errors
    /// The text is no subscription.
    pub fn explain(&self, subscription: &[u8]) -> Result<Explained, QuestionError> {
        within(subscription)?;
        let subscription = Subscription::from_json(subscription)?;
        let explain = |known: &MomentAttributes<'_>| self.pdp.explain_known(&subscription, known);
        let explanation = self.at_this_moment(&subscription, explain);
        Ok(Explained { text: explanation.to_string(), json: explanation.to_json().to_string() })
    }

    /// Says why a request of XACML, in XML or JSON, is answered as it is.
    ///
    /// # Errors
    /// The text is no request.
    pub fn explain_request(&self, request: &[u8]) -> Result<Explained, QuestionError> {
        within(request)?;
        let limits = Limits::default();
        let request = if is_json(request) {
            Request::from_json_within(request, &limits)?
        } else {
            Request::from_xml_within(request, &limits)?
        };
        let explanation = self.pdp.explain(&request);
        Ok(Explained { text: explanation.to_string(), json: explanation.to_json().to_string() })
    }

    /// Decides a subscription again whenever another decision comes of it: because time goes by, or because other policies were put in
    /// force. With the feature `threads` the first one starts a thread, which ends with the decision point; without it, see
    /// [`DecisionPoint::tick`].
    ///
    /// # Errors
    /// The text is no subscription; too many are watched; or the system gives no thread.
    pub fn watch(&self, subscription: &[u8]) -> Result<Watch, QuestionError> {
        within(subscription)?;
        let packed = PackedSubscription::from_json(subscription)?;
        #[cfg(feature = "threads")]
        self.driver.start().map_err(QuestionError::NoThread)?;
        let subscribed = self.streams.subscribe(packed, self.now_ms());
        subscribed.map(Watch::new).map_err(|_| QuestionError::TooMany)
    }

    /// Drives watched subscriptions where no thread does: decides again what has to be, and wakes whoever gets another decision. To be
    /// called after each [`DecisionPoint::watch`], each replacement of policies, and after the time it gives: nothing where no decision
    /// depends on the time.
    pub fn tick(&self) -> Option<Duration> {
        let now_ms = self.now_ms();
        let wait_ms = self.streams.tick(now_ms)?.saturating_sub(now_ms);
        Some(Duration::from_millis(u64::try_from(wait_ms).unwrap_or_default()))
    }
}

fn named<N: Into<String>, T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = (N, T)>) -> Vec<PolicyText> {
    texts.into_iter().map(|(name, text)| PolicyText { name: name.into(), text: text.into() }).collect()
}

fn within(text: &[u8]) -> Result<(), QuestionError> {
    if text.len() > TEXT_BYTES_MAX { Err(QuestionError::TooLong(text.len())) } else { Ok(()) }
}

/// Whether a request is one of JSON: XML begins with `<`, whatever stands before it.
fn is_json(request: &[u8]) -> bool {
    let text = request.strip_prefix(b"\xef\xbb\xbf").unwrap_or(request);
    text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Milliseconds since 1970.
pub(crate) fn ms_of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
