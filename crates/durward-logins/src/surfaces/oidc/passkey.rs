//! Passkeys in a login for an application: which of its stages may ask for one, and what follows.

use durward_common::access::issued::subject;
use durward_common::surfaces::http::Answer;
use durward_session::PasskeyRequest;

use super::interaction::{Interaction, Stage, logged_in, page, sender, with_session};
use super::{BrowserRequest, Message};
use crate::surfaces::login_forms::steps::of_failed;
use crate::surfaces::login_page::PageError;

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

/// Goes on with a login by a passkey.
pub(super) async fn login(
    request: &BrowserRequest<'_>,
    mut interaction: Interaction,
    credential: &str,
) -> Answer {
    if interaction.stage == Stage::Password {
        interaction.upstream = None;
    }
    let Some(ticket) = interaction.passkey.clone() else { return request.message(Message::Over) };
    let stepped = sender(request).passkey(&ticket, credential, interaction.properties()).await;
    logged_in(request, interaction, stepped).await
}

/// Raises the level of the browser's session.
pub(super) async fn step_up(
    request: &BrowserRequest<'_>,
    interaction: Interaction,
    session: &str,
    credential: &str,
) -> Answer {
    let Some(ticket) = interaction.passkey.clone() else { return request.message(Message::Over) };
    let answer = sender(request).passkey_answer(&ticket, credential, interaction.properties());
    match request.service.step_up_with_passkey(session, answer).await {
        Ok(granted) => with_session(request, interaction, &granted).await,
        Err(failed) => page(request, &interaction, Some(of_failed(&failed, PageError::Passkey))),
    }
}
