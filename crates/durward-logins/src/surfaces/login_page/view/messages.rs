//! Pages on which nothing is typed: how something ended, and where it goes on.

use std::borrow::Cow;

use super::super::page::{Failure, UpstreamFailure};
use super::super::text::Text;
use super::super::theme::leads_somewhere;
use super::{Frame, MessageView, Said};

impl<'p> Said<'p> {
    pub(super) fn passkeys_changed(&self) -> MessageView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.passkeys_changed_heading);
        let lead = self.line(&texts.passkeys_changed_lead);
        MessageView { frame: self.frame(&heading), heading, lead, detail: None, reference: None, back: None }
    }

    pub(super) fn message(&self, heading: &'p Text, lead: &'p Text) -> MessageView<'p> {
        let heading = self.line(heading);
        MessageView {
            frame: self.frame(&heading),
            heading,
            lead: self.line(lead),
            detail: None,
            reference: None,
            back: None,
        }
    }

    pub(super) fn signed_out(&self, back: Option<&'p str>) -> MessageView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.signed_out_heading);
        let back = back.filter(|back| leads_somewhere(back));
        MessageView {
            frame: self.frame(&heading),
            heading,
            lead: self.line(&texts.signed_out_lead),
            detail: None,
            reference: None,
            back: back.map(|back| (self.line(&texts.signed_out_back), back)),
        }
    }

    /// WCAG 2.2 has this way to go on without a script (technique H76). It is no redirect after a form, to which Chromium would apply
    /// `form-action`: nobody knows where a provider sends browsers next.
    pub(super) fn go_on(&self, href: &'p str, lead: &'p Text) -> MessageView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.leave_heading);
        let href = Some(href).filter(|href| leads_somewhere(href));
        MessageView {
            frame: Frame { leads_to: href, ..self.frame(&heading) },
            heading,
            lead: self.line(lead),
            detail: None,
            reference: None,
            back: href.map(|href| (self.line(&texts.leave_submit), href)),
        }
    }

    pub(super) fn upstream_failed(
        &self,
        why: UpstreamFailure,
        detail: Option<Cow<'p, str>>,
    ) -> MessageView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.failed_heading);
        let lead = match why {
            UpstreamFailure::Unavailable => &texts.failed_upstream_unavailable,
            UpstreamFailure::Refused => &texts.failed_upstream_refused,
            UpstreamFailure::Unknown => &texts.failed_upstream_unknown,
            UpstreamFailure::Taken => &texts.failed_upstream_taken,
        };
        let frame = self.frame(&heading);
        MessageView { frame, heading, lead: self.line(lead), detail, reference: None, back: None }
    }

    pub(super) fn failed(
        &self,
        what: Failure,
        detail: Option<Cow<'p, str>>,
        has_reference: bool,
    ) -> MessageView<'p> {
        let texts = self.texts;
        let heading = self.line(&texts.failed_heading);
        let lead = match what {
            Failure::BadRequest => &texts.failed_bad_request,
            Failure::UnknownClient => &texts.failed_unknown_client,
            Failure::BadRedirect => &texts.failed_bad_redirect,
            Failure::Expired => &texts.failed_expired,
            Failure::LinkOver => &texts.failed_link,
            Failure::Cookies => &texts.failed_cookies,
            Failure::NotSignedIn => &texts.failed_not_signed_in,
            Failure::Denied => &texts.failed_denied,
            Failure::NotFound => &texts.failed_not_found,
            Failure::Unavailable => &texts.failed_unavailable,
            Failure::Internal => &texts.failed_internal,
        };
        MessageView {
            frame: self.frame(&heading),
            heading,
            lead: self.line(lead),
            detail,
            reference: has_reference.then(|| self.line(&texts.failed_reference)),
            back: None,
        }
    }
}
