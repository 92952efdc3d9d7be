//! Answers that are more than an outcome, as texts that the caller frees.

use std::ffi::c_char;
use std::ptr;

use durward_embed::{Decision, Explained, Outcome};

use crate::border;
use crate::code::{DURWARD_INDETERMINATE, durward_outcome, number_of};
use crate::failure::Failure;

/// A text with a zero behind it, which its length does not count.
#[derive(Debug)]
pub(crate) struct Text(Box<[u8]>);

impl Text {
    pub(crate) fn of(text: String) -> Text {
        let mut bytes = text.into_bytes();
        bytes.push(0);
        Text(bytes.into_boxed_slice())
    }

    /// Where the text begins, and its length to where `len` points; a null pointer and 0 where there is none.
    ///
    /// # Safety
    /// `len` is null or writable.
    pub(crate) unsafe fn lend(text: Option<&Text>, len: *mut usize) -> *const c_char {
        if !len.is_null() {
            // SAFETY: not null, so writable.
            unsafe { len.write(text.map_or(0, |text| text.0.len() - 1)) };
        }
        text.map_or(ptr::null(), |text| text.0.as_ptr().cast())
    }
}

/// The handle of an answer.
pub(crate) struct durward_answer {
    text: Text,
    /// Where the text is no JSON itself.
    json: Option<Text>,
}

impl durward_answer {
    pub(crate) fn of_text(text: String) -> *mut durward_answer {
        border::handed_over(durward_answer { text: Text::of(text), json: None })
    }

    pub(crate) fn of_explanation(explained: Explained) -> *mut durward_answer {
        let Explained { text, json } = explained;
        border::handed_over(durward_answer { text: Text::of(text), json: Some(Text::of(json)) })
    }
}

/// A decision as it crosses the border.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) outcome: durward_outcome,
    /// The whole of it as JSON, where more than the outcome was decided.
    json: Option<String>,
    /// Whether a caller that sees the outcome alone may take it for the decision.
    stands_alone: bool,
}

impl Shown {
    pub(crate) fn of(decision: &Decision) -> Shown {
        let (obligations, advice) = (decision.obligations().len(), decision.advice().len());
        if obligations == 0 && advice == 0 && decision.resource().is_none() {
            return Shown { outcome: number_of(decision.outcome), json: None, stands_alone: true };
        }
        let value = decision.to_value();
        // As `Decision::to_json`: what cannot be written is no decision.
        if value.holds_undefined() {
            return Shown { outcome: DURWARD_INDETERMINATE, json: None, stands_alone: true };
        }
        let must_be_seen = obligations > 0 || decision.resource().is_some();
        Shown {
            outcome: number_of(decision.outcome),
            json: Some(value.to_json()),
            stands_alone: decision.outcome != Outcome::Permit || !must_be_seen,
        }
    }

    /// The handle of the whole decision, or null where the outcome is all of it.
    pub(crate) fn into_handle(self) -> *mut durward_answer {
        self.json.map_or(ptr::null_mut(), durward_answer::of_text)
    }

    /// Tells the caller, the outcome last.
    ///
    /// # Safety
    /// Both places are null or writable.
    pub(crate) unsafe fn tell(
        self,
        outcome: *mut durward_outcome,
        answer: *mut *mut durward_answer,
    ) -> Result<(), Failure> {
        if outcome.is_null() {
            return Err(Failure::null("outcome"));
        }
        if answer.is_null() && !self.stands_alone {
            return Err(Failure::unseen());
        }
        let decided = self.outcome;
        if !answer.is_null() {
            // SAFETY: not null, so writable.
            unsafe { answer.write(self.into_handle()) };
        }
        // SAFETY: the same.
        unsafe { outcome.write(decided) };
        Ok(())
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_answer_text(answer: *const durward_answer, len: *mut usize) -> *const c_char {
    // SAFETY: the header's promise for handles, and for places.
    unsafe { Text::lend(answer.as_ref().map(|answer| &answer.text), len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_answer_json(answer: *const durward_answer, len: *mut usize) -> *const c_char {
    // SAFETY: the header's promise for handles, and for places.
    unsafe { Text::lend(answer.as_ref().map(|answer| answer.json.as_ref().unwrap_or(&answer.text)), len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_free_answer(answer: *mut durward_answer) {
    // SAFETY: the header's promise for handles; whoever frees one has no other use of it.
    unsafe { border::free(answer) }
}
