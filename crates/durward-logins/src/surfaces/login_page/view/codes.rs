//! The pages where users look after the codes of their authenticator app.

use askama::Template;

use super::{Field, FormView, Frame, Problem, Said};
use crate::surfaces::login_page::text::{Line, Values};

/// A device that is set up: what it is told, and the field for its first code.
#[derive(Template)]
#[template(path = "login_page/new_codes.html")]
pub(super) struct NewCodesView<'v> {
    frame: Frame<'v>,
    action: &'v str,
    csrf: &'v str,
    heading: Line<'v>,
    lead: Line<'v>,
    account: Option<(Line<'v>, &'v str)>,
    problem: Option<Problem<'v>>,
    secret_label: Line<'v>,
    secret: &'v str,
    uri: &'v str,
    open: Line<'v>,
    fields: Vec<Field<'v>>,
    submit: Line<'v>,
}

/// Codes for when the device is lost.
#[derive(Template)]
#[template(path = "login_page/recovery_codes.html")]
pub(super) struct RecoveryCodesView<'v> {
    frame: Frame<'v>,
    heading: Line<'v>,
    lead: Line<'v>,
    codes: &'v [String],
}

impl<'p> Said<'p> {
    /// To set up codes wants the password.
    pub(super) fn second_step_off(&self) -> FormView<'p> {
        let texts = self.texts;
        let password = self.field("password", &texts.password, "password", "current-password");
        let lead = Some(self.line(&texts.codes_off_lead));
        let form = self.form(&texts.codes_heading, lead, vec![password], Some(&texts.codes_off_submit));
        FormView { account: self.account(), ..form }
    }

    /// To remove them wants one of them, or a recovery code.
    pub(super) fn second_step_on(&self, count: &'p str) -> FormView<'p> {
        let texts = self.texts;
        let lead = Some(texts.codes_on_lead.fill(&Values { count, ..self.values }));
        let form = self.form(&texts.codes_heading, lead, vec![self.code()], Some(&texts.codes_on_submit));
        FormView { account: self.account(), ..form }
    }

    pub(super) fn new_second_step(&self, secret: &'p str, uri: &'p str) -> NewCodesView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.new_codes_heading);
        let mut code = self.field("code", &texts.code, "text", "one-time-code");
        if code.is_wrong {
            code.described_by.push("error");
        }
        let fields = vec![code];
        NewCodesView {
            frame: self.frame(&heading),
            action: &self.page.action,
            csrf: &self.page.csrf,
            heading,
            lead: self.line(&texts.new_codes_lead),
            account: self.account(),
            problem: self.problem(&fields),
            secret_label: self.line(&texts.new_codes_secret),
            secret,
            uri,
            open: self.line(&texts.new_codes_open),
            fields,
            submit: self.line(&texts.new_codes_submit),
        }
    }

    pub(super) fn recovery_codes(&self, codes: &'p [String]) -> RecoveryCodesView<'p> {
        let heading = self.line(&self.texts.recovery_heading);
        let lead = self.line(&self.texts.recovery_lead);
        RecoveryCodesView { frame: self.frame(&heading), heading, lead, codes }
    }
}
