//! Passkeys in a login by forms: what the page asks an authenticator is tied to the form, and so to the browser.

use durward_session::{PasskeyAnswer, PasskeyRequest};

use super::interaction::{Interaction, Stage, logged_in, page, with_session};
use super::{BrowserRequest, Message};
use crate::access::issued::subject;
use crate::surfaces::http::Answer;
use crate::surfaces::http::cookies::device;
use crate::surfaces::login_forms::steps::{of_failed, stepped};
use crate::surfaces::login_page::PageError;

/// The field in which the page sends what an authenticator said.
const FIELD: &str = "passkey";

/// What the page of this stage may ask an authenticator. Nothing where a passkey would not do.
pub(super) fn begin(request: &BrowserRequest<'_>, interaction: &Interaction) -> Option<PasskeyRequest> {
    let begun = match &interaction.stage {
        Stage::Password => request.service.begin_passkey_login(),
        Stage::Code(challenge) => request.service.begin_passkey_step(challenge),
        Stage::StepUp => {
            let user = subject::read(interaction.user.as_deref()?)?;
            request.service.begin_passkey_step_up_of(&user)
        }
        Stage::NewPassword(_) | Stage::Consent => return None,
    };
    // Without randomness there is no button, and the form is there.
    begun.ok().flatten()
}

/// What the authenticator said, where the form brings that.
pub(super) fn credential<'r>(request: &'r BrowserRequest<'_>) -> Option<&'r str> {
    request.parameters.get(FIELD).filter(|credential| !credential.is_empty())
}

/// Goes on with a login by a passkey.
pub(super) async fn login(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    credential: &str,
) -> Answer {
    if interaction.stage == Stage::Password {
        interaction.upstream = None;
    }
    let Some(answer) = answer_of(request, &interaction, credential) else {
        return request.message(Message::Over);
    };
    let login = request.service.login_with_passkey(answer).await;
    logged_in(request, interaction, stepped(login, PageError::Passkey)).await
}

/// Raises the level of the browser's session.
pub(super) async fn step_up(
    request: &BrowserRequest<'_>,
    interaction: Interaction,
    session: &str,
    credential: &str,
) -> Answer {
    let Some(answer) = answer_of(request, &interaction, credential) else {
        return request.message(Message::Over);
    };
    match request.service.step_up_with_passkey(session, answer).await {
        Ok(granted) => with_session(request, interaction, &granted).await,
        Err(failed) => page(request, &interaction, Some(of_failed(&failed, PageError::Passkey))),
    }
}

fn answer_of(
    request: &BrowserRequest<'_>,
    interaction: &Interaction,
    credential: &str,
) -> Option<PasskeyAnswer> {
    Some(PasskeyAnswer {
        ticket: interaction.passkey.clone()?,
        credential: credential.to_owned(),
        address: request.address,
        properties: interaction.properties(),
        device: device(request.headers).map(str::to_owned),
    })
}
