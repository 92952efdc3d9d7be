//! Pages as HTML: from the data of a page to the templates in `templates/login_page/`, which escape whatever they are given.

mod codes;
mod messages;
mod shown;

use std::borrow::Cow;

use askama::Template;
use askama::filters::HtmlSafe;

use self::shown::{Shown, shown};
use super::language::{Language, Texts};
use super::logo::Logo;
use super::page::{NewPasswordRules, Page, PageError, PasskeyLine, Step};
use super::script::SCRIPT;
use super::text::{Line, Text, Values};
use super::theme::Theme;

/// What all pages share.
struct Frame<'v> {
    language: &'v str,
    direction: &'static str,
    scheme: &'static str,
    title: String,
    style: &'v str,
    product: &'v str,
    logo: Option<&'v Logo>,
    logo_dark: Option<&'v Logo>,
    links_label: String,
    links: Vec<(&'v str, &'v str)>,
    script: Option<&'static str>,
    /// Where the browser goes on to by itself.
    leads_to: Option<&'v str>,
}

/// One field of a form.
#[derive(Template)]
#[template(path = "login_page/field.html")]
struct Field<'v> {
    name: &'static str,
    kind: &'static str,
    autocomplete: &'static str,
    label: Line<'v>,
    hint: Option<Line<'v>>,
    value: Option<&'v str>,
    is_wrong: bool,
    /// What else says something of it, by its identifier.
    described_by: Vec<&'static str>,
    has_focus: bool,
}

/// It is a template with its own escaping.
impl HtmlSafe for Field<'_> {}

/// What was wrong, and the field that it is about.
struct Problem<'v> {
    heading: Line<'v>,
    text: Line<'v>,
    field: Option<&'static str>,
}

/// The steps in which something is typed.
#[derive(Template)]
#[template(path = "login_page/form.html")]
struct FormView<'v> {
    frame: Frame<'v>,
    action: &'v str,
    csrf: &'v str,
    heading: Line<'v>,
    lead: Option<Line<'v>>,
    /// Who signs in, and the same as password managers read it.
    account: Option<(Line<'v>, &'v str)>,
    problem: Option<Problem<'v>>,
    rules: Vec<Line<'v>>,
    fields: Vec<Field<'v>>,
    /// Nothing where a passkey, or a login at another provider, is all that is asked for.
    submit: Option<Line<'v>>,
    passkey: Option<PasskeyView<'v>>,
    /// For those who forgot their password.
    forgot: Option<(Line<'v>, &'v str)>,
    or: Line<'v>,
    /// Of the buttons that lead to other providers: the value of each, and its text.
    upstreams: Vec<(&'v str, Line<'v>)>,
}

/// A button that asks an authenticator.
struct PasskeyView<'v> {
    options: &'v str,
    label: Line<'v>,
    failed: Line<'v>,
    no_script: Line<'v>,
}

/// The passkeys of a user, to be looked after.
#[derive(Template)]
#[template(path = "login_page/passkeys.html")]
struct PasskeysView<'v> {
    frame: Frame<'v>,
    action: &'v str,
    csrf: &'v str,
    heading: Line<'v>,
    lead: Line<'v>,
    account: Option<(Line<'v>, &'v str)>,
    problem: Option<Problem<'v>>,
    fields: Vec<Field<'v>>,
    add: Line<'v>,
    rows: Vec<PasskeyRow<'v>>,
}

struct PasskeyRow<'v> {
    id: &'v str,
    remove: Line<'v>,
}

#[derive(Template)]
#[template(path = "login_page/consent.html")]
struct ConsentView<'v> {
    frame: Frame<'v>,
    action: &'v str,
    csrf: &'v str,
    heading: Line<'v>,
    lead: Line<'v>,
    account: Option<Line<'v>>,
    problem: Option<Problem<'v>>,
    scopes_lead: Line<'v>,
    /// What the application may do, services last.
    scopes: Vec<Line<'v>>,
    yes: Line<'v>,
    no: Line<'v>,
}

/// What is only read.
#[derive(Template)]
#[template(path = "login_page/message.html")]
struct MessageView<'v> {
    frame: Frame<'v>,
    heading: Line<'v>,
    lead: Line<'v>,
    /// In English, whatever the page is in.
    detail: Option<Cow<'v, str>>,
    reference: Option<Line<'v>>,
    back: Option<(Line<'v>, &'v str)>,
}

/// What a page is made with.
pub(super) struct Maker<'v> {
    pub(super) theme: &'v Theme,
    pub(super) style: &'v str,
    pub(super) product: &'v str,
    pub(super) language: &'v Language,
}

impl<'v> Maker<'v> {
    /// The page as HTML.
    pub(super) fn html(&self, page: &Page) -> Result<String, askama::Error> {
        let shown = Shown::of(page, self.product);
        let values = shown.values();
        let said = Said { maker: self, page, values, texts: &self.language.texts };
        match &page.step {
            Step::Password => {
                let name = |(id, name): &'_ (String, String)| (id.clone(), self::shown(name).into_owned());
                let upstreams: Vec<(String, String)> = page.upstreams.iter().map(name).collect();
                said.password(&upstreams).render()
            }
            Step::SecondStep => said.second_step().render(),
            Step::Passkey => said.passkey_step().render(),
            Step::NewPasskey => said.new_passkey().render(),
            Step::Passkeys { passkeys } => {
                let names: Vec<Cow<'_, str>> = passkeys.iter().map(|one| self::shown(&one.name)).collect();
                said.passkeys(passkeys, &names).render()
            }
            Step::PasskeysChanged => said.passkeys_changed().render(),
            Step::SecondStepOff => said.second_step_off().render(),
            Step::SecondStepOn { codes_left } => {
                let count = codes_left.to_string();
                said.second_step_on(&count).render()
            }
            Step::NewSecondStep { secret, uri } => said.new_second_step(secret, uri).render(),
            Step::RecoveryCodes { codes } => said.recovery_codes(codes).render(),
            Step::SecondStepRemoved => {
                said.message(&said.texts.codes_removed_heading, &said.texts.codes_removed_lead).render()
            }
            Step::NewPassword { rules } => said.new_password(*rules).render(),
            Step::ForgotPassword => said.forgot_password().render(),
            Step::LinkSent => {
                said.message(&said.texts.link_sent_heading, &said.texts.link_sent_lead).render()
            }
            Step::ResetPassword { rules, needs_code } => said.reset_password(*rules, *needs_code).render(),
            Step::PasswordChanged => {
                said.message(&said.texts.password_changed_heading, &said.texts.password_changed_lead).render()
            }
            Step::Consent { scopes, resources, .. } => {
                let scopes: Vec<Cow<'_, str>> = scopes.iter().map(|scope| self::shown(scope)).collect();
                let resources: Vec<Cow<'_, str>> = resources.iter().map(|name| self::shown(name)).collect();
                said.consent(&scopes, &resources).render()
            }
            Step::SignOut => said.sign_out().render(),
            Step::SignedOut { back } => said.signed_out(back.as_deref()).render(),
            Step::Leave { href, .. } => said.go_on(href, &said.texts.leave_lead).render(),
            Step::Return { href } => said.go_on(href, &said.texts.return_lead).render(),
            Step::UpstreamFailed { why, .. } => {
                let detail = page.detail.as_deref().map(self::shown);
                said.upstream_failed(*why, detail).render()
            }
            Step::Failed { what, reference } => {
                let detail = page.detail.as_deref().map(self::shown);
                said.failed(*what, detail, reference.is_some()).render()
            }
        }
    }
}

/// One page, in one language.
struct Said<'p> {
    maker: &'p Maker<'p>,
    page: &'p Page,
    values: Values<'p>,
    texts: &'p Texts,
}

impl<'p> Said<'p> {
    fn line(&self, text: &'p Text) -> Line<'p> {
        text.fill(&self.values)
    }

    fn frame(&self, heading: &Line<'_>) -> Frame<'p> {
        let Maker { theme, style, language, .. } = *self.maker;
        let heading = heading.plain();
        let title = if self.page.error.is_some() {
            self.texts.title_error.fill(&Values { title: &heading, ..self.values }).plain()
        } else {
            heading
        };
        let tag = language.tag.as_str();
        Frame {
            language: tag,
            direction: language.direction.word(),
            scheme: theme.scheme.css(),
            title: format!("{title} – {}", self.values.product),
            style,
            product: self.values.product,
            logo: theme.logo.as_ref(),
            logo_dark: theme.logo_dark.as_ref(),
            links_label: self.line(&self.texts.links).plain(),
            links: theme.links.iter().map(|link| (link.text(tag), link.href.as_str())).collect(),
            script: self.page.passkey.as_ref().map(|_| SCRIPT),
            leads_to: None,
        }
    }

    /// What was wrong. It leads to its field where that is on the page.
    fn problem(&self, fields: &[Field<'_>]) -> Option<Problem<'p>> {
        let error = self.page.error?;
        let texts = self.texts;
        let text = match error {
            PageError::Password => &texts.error_password,
            PageError::Code => &texts.error_code,
            PageError::Passkey => &texts.error_passkey,
            PageError::PasskeyName => &texts.error_passkey_name,
            PageError::SecondStepNeeded => &texts.error_second_step,
            PageError::TooMany { .. } => &texts.error_too_many,
            PageError::TooShort { .. } => &texts.error_too_short,
            PageError::Breached => &texts.error_breached,
            PageError::Unchanged => &texts.error_unchanged,
            PageError::NotTaken => &texts.error_not_taken,
            PageError::PasswordOver => &texts.error_password_over,
            PageError::Differ => &texts.error_differ,
            PageError::Expired => &texts.error_expired,
            PageError::Full => &texts.error_full,
            PageError::Unavailable => &texts.error_unavailable,
        };
        let field = error.field().filter(|name| fields.iter().any(|field| field.name == *name));
        Some(Problem { heading: self.line(&texts.error_heading), text: self.line(text), field })
    }

    fn lead_to_client(&self) -> Option<Line<'p>> {
        self.page.client.as_ref().map(|_| self.line(&self.texts.password_lead))
    }

    fn account(&self) -> Option<(Line<'p>, &'p str)> {
        self.page.username.as_deref().map(|name| (self.line(&self.texts.account), name))
    }

    fn field(
        &self,
        name: &'static str,
        label: &'p Text,
        kind: &'static str,
        autocomplete: &'static str,
    ) -> Field<'p> {
        let is_wrong = self.page.error.and_then(PageError::field) == Some(name);
        let label = self.line(label);
        Field {
            name,
            kind,
            autocomplete,
            label,
            hint: None,
            value: None,
            is_wrong,
            described_by: Vec::new(),
            has_focus: is_wrong,
        }
    }

    fn form(
        &self,
        heading: &'p Text,
        lead: Option<Line<'p>>,
        mut fields: Vec<Field<'p>>,
        submit: Option<&'p Text>,
    ) -> FormView<'p> {
        for field in fields.iter_mut().filter(|field| field.is_wrong) {
            field.described_by.insert(0, "error");
        }
        // Whoever comes anew begins to type at once; whoever comes again begins where something is wrong.
        if !fields.iter().any(|field| field.has_focus)
            && let Some(first) = fields.iter_mut().find(|field| field.value.is_none())
        {
            first.has_focus = true;
        }
        let heading = self.line(heading);
        FormView {
            frame: self.frame(&heading),
            action: &self.page.action,
            csrf: &self.page.csrf,
            heading,
            lead,
            account: None,
            problem: self.problem(&fields),
            rules: Vec::new(),
            fields,
            submit: submit.map(|text| self.line(text)),
            passkey: self.passkey(&self.texts.passkey_use),
            forgot: None,
            or: self.line(&self.texts.upstream_or),
            upstreams: Vec::new(),
        }
    }

    fn passkey(&self, label: &'p Text) -> Option<PasskeyView<'p>> {
        let texts = self.texts;
        self.page.passkey.as_deref().map(|options| PasskeyView {
            options,
            label: self.line(label),
            failed: self.line(&texts.passkey_failed),
            no_script: self.line(&texts.passkey_no_script),
        })
    }

    /// The second step of a user who has a passkey alone.
    fn passkey_step(&self) -> FormView<'p> {
        let texts = self.texts;
        let lead = Some(self.line(&texts.passkey_lead));
        let form = self.form(&texts.passkey_heading, lead, Vec::new(), None);
        FormView { account: self.account(), ..form }
    }

    fn new_passkey(&self) -> FormView<'p> {
        let texts = self.texts;
        let lead = Some(self.line(&texts.new_passkey_lead));
        let form = self.form(&texts.new_passkey_heading, lead, Vec::new(), None);
        FormView { account: self.account(), passkey: self.passkey(&texts.new_passkey_submit), ..form }
    }

    fn passkeys(&self, passkeys: &'p [PasskeyLine], names: &'p [Cow<'p, str>]) -> PasskeysView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.passkeys_heading);
        let password = self.field("password", &texts.password, "password", "current-password");
        let mut name = self.field("name", &texts.passkeys_name, "text", "off");
        name.hint = Some(self.line(&texts.passkeys_name_hint));
        name.described_by.push("name-hint");
        let mut fields = vec![password, name];
        for field in fields.iter_mut().filter(|field| field.is_wrong) {
            field.described_by.insert(0, "error");
        }
        let rows = passkeys.iter().zip(names).map(|(PasskeyLine { id, .. }, passkey)| PasskeyRow {
            id,
            remove: texts.passkeys_remove.fill(&Values { passkey, ..self.values }),
        });
        PasskeysView {
            frame: self.frame(&heading),
            action: &self.page.action,
            csrf: &self.page.csrf,
            heading,
            lead: self.line(&texts.passkeys_lead),
            account: self.account(),
            problem: self.problem(&fields),
            fields,
            add: self.line(&texts.passkeys_add),
            rows: rows.collect(),
        }
    }

    fn password(&self, upstreams: &'p [(String, String)]) -> FormView<'p> {
        let texts = self.texts;
        let mut username = self.field("username", &texts.username, "text", "username");
        username.value = self.page.username.as_deref();
        username.is_wrong = self.page.error == Some(PageError::Password);
        let password = self.field("password", &texts.password, "password", "current-password");
        let (fields, submit, forgot) = if self.page.only_upstreams {
            (Vec::new(), None, None)
        } else {
            let forgot = self.page.forgot.as_deref().map(|place| (self.line(&texts.forgot_link), place));
            (vec![username, password], Some(&texts.password_submit), forgot)
        };
        let form = self.form(&texts.password_heading, self.lead_to_client(), fields, submit);
        let button = |(id, name): &'p (String, String)| {
            let text = texts.upstream_submit.fill(&Values { provider: name.as_str(), ..self.values });
            (id.as_str(), text)
        };
        FormView { forgot, upstreams: upstreams.iter().map(button).collect(), ..form }
    }

    fn forgot_password(&self) -> FormView<'p> {
        let texts = self.texts;
        let mut username = self.field("username", &texts.username, "text", "username");
        username.value = self.page.username.as_deref();
        let lead = Some(self.line(&texts.forgot_lead));
        self.form(&texts.forgot_heading, lead, vec![username], Some(&texts.forgot_submit))
    }

    fn code(&self) -> Field<'p> {
        let mut code = self.field("code", &self.texts.code, "text", "one-time-code");
        code.hint = Some(self.line(&self.texts.code_hint));
        code.described_by.push("code-hint");
        code
    }

    fn second_step(&self) -> FormView<'p> {
        let texts = self.texts;
        let lead = Some(self.line(&texts.code_lead));
        let form = self.form(&texts.code_heading, lead, vec![self.code()], Some(&texts.code_submit));
        FormView { account: self.account(), ..form }
    }

    fn new_password(&self, rules: NewPasswordRules) -> FormView<'p> {
        self.choose_password(rules, &self.texts.new_password_lead, None, &self.texts.new_password_submit)
    }

    fn reset_password(&self, rules: NewPasswordRules, needs_code: bool) -> FormView<'p> {
        let code = needs_code.then(|| self.code());
        self.choose_password(rules, &self.texts.reset_lead, code, &self.texts.reset_submit)
    }

    fn choose_password(
        &self,
        rules: NewPasswordRules,
        lead: &'p Text,
        code: Option<Field<'p>>,
        submit: &'p Text,
    ) -> FormView<'p> {
        let texts = self.texts;
        let field = |name, label| self.field(name, label, "password", "new-password");
        let mut password = field("new_password", &texts.new_password);
        let again = field("new_password_again", &texts.new_password_again);
        let mut said = Vec::new();
        if rules.length_min > 1 {
            said.push(self.line(&texts.new_password_length));
        }
        if rules.refuses_breached {
            said.push(self.line(&texts.new_password_breached));
        }
        if !said.is_empty() {
            password.described_by.push("rules");
        }
        let (lead, fields) = (Some(self.line(lead)), [password, again].into_iter().chain(code).collect());
        let form = self.form(&texts.new_password_heading, lead, fields, Some(submit));
        FormView { account: self.account(), rules: said, ..form }
    }

    fn consent(&self, scopes: &'p [Cow<'p, str>], resources: &'p [Cow<'p, str>]) -> ConsentView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.consent_heading);
        let in_words = |scope: &'p Cow<'p, str>| match self.maker.language.scopes.get(scope.as_ref()) {
            Some(text) => self.line(text),
            None => texts.scope_other.fill(&Values { scope, ..self.values }),
        };
        let for_service =
            |resource: &'p Cow<'p, str>| texts.consent_resource.fill(&Values { resource, ..self.values });
        let is_empty = scopes.is_empty() && resources.is_empty();
        let scopes_lead = if is_empty { &texts.consent_no_scopes } else { &texts.consent_scopes };
        ConsentView {
            frame: self.frame(&heading),
            action: &self.page.action,
            csrf: &self.page.csrf,
            heading,
            lead: self.line(&texts.consent_lead),
            account: self.account().map(|(line, _)| line),
            problem: self.problem(&[]),
            scopes_lead: self.line(scopes_lead),
            scopes: scopes.iter().map(in_words).chain(resources.iter().map(for_service)).collect(),
            yes: self.line(&texts.consent_yes),
            no: self.line(&texts.consent_no),
        }
    }

    fn sign_out(&self) -> FormView<'p> {
        let texts = self.texts;
        let lead = Some(self.line(&texts.sign_out_lead));
        let form = self.form(&texts.sign_out_heading, lead, Vec::new(), Some(&texts.sign_out_submit));
        FormView { account: self.account(), ..form }
    }
}
