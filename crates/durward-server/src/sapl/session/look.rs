//! Finding the session of a token, and hearing what becomes of it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use durward_session::identity::session::{Refusal, Session};
use durward_session::identity::user::Account;
use durward_session::{Failed, Purpose, Service, SessionNews, Who};
use serde_json::json;
use smol_str::SmolStr;

use crate::sapl::Outcome;

/// How often a session is looked at that may end without being told: by lying unused, or by its time.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How soon it is tried again where this node could not say.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How many decisions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HowOften {
    /// The first: nothing that comes later is of interest.
    Once,
    /// Each that is new.
    Always,
}

/// A session that was found, and what is heard of it.
pub(super) struct Found {
    /// The subject that policies see, as JSON.
    pub(super) subject: String,
    pub(super) turn: Turning,
}

/// What has become of a session.
pub(super) enum Turn {
    /// It is over, or this node cannot say: what is decided then.
    Over(Outcome),
    /// What policies see of it is something else now.
    Changed,
    /// The node has stopped.
    Stopped,
}

/// Ready when something has become of the session.
pub(super) type Turning = Pin<Box<dyn Future<Output = Turn> + Send>>;

pub(super) type Finding = Pin<Box<dyn Future<Output = Result<Found, Outcome>> + Send>>;

/// Looks for the session. `how_often` says whether anything that becomes of it is of interest.
pub(super) fn find(service: Service, token: SmolStr, purpose: Purpose, how_often: HowOften) -> Finding {
    Box::pin(async move {
        let (who, session) = service.session(&token, purpose).await.map_err(|failed| outcome(&failed))?;
        let turn: Turning = match how_often {
            HowOften::Once => Box::pin(std::future::pending()),
            HowOften::Always => {
                let news = service.news_of(&who);
                // What came before somebody listened shows at a second look.
                if service.has_ended(&who) {
                    return Err(Outcome::Deny);
                }
                Box::pin(turn(service.clone(), token, news))
            }
        };
        let account = account(&service, &who).await?;
        Ok(Found { subject: subject(&who, &session, &account), turn })
    })
}

/// The same after a while, where this node could not say. That a stream stays open is no use of the session.
pub(super) fn find_again(service: Service, token: SmolStr) -> Finding {
    Box::pin(async move {
        loop {
            tokio::time::sleep(TRY_AGAIN_AFTER).await;
            match find(service.clone(), token.clone(), Purpose::Look, HowOften::Always).await {
                Err(Outcome::Indeterminate) => {}
                found => return found,
            }
        }
    })
}

/// Whoever is no user any more, or may not log in, has no say either.
async fn account(service: &Service, who: &Who) -> Result<Account, Outcome> {
    let account = service.account(&who.user).await.map_err(|failed| outcome(&failed))?;
    account.filter(|account| !account.disabled).ok_or(Outcome::Deny)
}

async fn turn(service: Service, token: SmolStr, mut news: SessionNews) -> Turn {
    loop {
        let is_told = tokio::select! {
            is_there = news.next() => {
                if !is_there {
                    return Turn::Stopped;
                }
                true
            }
            () = tokio::time::sleep(LOOK_EVERY) => false,
        };
        if let Err(refusal) = service.validate(&token, Purpose::Look).await {
            return Turn::Over(outcome(&Failed::Token(refusal)));
        }
        if is_told {
            return Turn::Changed;
        }
    }
}
/// The subject that policies see.
fn subject(who: &Who, session: &Session, account: &Account) -> String {
    let properties: serde_json::Map<String, serde_json::Value> =
        session.properties.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let document = json!({
        "user": who.user.subject(),
        "realm": who.user.realm(),
        "session": who.id.to_string(),
        "level": session.level.0,
        "groups": account.groups,
        "attributes": account.attributes,
        "properties": properties,
    });
    document.to_string()
}

/// What is decided for a token that is not accepted.
fn outcome(failed: &Failed) -> Outcome {
    match failed {
        Failed::Token(Refusal::Unavailable)
        | Failed::Directory(_)
        | Failed::Unavailable(_)
        | Failed::Unknown => Outcome::Indeterminate,
        Failed::Token(_)
        | Failed::Forbidden
        | Failed::NoSession
        | Failed::UnknownRealm
        | Failed::Code
        | Failed::Delayed { .. }
        | Failed::Properties(_) => Outcome::Deny,
    }
}
