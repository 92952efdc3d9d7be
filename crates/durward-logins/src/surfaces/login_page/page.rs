//! What a page is asked to show: data, as the flow that asks for it has it.

use durward_settings::IdentitySettings;
use hyper::StatusCode;

/// A page, and where its form goes.
///
/// Forms are sent with `POST` to `action`, as `application/x-www-form-urlencoded`, with the field `csrf` and those of the step.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where the form is sent: a path of this server.
    pub action: String,
    /// What comes back as the field `csrf`.
    pub csrf: String,
    /// Who signs in, as far as that is known: in the field of the first step, and shown in the later ones.
    pub username: Option<String>,
    /// What the user signs in for: the name of the application. [`Step::Consent`] has its own.
    pub client: Option<String>,
    /// What was wrong with the form that was sent before.
    pub error: Option<PageError>,
    /// Where the answer to the form may lead in the end: Chromium holds redirects that follow a form to `form-action`. Only its origin is
    /// used; an application of a device may have a scheme of its own.
    pub redirect_uri: Option<String>,
    /// What is wrong with a request that [`Step::Failed`] tells of: in English, for whoever makes the application.
    pub detail: Option<String>,
    /// What an authenticator is asked, where a passkey would do: the options for `navigator.credentials`, as JSON. A button of its own sends
    /// what it says as the field `passkey`, where the browser has scripts.
    pub passkey: Option<String>,
    /// Where the link leads for those who forgot their password, on the page that asks for it: a path of this server.
    pub forgot: Option<String>,
    /// The other providers at which the user may sign in, each with the value that its button sends as the field `upstream`, and the name that
    /// is shown: on [`Step::Password`], in a form of their own.
    pub upstreams: Vec<(String, String)>,
    /// Whether [`Step::Password`] has no fields: only the buttons of other providers and of passkeys.
    pub only_upstreams: bool,
    /// What is shown.
    pub step: Step,
}

impl Page {
    /// A page without anything that may be left out.
    pub fn new(action: impl Into<String>, csrf: impl Into<String>, step: Step) -> Page {
        let (action, csrf) = (action.into(), csrf.into());
        Page {
            action,
            csrf,
            username: None,
            client: None,
            error: None,
            redirect_uri: None,
            detail: None,
            passkey: None,
            forgot: None,
            upstreams: Vec::new(),
            only_upstreams: false,
            step,
        }
    }

    /// A page without a form: [`Step::SignedOut`], [`Step::Failed`].
    pub fn of(step: Step) -> Page {
        Page::new("", "", step)
    }
}

/// What is shown, and the fields that its form sends beside `csrf`.
#[derive(Clone, Debug)]
pub enum Step {
    /// `username`, `password`.
    Password,
    /// `code`: of an authenticator, or a recovery code.
    SecondStep,
    /// `passkey`: that of the user, as the second step. No other field.
    Passkey,
    /// `passkey`: a new one. No other field.
    NewPasskey,
    /// `password`; `name` with `add`, or `remove`.
    Passkeys {
        /// Those that there are.
        passkeys: Vec<PasskeyLine>,
    },
    /// No form: the passkeys are others now, and the session is over.
    PasskeysChanged,
    /// `password`: to set up the codes of an authenticator app.
    SecondStepOff,
    /// `code`: to remove them.
    SecondStepOn {
        /// How many recovery codes are left.
        codes_left: usize,
    },
    /// `code`: the first one of the device that is set up.
    NewSecondStep {
        /// What the device is told, as people type it.
        secret: String,
        /// The same as an address that authenticator apps open.
        uri: String,
    },
    /// No form: the codes are set up, and the session is over.
    RecoveryCodes {
        /// Those for when the device is lost: shown only now.
        codes: Vec<String>,
    },
    /// No form: the codes are removed, and the session is over.
    SecondStepRemoved,
    /// `new_password`, `new_password_again`.
    NewPassword {
        /// What the new one must be.
        rules: NewPasswordRules,
    },
    /// `username`, of whoever forgot their password.
    ForgotPassword,
    /// No form: a link was sent, or not; the page is the same.
    LinkSent,
    /// `new_password`, `new_password_again`, and `code` where that is needed: by a link, without the old password.
    ResetPassword {
        /// What the new one must be.
        rules: NewPasswordRules,
        /// Whether the user has a second step.
        needs_code: bool,
    },
    /// No form: the password was changed by a link.
    PasswordChanged,
    /// `consent`, which is `yes` or `no`.
    Consent {
        /// The name of the application.
        client: String,
        /// What it asks for, by the names of OAuth.
        scopes: Vec<String>,
        /// The services that it wants to call in the user's name (RFC 8707).
        resources: Vec<String>,
    },
    /// Nothing: whether to sign out is all that is asked.
    SignOut,
    /// No form.
    SignedOut {
        /// Where a button leads: an address of `https`, `http`, or a path of this server. Others are not shown.
        back: Option<String>,
    },
    /// No form: the browser goes on to another provider by itself, and by a button where it does not.
    Leave {
        /// What the provider is called.
        provider: String,
        /// Where it is: an address of `https`, or `http`.
        href: String,
    },
    /// No form: the browser goes back to the application by itself, and by a button where it does not.
    Return {
        /// Where it is: an address of `https`, or `http`.
        href: String,
    },
    /// No form: the user is not signed in by another provider.
    UpstreamFailed {
        /// What the provider is called.
        provider: String,
        /// Why.
        why: UpstreamFailure,
    },
    /// No form: there is nowhere to go on to.
    Failed {
        /// What went wrong.
        what: Failure,
        /// By what those who run the server find it in their logs: the request's identifier.
        reference: Option<String>,
    },
}

/// A passkey, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeyLine {
    /// What `remove` sends.
    pub id: String,
    /// What the user calls it.
    pub name: String,
}

/// Why another provider does not sign a user in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpstreamFailure {
    /// It cannot be asked; 503.
    Unavailable,
    /// What it said is not good, or it let nobody in; 403.
    Refused,
    /// Nobody here belongs to the account there; 403.
    Unknown,
    /// Somebody here has the name, and does not belong to the account there; 403.
    Taken,
}

impl UpstreamFailure {
    pub(super) fn status(self) -> StatusCode {
        match self {
            UpstreamFailure::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            UpstreamFailure::Refused | UpstreamFailure::Unknown | UpstreamFailure::Taken => {
                StatusCode::FORBIDDEN
            }
        }
    }
}

/// What a new password must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewPasswordRules {
    /// How many characters it has at least.
    pub length_min: usize,
    /// Whether those that are known from data breaches are refused.
    pub refuses_breached: bool,
}

impl NewPasswordRules {
    /// As users of this server must keep them.
    pub fn of(settings: &IdentitySettings) -> NewPasswordRules {
        NewPasswordRules {
            length_min: settings.password_length_min,
            refuses_breached: settings.breached_passwords_path.is_some(),
        }
    }
}

/// What was wrong with a form, which the user can mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// The name, or the password: which of the two is not said.
    Password,
    /// The code of the second step.
    Code,
    /// The passkey.
    Passkey,
    /// The name of a passkey is empty or too long.
    PasskeyName,
    /// The session has begun without the user's second step.
    SecondStepNeeded,
    /// Whoever tries must wait; the answer has the status 429 and `Retry-After`.
    TooMany {
        /// How long.
        wait_s: u64,
    },
    /// The new password has fewer characters than this.
    TooShort {
        /// The least.
        length_min: usize,
    },
    /// The new password is known from data breaches.
    Breached,
    /// The new password is the old one.
    Unchanged,
    /// The directory does not take the new password.
    NotTaken,
    /// The password must be changed, which is not possible here.
    PasswordOver,
    /// The new password was not repeated.
    Differ,
    /// The form was too old: `csrf` is not taken any more.
    Expired,
    /// The user has as many sessions as they may have.
    Full,
    /// The store or the directory cannot be asked; the answer has the status 503.
    Unavailable,
}

impl PageError {
    /// The field that it is about.
    pub(super) fn field(self) -> Option<&'static str> {
        match self {
            PageError::Password => Some("password"),
            PageError::Code => Some("code"),
            PageError::PasskeyName => Some("name"),
            PageError::TooShort { .. } | PageError::Breached | PageError::Unchanged | PageError::NotTaken => {
                Some("new_password")
            }
            PageError::Differ => Some("new_password_again"),
            PageError::Passkey
            | PageError::SecondStepNeeded
            | PageError::TooMany { .. }
            | PageError::PasswordOver
            | PageError::Expired
            | PageError::Full
            | PageError::Unavailable => None,
        }
    }

    /// A form that can be mended is shown again with 200, as browsers are used to.
    pub(super) fn status(self) -> StatusCode {
        match self {
            PageError::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            PageError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            PageError::Password
            | PageError::Code
            | PageError::Passkey
            | PageError::PasskeyName
            | PageError::SecondStepNeeded
            | PageError::TooShort { .. }
            | PageError::Breached
            | PageError::Unchanged
            | PageError::NotTaken
            | PageError::PasswordOver
            | PageError::Differ
            | PageError::Expired
            | PageError::Full => StatusCode::OK,
        }
    }
}

/// Why there is nowhere to go on to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A request of the application that cannot be answered; 400.
    BadRequest,
    /// No client has this identifier; 400.
    UnknownClient,
    /// The client has no such address to be sent back to; 400.
    BadRedirect,
    /// The login is too old, or was finished already; 400.
    Expired,
    /// The link to choose a password is over, was used, or is none; 400.
    LinkOver,
    /// The browser sent no cookie; 400.
    Cookies,
    /// Nobody is signed in here; 401.
    NotSignedIn,
    /// The user may not; 403.
    Denied,
    /// There is no such page; 404.
    NotFound,
    /// Something that is needed cannot be reached; 503.
    Unavailable,
    /// A fault of durward; 500.
    Internal,
}

impl Failure {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Failure::BadRequest
            | Failure::UnknownClient
            | Failure::BadRedirect
            | Failure::Expired
            | Failure::LinkOver
            | Failure::Cookies => StatusCode::BAD_REQUEST,
            Failure::NotSignedIn => StatusCode::UNAUTHORIZED,
            Failure::Denied => StatusCode::FORBIDDEN,
            Failure::NotFound => StatusCode::NOT_FOUND,
            Failure::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
