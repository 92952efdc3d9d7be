//! The numbers of the header: what comes of a call, and what was decided.
//!
//! No code is the number of a permit: whoever takes one for the other lets nobody in.

use std::ffi::c_char;

use durward_embed::Outcome;

/// What comes of a call.
pub(crate) type durward_code = i32;

pub(crate) const DURWARD_OK: durward_code = 0;
pub(crate) const DURWARD_POLICIES: durward_code = 1;
pub(crate) const DURWARD_QUESTION: durward_code = 2;
pub(crate) const DURWARD_SYSTEM: durward_code = 3;
pub(crate) const DURWARD_MISUSE: durward_code = 4;
pub(crate) const DURWARD_UNSEEN: durward_code = 5;
pub(crate) const DURWARD_NOTHING: durward_code = 6;
pub(crate) const DURWARD_CLOSED: durward_code = 7;
pub(crate) const DURWARD_INTERNAL: durward_code = 8;

/// What was decided. Memory that somebody cleared says INDETERMINATE.
pub(crate) type durward_outcome = i32;

pub(crate) const DURWARD_INDETERMINATE: durward_outcome = 0;
pub(crate) const DURWARD_DENY: durward_outcome = 1;
pub(crate) const DURWARD_NOT_APPLICABLE: durward_outcome = 2;
pub(crate) const DURWARD_SUSPEND: durward_outcome = 3;
pub(crate) const DURWARD_PERMIT: durward_outcome = 200;

pub(crate) const fn number_of(outcome: Outcome) -> durward_outcome {
    match outcome {
        Outcome::Permit => DURWARD_PERMIT,
        Outcome::Deny => DURWARD_DENY,
        Outcome::Suspend => DURWARD_SUSPEND,
        Outcome::NotApplicable => DURWARD_NOT_APPLICABLE,
        Outcome::Indeterminate => DURWARD_INDETERMINATE,
    }
}

#[unsafe(no_mangle)]
extern "C" fn durward_outcome_name(outcome: durward_outcome) -> *const c_char {
    let name = match outcome {
        DURWARD_PERMIT => c"PERMIT",
        DURWARD_DENY => c"DENY",
        DURWARD_SUSPEND => c"SUSPEND",
        DURWARD_NOT_APPLICABLE => c"NOT_APPLICABLE",
        // What is no number of an outcome, too.
        _ => c"INDETERMINATE",
    };
    name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn outcomes_are_called_as_in_json() {
        use Outcome::{Deny, Indeterminate, NotApplicable, Permit, Suspend};
        for outcome in [Permit, Deny, Suspend, NotApplicable, Indeterminate] {
            let name = durward_outcome_name(number_of(outcome));
            // SAFETY: the name is a literal that ends with a zero.
            let name = unsafe { CStr::from_ptr(name) };
            assert_eq!(name.to_str(), Ok(outcome.as_str()));
        }
    }
}
