//! Which callers may say who a question is about. A token says it by itself: whoever is named by one is judged by it alone. All else is
//! a caller's assertion, and where there are users, not every caller is believed.

use std::fmt;

use durward_pdp::ir::Value;
use durward_settings::{IdentitySettings, SubjectsAssertedBy};

use super::{Subjects, document};
use crate::access::auth::Identity;

/// Stands before whatever decides, on every surface.
#[derive(Clone)]
pub struct Fence {
    /// Who shows tokens, where there are any.
    subjects: Option<Subjects>,
    /// Nothing where there are no users: all subjects are asserted then.
    asserted_by: Option<SubjectsAssertedBy>,
}

/// Why nothing is decided about a subject. It is the caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectError {
    /// It names a token and says more, or names something that is none.
    Mixed,
    /// It names a token that is bound to a key, and the caller may not say that the key was shown.
    Bound,
    /// It names no token, and the caller may not assert who it is.
    Asserted,
}

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SubjectError::Mixed => {
                "a subject that is named by a token is `{\"session\": \"TOKEN\"}` or `{\"jwt\": \"TOKEN\"}`, and nothing else: \
                 leave the rest out"
            }
            SubjectError::Bound => {
                "the token is bound to a key (`cnf`), and this caller may not vouch for its proof; see `oauth.bound_subjects` and \
                 `identity.subjects_asserted_by`"
            }
            SubjectError::Asserted => {
                "a subject is named by a token here, `{\"session\": \"TOKEN\"}`, and this caller may not assert who it is; see \
                 `identity.subjects_asserted_by`"
            }
        })
    }
}

impl Fence {
    /// `subjects` are those who show tokens.
    pub fn new(settings: &IdentitySettings, subjects: Option<&Subjects>) -> Fence {
        let asserted_by = settings.is_on().then_some(settings.subjects_asserted_by);
        Fence { subjects: subjects.cloned(), asserted_by }
    }

    /// Whether a caller may say who a question is about; `None` is a caller of whom nothing is known.
    pub fn lets_assert(&self, caller: Option<&Identity>) -> bool {
        match self.asserted_by {
            None | Some(SubjectsAssertedBy::DangerAnybody) => true,
            Some(SubjectsAssertedBy::Authenticated) => caller.is_some_and(Identity::is_authenticated),
            Some(SubjectsAssertedBy::MarkedUsers) => caller.is_some_and(|caller| caller.may_assert_subjects),
        }
    }

    /// Looks at a subject whose credentials the surface has verified. What is known of it is data, and never read as a token.
    ///
    /// # Errors
    /// It has a member that would be.
    pub fn check_verified(&self, subject: &Value) -> Result<(), SubjectError> {
        let Value::Object(members) = subject else { return Ok(()) };
        let has_token = document::TOKENS.iter().any(|name| members.contains_key(name));
        if has_token { Err(SubjectError::Mixed) } else { Ok(()) }
    }

    /// Looks at the subject of a subscription. One that is not there, or null, says nothing.
    ///
    /// # Errors
    /// It mixes a token with something else, is asserted by a caller who may not, or is a token that such a caller may not bring.
    pub fn check(&self, subject: &Value, caller: &Identity) -> Result<(), SubjectError> {
        if let (Some(subjects), Value::Object(members)) = (&self.subjects, subject)
            && subjects.token_names().any(|name| members.contains_key(name))
        {
            return match document::shown(subject) {
                Some(shown) if subjects.needs_voucher(&shown) && !self.lets_assert(Some(caller)) => {
                    Err(SubjectError::Bound)
                }
                Some(_) => Ok(()),
                None => Err(SubjectError::Mixed),
            };
        }
        let says_nothing = matches!(subject, Value::Undefined | Value::Null);
        if says_nothing || self.lets_assert(Some(caller)) { Ok(()) } else { Err(SubjectError::Asserted) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn lets(asserted_by: SubjectsAssertedBy) -> [bool; 4] {
        let users = Some(PathBuf::from("users"));
        let settings =
            IdentitySettings { users, subjects_asserted_by: asserted_by, ..IdentitySettings::default() };
        let fence = Fence::new(&settings, None);
        let plain = Identity::of_test("t", "n");
        let mut marked = plain.clone();
        marked.may_assert_subjects = true;
        let nobody = Identity::of_nobody("t");
        [None, Some(&nobody), Some(&plain), Some(&marked)].map(|caller| fence.lets_assert(caller))
    }

    #[test]
    fn who_may_assert_is_what_the_setting_says() {
        assert_eq!(lets(SubjectsAssertedBy::MarkedUsers), [false, false, false, true]);
        assert_eq!(lets(SubjectsAssertedBy::Authenticated), [false, false, true, true]);
        assert_eq!(lets(SubjectsAssertedBy::DangerAnybody), [true; 4]);
    }

    #[test]
    fn without_users_everybody_asserts_and_by_default_nobody_does_where_there_are_some() {
        let fence = Fence::new(&IdentitySettings::default(), None);
        assert!(fence.lets_assert(None));
        let settings =
            IdentitySettings { users: Some(PathBuf::from("users")), ..IdentitySettings::default() };
        let fence = Fence::new(&settings, None);
        let caller = Identity::of_test("t", "n");
        assert_eq!(fence.check(&Value::text("anna"), &caller), Err(SubjectError::Asserted));
        assert_eq!(fence.check(&Value::Null, &caller), Ok(()));
    }
}
