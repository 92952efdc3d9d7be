//! Passkeys in a login by forms: what the page asks an authenticator is tied to the form, and so to the browser, by the ticket that is sealed
//! into it.

use durward_common::base::parameters::Parameters;
use durward_common::surfaces::http::cookies::device;
use durward_session::identity::session::Properties;
use durward_session::{PasskeyAnswer, PasskeyRequest};

use super::steps::{Sender, Stepped, stepped};
use crate::surfaces::login_page::PageError;

/// The field in which the page sends what an authenticator said.
const FIELD: &str = "passkey";

/// What the authenticator said, where the form brings that.
pub fn credential(form: &Parameters) -> Option<&str> {
    form.get(FIELD).filter(|credential| !credential.is_empty())
}

/// What is sealed into the form, and what the page asks an authenticator.
pub fn parts(request: Option<&PasskeyRequest>) -> (Option<String>, Option<String>) {
    request.map(|request| (request.ticket.clone(), request.public_key.to_string())).unzip()
}

/// Whether a passkey is all that the user has: then there is no field for a code.
pub fn is_only(request: Option<&PasskeyRequest>) -> bool {
    request.is_some_and(|request| !request.has_code)
}

impl Sender<'_> {
    /// Goes on with a login by a passkey: the whole of it, or its second step. The ticket is that of the form.
    pub async fn passkey(&self, ticket: &str, credential: &str, properties: Properties) -> Stepped {
        let login =
            self.service.login_with_passkey(self.passkey_answer(ticket, credential, properties)).await;
        stepped(login, PageError::Passkey)
    }

    /// What the form brought of an authenticator.
    pub fn passkey_answer(&self, ticket: &str, credential: &str, properties: Properties) -> PasskeyAnswer {
        PasskeyAnswer {
            ticket: ticket.to_owned(),
            credential: credential.to_owned(),
            address: self.address,
            properties,
            device: device(self.headers).map(str::to_owned),
        }
    }
}
