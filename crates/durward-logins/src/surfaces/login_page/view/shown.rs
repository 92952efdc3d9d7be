//! Names and numbers as they are shown on a page, whoever chose them.

use std::borrow::Cow;

use durward_pdp::ir::direction::turns_direction;

use super::super::page::{Page, PageError, Step};
use super::super::text::Values;

/// Most characters that are shown of a name; what sends more wants to look like something else.
const NAME_LENGTH_MAX: usize = 120;

/// Names and numbers of a page, as they are shown.
pub(super) struct Shown<'p> {
    product: Cow<'p, str>,
    client: Cow<'p, str>,
    user: Cow<'p, str>,
    reference: Cow<'p, str>,
    provider: Cow<'p, str>,
    length: String,
    wait: String,
}

impl<'p> Shown<'p> {
    pub(super) fn of(page: &'p Page, product: &'p str) -> Shown<'p> {
        let client = match &page.step {
            Step::Consent { client, .. } => client.as_str(),
            Step::Password
            | Step::SecondStep
            | Step::Passkey
            | Step::NewPasskey
            | Step::Passkeys { .. }
            | Step::PasskeysChanged
            | Step::SecondStepOff
            | Step::SecondStepOn { .. }
            | Step::NewSecondStep { .. }
            | Step::RecoveryCodes { .. }
            | Step::SecondStepRemoved
            | Step::NewPassword { .. }
            | Step::ForgotPassword
            | Step::LinkSent
            | Step::ResetPassword { .. }
            | Step::PasswordChanged
            | Step::SignOut
            | Step::SignedOut { .. }
            | Step::Leave { .. }
            | Step::Return { .. }
            | Step::UpstreamFailed { .. }
            | Step::Failed { .. } => page.client.as_deref().unwrap_or_default(),
        };
        let mut reference = "";
        if let Step::Failed { reference: Some(said), .. } = &page.step {
            reference = said;
        }
        let mut provider = "";
        if let Step::Leave { provider: said, .. } | Step::UpstreamFailed { provider: said, .. } = &page.step {
            provider = said;
        }
        let length = match (&page.step, page.error) {
            (_, Some(PageError::TooShort { length_min })) => length_min,
            (Step::NewPassword { rules } | Step::ResetPassword { rules, .. }, _) => rules.length_min,
            _ => 0,
        };
        let mut until = String::new();
        if let Some(PageError::TooMany { wait_s }) = page.error {
            until = wait(wait_s);
        }
        Shown {
            product: shown(product),
            client: shown(client),
            user: shown(page.username.as_deref().unwrap_or_default()),
            reference: shown(reference),
            provider: shown(provider),
            length: length.to_string(),
            wait: until,
        }
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values {
            product: &self.product,
            client: &self.client,
            user: &self.user,
            reference: &self.reference,
            provider: &self.provider,
            length: &self.length,
            wait: &self.wait,
            ..Values::default()
        }
    }
}

/// A name as it may be shown: nothing in it turns the direction of what stands around it, or is not seen; and no book.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    let is_odd = |character: char| turns_direction(character) || character.is_control();
    let is_long = name.chars().nth(NAME_LENGTH_MAX).is_some();
    if !is_long && !name.contains(is_odd) {
        return Cow::Borrowed(name);
    }
    let mut text: String =
        name.chars().take(NAME_LENGTH_MAX).map(|it| if is_odd(it) { '\u{fffd}' } else { it }).collect();
    if is_long {
        text.push('…');
    }
    Cow::Owned(text)
}

/// A span in units that are the same in all languages.
fn wait(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{} s", seconds.max(1)),
        more => format!("{} min", more.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_turn_what_stands_around_them_do_not() {
        assert_eq!(shown("שלום"), "שלום");
        assert_eq!(shown("a\u{202e}b\u{2069}c\nd\0"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}");
        assert_eq!(shown(&"ü".repeat(500)).chars().count(), NAME_LENGTH_MAX + 1);
        assert!(matches!(shown("Anna"), Cow::Borrowed("Anna")));
    }

    #[test]
    fn a_wait_is_never_told_shorter_than_it_is() {
        assert_eq!([0, 1, 90, 91, 120, 121].map(wait), ["1 s", "1 s", "90 s", "2 min", "2 min", "3 min"]);
    }
}
