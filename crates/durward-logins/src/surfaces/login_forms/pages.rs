//! Pages that are no step of a login.

use crate::surfaces::login_page::{Failure, Page, Step};

/// A page without a form, or with a button only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The request cannot be granted, and the application cannot be told. The reason is for its developer.
    Impossible(String),
    /// The form was too old, or of another browser.
    Over,
    /// The user may not log in.
    Denied,
    /// It cannot be done at the moment.
    Unavailable,
    /// Whether to log out: a form that sends `csrf` back.
    LogoutAsked {
        /// Where the form is posted to.
        action: String,
        /// What the form sends back: the session that would end, sealed.
        csrf: String,
        /// Where the browser is sent then.
        redirect_uri: Option<String>,
    },
    /// The session has ended.
    LoggedOut,
    /// The link to choose a password is over, was used, or is none.
    LinkOver,
    /// A link was asked for.
    LinkSent,
    /// A password was chosen by a link.
    PasswordChanged,
}

impl Message {
    /// The page that says so.
    pub fn page(self) -> Page {
        let failed = |what| Page::of(Step::Failed { what, reference: None });
        match self {
            Message::Impossible(why) => Page { detail: Some(why), ..failed(Failure::BadRequest) },
            Message::Over => failed(Failure::Expired),
            Message::Denied => failed(Failure::Denied),
            Message::Unavailable => failed(Failure::Unavailable),
            Message::LogoutAsked { action, csrf, redirect_uri } => {
                Page { redirect_uri, ..Page::new(action, csrf, Step::SignOut) }
            }
            Message::LinkOver => failed(Failure::LinkOver),
            Message::LinkSent => Page::of(Step::LinkSent),
            Message::PasswordChanged => Page::of(Step::PasswordChanged),
            Message::LoggedOut => Page::of(Step::SignedOut { back: None }),
        }
    }
}
