//! Each page once, in each language, for the author of a theme: `durward pages preview`.

use askama::Template;

use super::page::{Failure, NewPasswordRules, Page, PageError, PasskeyLine, Step, UpstreamFailure};
use super::{LoginPages, style::Style};

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewFile {
    /// Its name, such as `en-password.html`.
    pub name: String,
    /// What it holds.
    pub html: String,
}

/// The page that leads to the others.
#[derive(Template)]
#[template(path = "login_page/preview.html")]
struct PreviewIndex<'v> {
    style: &'v str,
    product: &'v str,
    languages: Vec<(&'v str, Vec<PreviewFile>)>,
}

impl LoginPages {
    /// Each page once, in each language, and `index.html`, which leads to them. Names and errors in them are made up.
    pub fn preview(&self) -> Vec<PreviewFile> {
        let mut languages = Vec::new();
        for tag in self.languages.tags() {
            let file = |(name, page): (&str, Page)| {
                let (html, _) = self.html(&page, Some(tag))?;
                Some(PreviewFile { name: format!("{tag}-{name}.html"), html })
            };
            languages.push((tag, samples().into_iter().filter_map(file).collect::<Vec<_>>()));
        }
        let Style { css, .. } = &self.style;
        let index = PreviewIndex { style: css, product: &self.product, languages };
        let html = index.render().unwrap_or_default();
        let pages = index.languages.into_iter().flat_map(|(_, files)| files);
        std::iter::once(PreviewFile { name: "index.html".to_owned(), html }).chain(pages).collect()
    }
}

/// Pages as users come to see them.
fn samples() -> Vec<(&'static str, Page)> {
    let rules = NewPasswordRules { length_min: 8, refuses_breached: true };
    let scopes = ["openid", "profile", "email", "offline_access", "orders:read"].map(str::to_owned).to_vec();
    let resources = vec!["https://orders.example.org/".to_owned()];
    let client = "Example Shop".to_owned();
    let page = |step| Page { client: Some(client.clone()), ..Page::new("#", "", step) };
    let known = |step| Page { username: Some("anna".to_owned()), ..page(step) };
    let wrong = |error, page| Page { error: Some(error), ..page };
    let failed = |what| page(Step::Failed { what, reference: Some("4711-0815".to_owned()) });
    let provider = "Example Company".to_owned();
    let upstreams = vec![("company".to_owned(), provider.clone()), ("other".to_owned(), "Other".to_owned())];
    let with_upstreams = |page| Page { upstreams: upstreams.clone(), ..page };
    let back = Some("https://shop.example.org/".to_owned());
    // Shown where there are scripts; it asks for nothing that could be answered.
    let with_passkey = |page| Page { passkey: Some("{\"challenge\":\"\"}".to_owned()), ..page };
    let mine = vec![PasskeyLine { id: "0123456789abcdef".to_owned(), name: "my phone".to_owned() }];
    // That of RFC 6238, appendix B: nobody's.
    let secret = "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ";
    let uri = "otpauth://totp/Example%20Portal:anna?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    let device = || Step::NewSecondStep { secret: secret.to_owned(), uri: uri.to_owned() };
    let codes = ["ABCD-EFGH-IJKL-MNOP", "QRST-UVWX-YZ23-4567"].map(str::to_owned).to_vec();
    vec![
        ("password", page(Step::Password)),
        ("password-or-passkey", with_passkey(page(Step::Password))),
        ("password-forgot", Page { forgot: Some("#".to_owned()), ..page(Step::Password) }),
        ("password-upstreams", with_upstreams(page(Step::Password))),
        ("only-upstreams", Page { only_upstreams: true, ..with_upstreams(page(Step::Password)) }),
        ("password-wrong", wrong(PageError::Password, known(Step::Password))),
        ("password-too-many", wrong(PageError::TooMany { wait_s: 240 }, known(Step::Password))),
        ("second-step", known(Step::SecondStep)),
        ("second-step-wrong", wrong(PageError::Code, known(Step::SecondStep))),
        ("passkey", with_passkey(known(Step::Passkey))),
        ("new-passkey", with_passkey(known(Step::NewPasskey))),
        ("passkeys", known(Step::Passkeys { passkeys: mine })),
        ("passkeys-changed", page(Step::PasskeysChanged)),
        ("second-step-off", known(Step::SecondStepOff)),
        ("second-step-on", known(Step::SecondStepOn { codes_left: 10 })),
        ("new-second-step", known(device())),
        ("new-second-step-wrong", wrong(PageError::Code, known(device()))),
        ("recovery-codes", page(Step::RecoveryCodes { codes })),
        ("second-step-removed", page(Step::SecondStepRemoved)),
        ("new-password", known(Step::NewPassword { rules })),
        (
            "new-password-wrong",
            wrong(PageError::TooShort { length_min: 8 }, known(Step::NewPassword { rules })),
        ),
        ("forgot-password", page(Step::ForgotPassword)),
        ("link-sent", page(Step::LinkSent)),
        ("reset-password", known(Step::ResetPassword { rules, needs_code: true })),
        ("password-changed", page(Step::PasswordChanged)),
        ("consent", known(Step::Consent { client: client.clone(), scopes, resources })),
        ("sign-out", known(Step::SignOut)),
        ("signed-out", page(Step::SignedOut { back })),
        ("leave", page(Step::Leave { provider: provider.clone(), href: "#".to_owned() })),
        ("failed-upstream-taken", page(Step::UpstreamFailed { provider, why: UpstreamFailure::Taken })),
        ("failed-unknown-client", failed(Failure::UnknownClient)),
        ("failed-link", failed(Failure::LinkOver)),
        ("failed-expired", failed(Failure::Expired)),
    ]
}
