//! `session.subject` and `session.valid`: whose a token is that a policy has at hand, for as long as it is accepted.

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher, Reads};
use durward_session::Purpose;
use smol_str::SmolStr;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::{NotTaken, Shown, Subjects, Turn, document};

/// The attributes `session.subject` and `session.valid` of a token.
pub struct SessionFinder {
    subjects: Subjects,
    runtime: Handle,
}

/// Ends its task when it is dropped.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone, Copy)]
enum Attribute {
    /// Who it is; `undefined` once it is nobody.
    Subject,
    /// Whether it is anybody.
    Valid,
}

impl Attribute {
    fn of(invocation: &Invocation) -> Option<Attribute> {
        match invocation.name.as_str() {
            "session.subject" => Some(Attribute::Subject),
            "session.valid" => Some(Attribute::Valid),
            _ => None,
        }
    }

    fn of_nobody(self) -> Value {
        match self {
            Attribute::Subject => Value::Undefined,
            Attribute::Valid => Value::Boolean(false),
        }
    }
}

impl SessionFinder {
    /// Its tasks run on `runtime`.
    pub fn new(subjects: Subjects, runtime: Handle) -> SessionFinder {
        SessionFinder { subjects, runtime }
    }
}

/// A token as text (one with points in it is a JWT), or as subjects have it: `{"session": ...}`, `{"jwt": ...}`.
fn shown(entity: &Value) -> Option<Shown> {
    match entity.as_text() {
        Some(token) if token.contains('.') => Some(Shown::Jwt(SmolStr::from(token))),
        Some(token) => Some(Shown::Session(SmolStr::from(token))),
        None => document::shown(entity),
    }
}

async fn tell(subjects: Subjects, shown: Shown, attribute: Attribute, publisher: Publisher) {
    let mut purpose = Purpose::Use;
    let told = loop {
        let (subject, turn) = match subjects.clone().follow(shown.clone(), purpose).await {
            Ok(found) => found,
            Err(told) => break told,
        };
        publisher.publish(Ok(match attribute {
            Attribute::Subject => document::of(&subject),
            Attribute::Valid => Value::Boolean(true),
        }));
        match turn.await {
            // That somebody goes on listening is no use of the session.
            Turn::Changed => purpose = Purpose::Look,
            Turn::Over(told) => break told,
            Turn::Stopped => break NotTaken::Unknown,
        }
    };
    match told {
        NotTaken::Refused => {
            publisher.publish(Ok(attribute.of_nobody()));
            // A token that was refused is not accepted later; the source must not end, or it would be opened again.
            std::future::pending::<()>().await;
        }
        NotTaken::Unknown => publisher.fail("whose session it is cannot be said at the moment"),
    }
}

impl AttributeFinder for SessionFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        Attribute::of(invocation).is_some() && invocation.entity.is_some() && invocation.arguments.is_empty()
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads::NOTHING
    }

    fn open(&self, invocation: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
        let Some(attribute) = Attribute::of(invocation) else { return Box::new(publisher) };
        let Some(shown) = invocation.entity.as_ref().and_then(shown) else {
            let message = format!("`{}` is an attribute of a token, as text", invocation.name);
            publisher.publish(Err(Fault::processing(message)));
            return Box::new(publisher);
        };
        if shown.says_bound() {
            // Nobody has said that its proof was seen: it stays nobody's.
            publisher.publish(Ok(attribute.of_nobody()));
            return Box::new(publisher);
        }
        let work = tell(self.subjects.clone(), shown, attribute, publisher);
        Box::new(Task(self.runtime.spawn(work).abort_handle()))
    }
}
