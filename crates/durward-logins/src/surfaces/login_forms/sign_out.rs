//! Whether to sign out, asked by a form: it names the session that the browser has, which no other page knows.

use durward_session::Service;
use durward_session::identity::Moment;
use durward_session::identity::session::SessionId;
use serde::{Deserialize, Serialize};

/// How long the form is good for.
const FORM_S: u64 = 15 * 60;

/// What is done when the user says yes.
#[derive(Debug, Serialize, Deserialize)]
pub struct SignOut {
    /// The session that would end.
    pub session: String,
    /// Where the browser goes then, and with which `state`.
    pub then: Option<(String, Option<String>)>,
    until_s: u64,
}

impl SignOut {
    /// A question that may be answered for a while from `now`; `then` is where the browser goes afterwards, and the state it takes there.
    pub fn new(session: SessionId, then: Option<(String, Option<String>)>, now: Moment) -> SignOut {
        SignOut { session: session.to_string(), then, until_s: now.ms() / 1000 + FORM_S }
    }

    /// As the form carries it; `None` where it is too long. `purpose` keeps the forms of one surface from another.
    pub fn sealed(&self, service: &Service, purpose: &str) -> Option<String> {
        let content = serde_json::to_vec(self).ok()?;
        service.seal(purpose, &content).ok()
    }

    /// What a form says that was given for this purpose, if it is still good.
    pub fn read(service: &Service, purpose: &str, text: &str, now: Moment) -> Option<SignOut> {
        let content = service.unseal(purpose, text)?;
        let asked: SignOut = serde_json::from_slice(&content).ok()?;
        (asked.until_s > now.ms() / 1000).then_some(asked)
    }
}
