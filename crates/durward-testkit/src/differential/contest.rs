//! One set of policies, decided by every index and mode, and by the plain evaluator.

use std::fmt;

use bytes::BytesMut;
use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::{Evaluated, Fault};
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Invocation, Reading};
use durward_pdp::sapl::{Decision, Outcome, Subscription, SubscriptionError};
use durward_pdp::xacml::request::{RequestError, Version};
use durward_pdp::xacml::response::Results;
use durward_pdp::{IndexKind, IndexSettings, Pdp, PdpBuilder, PolicyError, Request, Response, Value};
use durward_wire::sapl::protobuf::{self, Limits};

/// Why a text is no question: the fault of whoever wrote it.
#[derive(Debug)]
pub enum QuestionError {
    /// It begins as JSON does, and is no subscription of SAPL.
    Subscription(SubscriptionError),
    /// It is no request of XACML in XML.
    Request(RequestError),
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Subscription(error) => error.fmt(f),
            QuestionError::Request(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for QuestionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            QuestionError::Subscription(error) => Some(error),
            QuestionError::Request(error) => Some(error),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum ContestQuestion {
    /// In SAPL's words: read, and as its JSON.
    Subscription(Box<Subscription>, String),
    /// In XACML's words.
    Request(Box<Request>),
}

impl ContestQuestion {
    /// Reads a subscription of SAPL (JSON) or a request of XACML (XML).
    ///
    /// # Errors
    /// It is neither.
    pub fn read(text: &str) -> Result<ContestQuestion, QuestionError> {
        if text.trim_start().starts_with('{') {
            let subscription =
                Subscription::from_json(text.as_bytes()).map_err(QuestionError::Subscription)?;
            return Ok(ContestQuestion::Subscription(Box::new(subscription), text.to_owned()));
        }
        let request = Request::from_xml(text.as_bytes()).map_err(QuestionError::Request)?;
        Ok(ContestQuestion::Request(Box::new(request)))
    }
}

/// The plain evaluator said one thing and somebody else another.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// Who: the index and what was done with the question.
    pub who: String,
    /// What the plain evaluator says.
    pub plain: String,
    /// What the other says.
    pub found: String,
}

/// Decision points of the same policies.
#[derive(Debug)]
pub struct EvaluatorContest {
    plain: Pdp,
    others: Vec<(String, Pdp)>,
}

/// How often attribute finders may be asked for one question.
const ROUNDS_MAX: usize = 64;

/// What an answer says where a source failed.
pub(super) const SOURCE_FAILURE: &str = "the attribute source for `sourced` failed";

impl EvaluatorContest {
    /// Puts the policies in force plainly, and once for every index; once more with other settings, where there are any.
    /// `None` where they are refused.
    ///
    /// # Errors
    /// They are refused by some and not by others, or for other reasons.
    pub fn build(
        make: &dyn Fn() -> PdpBuilder,
        settings: Option<&IndexSettings>,
    ) -> Result<Option<EvaluatorContest>, Disagreement> {
        let plain = make().plain().build();
        let mut others = Vec::new();
        let kinds = IndexKind::ALL.map(|kind| (kind.to_string(), make().index(kind)));
        let others_of = |settings: &IndexSettings| {
            IndexKind::ALL.map(|kind| {
                let builder = make().index(kind).index_settings(settings.clone());
                (format!("{kind} with {settings:?}"), builder)
            })
        };
        for (who, builder) in kinds.into_iter().chain(settings.into_iter().flat_map(others_of)) {
            match (&plain, builder.build()) {
                (Ok(_), Ok(pdp)) => others.push((who, pdp)),
                (Err(plain), Err(found)) if said(plain) == said(&found) => {}
                (plain, found) => {
                    let said_of = |result: &Result<(), String>| match result {
                        Ok(()) => "takes the policies".to_owned(),
                        Err(errors) => format!("refuses the policies:\n{errors}"),
                    };
                    let plain = plain.as_ref().map(|_| ()).map_err(|errors| said(errors));
                    let found = found.map(|_| ()).map_err(|errors| said(&errors));
                    return Err(Disagreement { who, plain: said_of(&plain), found: said_of(&found) });
                }
            }
        }
        Ok(plain.ok().map(|plain| EvaluatorContest { plain, others }))
    }

    /// Adds somebody to be compared with the plain evaluator.
    pub fn add(&mut self, who: &str, pdp: Pdp) {
        self.others.push((who.to_owned(), pdp));
    }

    /// Asks everybody, in every way the question can be asked. Gives the number of answers that were compared.
    ///
    /// # Errors
    /// One of the others says something else than the plain evaluator.
    pub fn ask(&self, question: &ContestQuestion) -> Result<u64, Disagreement> {
        match question {
            ContestQuestion::Subscription(subscription, text) => self.ask_subscription(subscription, text),
            ContestQuestion::Request(request) => self.ask_request(request),
        }
    }

    /// Asks everybody all of these together. Gives the number of answers that were compared.
    ///
    /// # Errors
    /// The number of the first question to which one of the others says something else than the plain evaluator.
    pub fn ask_together(&self, questions: &[ContestQuestion]) -> Result<u64, (usize, Disagreement)> {
        let mut subscriptions = (Vec::new(), Vec::new());
        let mut requests = (Vec::new(), Vec::new());
        for (number, question) in questions.iter().enumerate() {
            match question {
                ContestQuestion::Subscription(subscription, _) => {
                    let plain = self.plain.decide_once(subscription).to_json();
                    subscriptions.0.push(Subscription::clone(subscription));
                    subscriptions.1.push((number, plain));
                }
                ContestQuestion::Request(request) => {
                    requests.0.push(Request::clone(request));
                    requests.1.push((number, self.plain.decide(request).to_json()));
                }
            }
        }
        let mut compared = 0;
        for (who, pdp) in &self.others {
            compared += together(who, pdp, &subscriptions.0, &subscriptions.1)?;
            compared += requests_together(who, pdp, &requests.0, &requests.1)?;
        }
        Ok(compared)
    }

    fn ask_subscription(&self, subscription: &Subscription, text: &str) -> Result<u64, Disagreement> {
        let message = message(subscription);
        let plain = self.plain.decide_once(subscription).to_json();
        let found_plain = known(&self.plain, subscription, None)?;
        let mut compared = 0;
        for (who, pdp) in &self.others {
            let mut encoded = subscription.clone();
            same(who, "", &plain, &pdp.decide_once(&encoded).to_json())?;
            same(who, ", a thread's own", &plain, &pdp.decider().decide_once(&encoded).to_json())?;
            let by_text =
                pdp.decide_json(text.as_bytes()).map_or_else(|error| error.to_string(), |it| it.to_json());
            same(who, ", from its text", &plain, &by_text)?;
            if let Some(decision) = message.as_deref().and_then(|bytes| of_message(pdp, bytes)) {
                same(who, ", from its message", &plain, &decision.to_json())?;
                compared += 1;
            }
            pdp.encode_subscription(&mut encoded);
            same(who, ", encoded", &plain, &pdp.decide_once(&encoded).to_json())?;
            let found = known(pdp, subscription, Some(&self.plain))?;
            same(who, ", with attribute finders", &found_plain, &found)?;
            compared += 5;
        }
        Ok(compared)
    }

    fn ask_request(&self, request: &Request) -> Result<u64, Disagreement> {
        let plain = self.plain.decide(request).to_json();
        // An index may know that a source need not be asked, and so not hear that it fails.
        if plain.contains(SOURCE_FAILURE) {
            return Ok(0);
        }
        let limits = durward_pdp::xacml::request::Limits::default();
        let (xml, json) = (request.to_xml(), request.to_json());
        // Policies may have been put in force since it was read: then its names are looked for again.
        let again = Request::from_xml(xml.as_bytes());
        let mut compared = 0;
        for (who, pdp) in &self.others {
            let mut encoded = request.clone();
            same(who, "", &plain, &pdp.decide(&encoded).to_json())?;
            // Requests of before 3.0 are not written: paths of 2.0 go over the whole document.
            if request.version == Version::V3 {
                if let Ok(again) = &again {
                    same(who, ", read again", &plain, &pdp.decide(again).to_json())?;
                }
                let by_xml = pdp.decide_xml(xml.as_bytes(), &limits);
                let by_xml =
                    by_xml.map_or_else(|error| error.to_string(), |(response, _)| response.to_json());
                same(who, ", from its XML", &plain, &by_xml)?;
            }
            // What is echoed is echoed as it was sent, which is another form here.
            if request.version == Version::V3 && !request.categories.has_echoes() {
                let by_json = pdp.decide_request_json(json.as_bytes(), &limits);
                let by_json = by_json.map_or_else(|error| error.to_string(), |response| response.to_json());
                same(who, ", from its JSON", &plain, &by_json)?;
            }
            pdp.encode(&mut encoded);
            same(who, ", encoded", &plain, &pdp.decide(&encoded).to_json())?;
            compared += 5;
        }
        Ok(compared)
    }
}

/// The message of protocol buffers that clients of RSocket send.
fn message(subscription: &Subscription) -> Option<BytesMut> {
    let mut message = BytesMut::new();
    protobuf::write_subscription(&mut message, subscription).ok()?;
    Some(message)
}

/// What the server answers at once by the bytes of a message.
fn of_message(pdp: &Pdp, message: &[u8]) -> Option<Decision> {
    let limits = Limits { values_max: usize::MAX, subscriptions_max: 1 };
    pdp.decide_raw(&protobuf::read_raw(message, &limits)?)
}

/// Subscriptions in one batch, every other one encoded.
fn together(
    who: &str,
    pdp: &Pdp,
    subscriptions: &[Subscription],
    plain: &[(usize, String)],
) -> Result<u64, (usize, Disagreement)> {
    let mut encoded = subscriptions.to_vec();
    encoded.iter_mut().step_by(2).for_each(|subscription| pdp.encode_subscription(subscription));
    let mut all = subscriptions.to_vec();
    all.iter_mut().for_each(|subscription| pdp.encode_subscription(subscription));
    let mut compared = 0;
    for (how, asked) in [(", in a batch", encoded), (", encoded in a batch", all)] {
        let mut decisions = vec![Decision::plain(Outcome::Suspend); asked.len()];
        pdp.decide_batch(&asked, &mut decisions);
        for ((number, plain), decision) in plain.iter().zip(&decisions) {
            same(who, how, plain, &decision.to_json()).map_err(|what| (*number, what))?;
            compared += 1;
        }
    }
    Ok(compared)
}

/// The same for requests.
fn requests_together(
    who: &str,
    pdp: &Pdp,
    requests: &[Request],
    plain: &[(usize, String)],
) -> Result<u64, (usize, Disagreement)> {
    let mut encoded = requests.to_vec();
    encoded.iter_mut().step_by(2).for_each(|request| pdp.encode(request));
    let mut responses: Vec<Response> = encoded.iter().map(|_| Response { results: Results::new() }).collect();
    pdp.decide_requests(&encoded, &mut responses);
    let mut compared = 0;
    for ((number, plain), response) in plain.iter().zip(&responses) {
        if !plain.contains(SOURCE_FAILURE) {
            same(who, ", in a batch", plain, &response.to_json()).map_err(|what| (*number, what))?;
            compared += 1;
        }
    }
    Ok(compared)
}

fn said(errors: &[PolicyError]) -> String {
    errors.iter().map(PolicyError::to_string).collect::<Vec<_>>().join("\n")
}

fn same(who: &str, how: &str, plain: &str, found: &str) -> Result<(), Disagreement> {
    if plain == found {
        return Ok(());
    }
    Err(Disagreement { who: format!("{who}{how}"), plain: plain.to_owned(), found: found.to_owned() })
}

/// The decision once all attribute finders have said what they have to say. Knowing the same, nobody may want to know
/// more than the plain evaluator.
fn known(pdp: &Pdp, subscription: &Subscription, plain: Option<&Pdp>) -> Result<String, Disagreement> {
    let mut knowing = KnownSubscription { subscription, told: Vec::new() };
    for _ in 0..ROUNDS_MAX {
        let attempt = pdp.decide_known(&knowing);
        if attempt.needs.is_empty() {
            return Ok(Decision::to_json(&attempt.decision));
        }
        if let Some(plain) = plain {
            let wanted = plain.decide_known(&knowing).needs;
            if let Some(other) = attempt.needs.iter().find(|need| !wanted.contains(need)) {
                let (plain, found) = (format!("wants {wanted:?}"), format!("wants {other:?}"));
                return Err(Disagreement { who: "asking attribute finders".to_owned(), plain, found });
            }
        }
        knowing.told.extend(attempt.needs);
    }
    Ok(format!("asks more than {ROUNDS_MAX} times"))
}

/// A subscription with what attribute finders have said about it so far.
struct KnownSubscription<'s> {
    subscription: &'s Subscription,
    told: Vec<Invocation>,
}

impl Attributes for KnownSubscription<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.subscription.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        self.told.contains(invocation).then(|| says(invocation))
    }
}

/// What an attribute finder says: always the same to the same.
fn says(invocation: &Invocation) -> Evaluated<Value> {
    let entity = invocation.entity.as_ref().map(Value::to_json).unwrap_or_default();
    let arguments: String = invocation.arguments.iter().map(Value::to_json).collect();
    let digest = format!("{}{entity}{arguments}", invocation.name)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    match (digest >> 32) % 8 {
        0 => Err(Fault::processing("the finder fails")),
        1 => Ok(Value::Undefined),
        2 => Ok(Value::Boolean(false)),
        3 => Ok(Value::text("v1")),
        4 => Ok(Value::number(3)),
        _ => Ok(Value::Boolean(true)),
    }
}
