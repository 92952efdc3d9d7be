//! One line of an import file, and how it changes an account that exists already.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::account::{Account, SecondStep, root};
use super::password::StoredPassword;
use crate::session::User;
use crate::{IdentityError, Moment};

/// A user as a line of a file says it: the fields of an [`Account`]. What is not said, or is `null`, stays as it is with a user who
/// is there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportLine {
    /// The realm; the root realm, `/`, where none is said.
    #[serde(default = "root")]
    pub realm: String,
    /// The name in the realm.
    pub subject: String,
    /// The hash of the password. Another one than before ends the user's sessions.
    #[serde(default)]
    pub password: Option<StoredPassword>,
    /// Taken for the fields of an account to be the same, and not looked at: when a password came is known here, and nowhere else.
    #[serde(default)]
    pub password_since_ms: Option<u64>,
    /// Whether the user may not log in.
    #[serde(default)]
    pub disabled: Option<bool>,
    /// Whether the user must choose another password before they get a session.
    #[serde(default)]
    pub must_change_password: Option<bool>,
    /// Names and values, instead of all that there were.
    #[serde(default)]
    pub attributes: Option<BTreeMap<String, Vec<String>>>,
    /// What the user belongs to, instead of all that there was.
    #[serde(default)]
    pub groups: Option<Vec<String>>,
    /// The second step. Another one than before ends the user's sessions; that of the device which the user has already changes nothing: codes that were used stay used.
    #[serde(default)]
    pub second_step: Option<SecondStep>,
}

impl ImportLine {
    /// Whom it is about.
    ///
    /// # Errors
    /// The name is none.
    pub fn user(&self) -> Result<User, IdentityError> {
        User::new(&self.realm, &self.subject)
    }

    /// What is known of the user afterwards.
    pub(super) fn over(self, now: Moment, mut account: Account) -> Account {
        if let Some(password) = self.password.filter(|password| account.password.as_ref() != Some(password)) {
            account.set_password(password, now);
        }
        if let Some(step) = self.second_step.filter(|step| !is_of_same_device(step, &account)) {
            account.second_step = Some(step);
            account.end_sessions(now);
        }
        account.disabled = self.disabled.unwrap_or(account.disabled);
        account.must_change_password = self.must_change_password.unwrap_or(account.must_change_password);
        account.attributes = self.attributes.unwrap_or(account.attributes);
        account.groups = self.groups.unwrap_or(account.groups);
        account
    }
}

fn is_of_same_device(step: &SecondStep, account: &Account) -> bool {
    account.second_step.as_ref().is_some_and(|known| known.totp == step.totp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemEntropy;
    use crate::user::{RecoveryCodes, Totp};

    const NOW: Moment = Moment::from_ms(9_000);

    fn line(text: &str) -> ImportLine {
        serde_json::from_str(text).unwrap()
    }

    /// `{SHA}` of `secret`.
    fn known() -> Account {
        let text = r#"{"realm":"/","subject":"anna","password":"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=","password_since_ms":7,
            "disabled":true,"attributes":{"clearance":["2"]},"groups":["staff"]}"#;
        let mut account: Account = serde_json::from_str(text).unwrap();
        let totp = Totp::generate(&SystemEntropy).unwrap();
        let (_, recovery) = RecoveryCodes::generate(&SystemEntropy).unwrap();
        account.second_step = Some(SecondStep { totp, used: Some(5), recovery });
        account
    }

    #[test]
    fn what_a_line_does_not_say_stays_as_it_is() {
        let known = known();
        for text in [
            r#"{"realm":"/","subject":"anna"}"#,
            r#"{"realm":"/","subject":"anna","password":"{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}"#,
            r#"{"realm":"/","subject":"anna","password":null,"disabled":null,"second_step":null,"groups":null}"#,
            r#"{"subject":"anna","password_since_ms":1}"#,
        ] {
            assert_eq!(line(text).over(NOW, known.clone()), known, "{text}");
        }
    }

    #[test]
    fn what_a_line_says_is_in_the_place_of_what_there_was() {
        let text =
            r#"{"realm":"/","subject":"anna","disabled":false,"groups":[],"attributes":{"team":["a"]}}"#;
        let after = line(text).over(NOW, known());
        assert!(!after.disabled && after.groups.is_empty());
        assert_eq!(after.attributes, BTreeMap::from([("team".to_owned(), vec!["a".to_owned()])]));
    }

    #[test]
    fn a_line_marks_a_user_and_leaves_a_mark_that_it_does_not_name() {
        let marked = line(r#"{"subject":"anna","must_change_password":true}"#).over(NOW, known());
        assert!(marked.must_change_password);
        assert_eq!(line(r#"{"subject":"anna","groups":["staff"]}"#).over(NOW, marked.clone()), marked);
        let unmarked = line(r#"{"subject":"anna","must_change_password":false}"#).over(NOW, marked.clone());
        assert_eq!(unmarked, Account { must_change_password: false, ..marked });
    }

    #[test]
    fn another_password_counts_from_now_on() {
        let text = r#"{"realm":"/","subject":"anna","password":"{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ="}"#;
        let after = line(text).over(NOW, known());
        assert_eq!((after.password_since_ms, after.disabled), (9_000, true));
        assert_ne!(after.password, known().password);
    }

    #[test]
    fn codes_that_were_used_stay_used_unless_the_device_is_another() {
        let before = known();
        let step = before.second_step.clone().unwrap();
        let unused = SecondStep { used: None, ..step.clone() };
        let of = |second_step| ImportLine { second_step, ..line(r#"{"realm":"/","subject":"anna"}"#) };
        assert_eq!(of(Some(unused)).over(NOW, before.clone()).second_step, Some(step.clone()));
        let other = SecondStep { totp: Totp::generate(&SystemEntropy).unwrap(), used: None, ..step };
        let after = of(Some(other.clone())).over(NOW, before);
        assert_eq!(after.second_step, Some(other));
        assert_eq!((after.password_since_ms, after.password_given()), (9_000, Moment::from_ms(7)));
    }
}
