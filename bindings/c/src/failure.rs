//! Why a call failed: a code, and a message in the words of `durward-embed`.

use std::ffi::c_char;
use std::fmt::Display;

use durward_embed::{LoadError, QuestionError};

use crate::answer::Text;
use crate::border;
use crate::code::{
    DURWARD_INTERNAL, DURWARD_MISUSE, DURWARD_OK, DURWARD_POLICIES, DURWARD_QUESTION, DURWARD_SYSTEM,
    DURWARD_UNSEEN, durward_code,
};

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: durward_code,
    pub(crate) message: String,
}

/// The handle of it.
pub(crate) struct durward_error {
    code: durward_code,
    message: Text,
}

impl Failure {
    pub(crate) fn misuse(message: impl Into<String>) -> Failure {
        Failure { code: DURWARD_MISUSE, message: message.into() }
    }

    /// A pointer that must not be null, by its name in the header.
    pub(crate) fn null(name: impl Display) -> Failure {
        Failure::misuse(format!("`{name}` is a null pointer"))
    }

    /// A permit whose conditions the caller does not want to see must not reach them as a permit.
    pub(crate) fn unseen() -> Failure {
        let message = "the permit comes with obligations or another resource, and `answer` is a null pointer";
        Failure { code: DURWARD_UNSEEN, message: message.to_owned() }
    }

    pub(crate) fn internal() -> Failure {
        let message = "a mistake within the library: nothing was decided or changed by this call";
        Failure { code: DURWARD_INTERNAL, message: message.to_owned() }
    }

    pub(crate) fn into_handle(self) -> *mut durward_error {
        border::handed_over(durward_error { code: self.code, message: Text::of(self.message) })
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure { code: DURWARD_POLICIES, message: error.to_string() }
    }
}

impl From<QuestionError> for Failure {
    fn from(error: QuestionError) -> Failure {
        let code = match error {
            QuestionError::Subscription(_) | QuestionError::Request(_) | QuestionError::TooLong(_) => {
                DURWARD_QUESTION
            }
            QuestionError::NoThread(_) | QuestionError::TooMany => DURWARD_SYSTEM,
        };
        Failure { code, message: error.to_string() }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_error_code(error: *const durward_error) -> durward_code {
    // SAFETY: the header's promise for handles.
    unsafe { error.as_ref() }.map_or(DURWARD_OK, |error| error.code)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_error_message(error: *const durward_error, len: *mut usize) -> *const c_char {
    // SAFETY: the header's promise for handles, and for places.
    unsafe { Text::lend(error.as_ref().map(|error| &error.message), len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_free_error(error: *mut durward_error) {
    // SAFETY: the header's promise for handles; whoever frees one has no other use of it.
    unsafe { border::free(error) }
}
