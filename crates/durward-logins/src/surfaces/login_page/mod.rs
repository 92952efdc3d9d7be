//! The login pages: from data to the HTTP answer that shows it. What is posted, who signs in and which cookies there are is the affair of
//! whoever asks for a page; nothing here knows a session.
//!
//! [`LoginPages`] is loaded once, from `[identity.pages]`; [`LoginPages::render`] makes an answer of a [`Page`]. In the order of the flow:
//! `page` (what is asked for), `view` (HTML, by the templates in `templates/login_page/`), `text` (a text with holes, filled and
//! escaped), `answer` (the header fields). What a page is made with: `theme` (with `palette`, `colour`, `logo`, `style`), `languages`
//! (with `language`, `accept`), `script`. `preview` writes each page once, for the author of a theme.
//!
//! For whoever takes the forms:
//! - A page works without scripts. There is one (`passkey.js`), on pages that offer a passkey: it shows the button for it, and is let in by its
//!   hash. One style sheet stands in the page and is let in by its hash.
//! - `Referrer-Policy: no-referrer` has browsers send `Origin: null` with the forms. What shows that a form comes from a page of this
//!   server is the field `csrf` and `Sec-Fetch-Site: same-origin`.
//! - Chromium holds the redirects that follow a form to `form-action`: [`Page::redirect_uri`] lets the application's origin in. An
//!   application that redirects at once to yet another origin is stopped there.
//! - Nothing that a page shows needs to be escaped before.

mod accept;
mod answer;
mod colour;
mod file;
mod language;
mod languages;
mod logo;
mod page;
mod palette;
mod preview;
mod script;
mod style;
mod text;
mod theme;
mod view;

use bytes::Bytes;
use durward_common::surfaces::http::text_answer;
use durward_settings::{ConfigError, PagesSettings};
use http_body_util::Full;
use hyper::{Response, StatusCode};

pub use page::{Failure, NewPasswordRules, Page, PageError, PasskeyLine, Step, UpstreamFailure};
pub use preview::PreviewFile;

use answer::AnswerSettings;
use languages::Languages;
use style::Style;
use theme::Theme;
use view::Maker;

/// What users sign in to where nobody says it.
const PRODUCT: &str = "durward";

/// A theme and languages, ready to make pages with.
///
/// ```
/// use durward_settings::PagesSettings;
/// use durward_logins::surfaces::login_page::{LoginPages, Page, Step};
///
/// let pages = LoginPages::load(&PagesSettings::default())?;
/// let answer = pages.render(&Page::new("/login", "token", Step::Password), Some("de-AT, en;q=0.8"));
/// assert_eq!(answer.headers()["content-language"], "de");
/// # Ok::<(), durward_settings::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoginPages {
    theme: Theme,
    style: Style,
    languages: Languages,
    product: String,
    answers: AnswerSettings,
}

impl LoginPages {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// The first mistake in a file, with its line.
    pub fn load(settings: &PagesSettings) -> Result<LoginPages, ConfigError> {
        let theme = settings.theme.as_deref().map_or_else(|| Ok(Theme::default()), Theme::read)?;
        let languages = Languages::read(settings.languages.as_deref())?;
        if let Some(message) = settings.product.as_deref().and_then(theme::wrong_with_product) {
            return Err(ConfigError::of_setting("identity.pages.product", message));
        }
        let product = settings.product.clone().or_else(|| theme.product.clone());
        let (style, answers) = (Style::of(&theme), AnswerSettings { popups: settings.popups });
        let product = product.unwrap_or_else(|| PRODUCT.to_owned());
        Ok(LoginPages { theme, style, languages, product, answers })
    }

    /// What is allowed and not good, for the log at the start: colours that some cannot read, keys that a language lacks.
    pub fn warnings(&self) -> Vec<String> {
        self.theme.warnings.iter().chain(&self.languages.warnings).cloned().collect()
    }

    /// What users sign in to.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// The answer that shows a page, in the language that `Accept-Language` likes best.
    pub fn render(&self, page: &Page, accept_language: Option<&str>) -> Response<Full<Bytes>> {
        match self.html(page, accept_language) {
            Some((html, language)) => answer::answer(html, page, language, &self.style, self.answers),
            // No template fails: writing to memory does not.
            None => {
                let mut answer = text_answer("text/plain; charset=utf-8", "the page cannot be shown\n");
                *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                answer
            }
        }
    }

    /// The language that a reader likes best, of those that there are.
    pub fn language(&self, accept_language: Option<&str>) -> &str {
        self.languages.choose(accept_language).map_or("en", |language| language.tag.as_str())
    }

    /// A page as HTML, and the language it is in.
    fn html(&self, page: &Page, accept_language: Option<&str>) -> Option<(String, &str)> {
        let language = self.languages.choose(accept_language)?;
        let maker = Maker { theme: &self.theme, style: &self.style.css, product: &self.product, language };
        Some((maker.html(page).ok()?, language.tag.as_str()))
    }
}
