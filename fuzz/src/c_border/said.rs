//! What a call over the border gave, and what it must give by what `durward-embed` says to the same.

use std::ffi::c_char;
use std::fmt::Debug;
use std::ptr;
use std::slice;
use std::thread::sleep;
use std::time::Duration;

use durward_embed::{Decision, Explained, QuestionError};

use super::header::*;
use super::script::Flags;

/// What came of a call. Of misuse only the code counts: its words are the library's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) code: durward_code,
    /// Nothing where nobody wants to know.
    pub(super) outcome: Option<durward_outcome>,
    pub(super) answer: Option<String>,
    pub(super) message: Option<String>,
}

impl Said {
    /// A call that must be refused.
    pub(super) fn misuse(outcome: Option<durward_outcome>) -> Said {
        Said { code: DURWARD_MISUSE, outcome, answer: None, message: None }
    }

    /// What a decision must be on the other side.
    pub(super) fn of_decision(decided: Result<Decision, QuestionError>, flags: Flags) -> Said {
        let nothing = Some(DURWARD_INDETERMINATE);
        let decision = match decided {
            Ok(decision) => decision,
            Err(error) => return Said::failed(&error, nothing, flags),
        };
        let json = decision.to_json();
        let name = json.strip_prefix("{\"decision\":\"").and_then(|rest| rest.split('"').next());
        let name = name.unwrap_or_else(|| panic!("{json}"));
        let outcome = Some(number_of(name));
        if json == format!("{{\"decision\":\"{name}\"}}") {
            return Said { code: DURWARD_OK, outcome, answer: None, message: None };
        }
        let must_be_seen = decision.obligations().len() > 0 || decision.resource().is_some();
        if flags.no_answer() && name == "PERMIT" && must_be_seen {
            return Said { code: DURWARD_UNSEEN, outcome: nothing, answer: None, message: None };
        }
        let answer = if flags.no_answer() { None } else { Some(json) };
        Said { code: DURWARD_OK, outcome, answer, message: None }
    }

    /// What an answer in texts must be.
    pub(super) fn of_answer(told: Result<String, QuestionError>, flags: Flags) -> Said {
        match told {
            Ok(text) => Said { code: DURWARD_OK, outcome: None, answer: Some(text), message: None },
            Err(error) => Said::failed(&error, None, flags),
        }
    }

    pub(super) fn failed(error: &QuestionError, outcome: Option<durward_outcome>, flags: Flags) -> Said {
        let code = match error {
            QuestionError::Subscription(_) | QuestionError::Request(_) | QuestionError::TooLong(_) => {
                DURWARD_QUESTION
            }
            QuestionError::NoThread(_) | QuestionError::TooMany => DURWARD_SYSTEM,
        };
        let message = if flags.no_error() { None } else { Some(error.to_string()) };
        Said { code, outcome, answer: None, message }
    }
}

/// Both texts of an explanation as one.
pub(super) fn explained(explained: Explained) -> String {
    let Explained { text, json } = explained;
    format!("{text}\0{json}")
}

fn number_of(name: &str) -> durward_outcome {
    match name {
        "PERMIT" => DURWARD_PERMIT,
        "DENY" => 1,
        "NOT_APPLICABLE" => 2,
        "SUSPEND" => 3,
        "INDETERMINATE" => DURWARD_INDETERMINATE,
        other => panic!("no outcome is called {other}"),
    }
}

/// Places for what a call gives beside its code, with something in them that must not stay.
pub(super) struct Places {
    outcome: durward_outcome,
    answer: *mut durward_answer,
    error: *mut durward_error,
    flags: Flags,
}

impl Places {
    pub(super) fn new(flags: Flags) -> Places {
        Places { outcome: DURWARD_PERMIT, answer: ptr::dangling_mut(), error: ptr::dangling_mut(), flags }
    }

    pub(super) fn outcome(&mut self) -> *mut durward_outcome {
        if self.flags.no_result() { ptr::null_mut() } else { &raw mut self.outcome }
    }

    pub(super) fn answer(&mut self) -> *mut *mut durward_answer {
        if self.flags.no_answer() { ptr::null_mut() } else { &raw mut self.answer }
    }

    pub(super) fn error(&mut self) -> *mut *mut durward_error {
        if self.flags.no_error() { ptr::null_mut() } else { &raw mut self.error }
    }

    /// What a decision gave; it is freed.
    pub(super) fn decided(self, code: durward_code) -> Said {
        let outcome = if self.flags.no_result() { None } else { Some(self.outcome) };
        let answer = if self.flags.no_answer() { ptr::null_mut() } else { self.answer };
        let (text, json) = taken(answer);
        assert_eq!(text, json, "a decision has one text");
        Said { code, outcome, answer: text, message: self.failure(code) }
    }

    /// What a call gave that answers in texts.
    pub(super) fn told(self, code: durward_code) -> Said {
        let answer = if self.flags.no_answer() { ptr::null_mut() } else { self.answer };
        let answer = match taken(answer) {
            (Some(text), Some(json)) if text != json => Some(format!("{text}\0{json}")),
            (text, _) => text,
        };
        Said { code, outcome: None, answer, message: self.failure(code) }
    }

    /// What a call gave of which only the code counts.
    pub(super) fn done(self, code: durward_code) -> Said {
        Said { code, outcome: None, answer: None, message: self.failure(code) }
    }

    fn failure(&self, code: durward_code) -> Option<String> {
        if self.flags.no_error() { None } else { message_of(self.error, code) }
    }
}

/// The words of an error, which is freed; whether there is one is for the code to say.
pub(super) fn message_of(error: *mut durward_error, code: durward_code) -> Option<String> {
    if [DURWARD_OK, DURWARD_NOTHING, DURWARD_CLOSED].contains(&code) {
        assert!(error.is_null(), "an error with {code}");
        return None;
    }
    assert!(!error.is_null(), "no error with {code}");
    let mut len = 0;
    // SAFETY: a handle of the library, which is freed once.
    let message = unsafe {
        assert_eq!(durward_error_code(error), code);
        let message = text_of(durward_error_message(error, &raw mut len), len);
        durward_free_error(error);
        message
    };
    assert!(!message.is_empty());
    if [DURWARD_MISUSE, DURWARD_UNSEEN].contains(&code) { None } else { Some(message) }
}

/// Text and JSON of an answer, which is freed.
pub(super) fn taken(answer: *mut durward_answer) -> (Option<String>, Option<String>) {
    let texts = read(answer);
    // SAFETY: a handle of the library or null, freed once.
    unsafe { durward_free_answer(answer) };
    texts
}

/// The same of one that stays.
pub(super) fn read(answer: *const durward_answer) -> (Option<String>, Option<String>) {
    let (mut text_len, mut json_len) = (0, 0);
    // SAFETY: a handle of the library or null.
    let (text, json) = unsafe {
        (
            durward_answer_text(answer, &raw mut text_len),
            durward_answer_json(answer, &raw mut json_len),
        )
    };
    if answer.is_null() {
        assert!(text.is_null() && json.is_null() && text_len == 0 && json_len == 0);
        return (None, None);
    }
    (Some(text_of(text, text_len)), Some(text_of(json, json_len)))
}

/// A text of the library: UTF-8, with a zero behind it.
fn text_of(data: *const c_char, len: usize) -> String {
    assert!(!data.is_null());
    // SAFETY: a text of the library has that many bytes, and one more.
    let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), len + 1) };
    let (zero, text) = bytes.split_last().unwrap_or((&1, &[]));
    assert_eq!(*zero, 0);
    str::from_utf8(text).map(str::to_owned).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// How often both sides are asked before they are said to differ.
const TRIES: usize = 8;

/// Asks both sides. Policies may look at the clock, so the library's answer may be the one of a moment before or after; and where two moments differ
/// anyway, nothing is known.
pub(super) fn agree<T: PartialEq + Debug>(mut ours: impl FnMut() -> T, mut theirs: impl FnMut() -> T) -> T {
    let mut left = TRIES;
    loop {
        let (before, said, after) = (theirs(), ours(), theirs());
        left -= 1;
        if said == before || said == after || before != after {
            return said;
        }
        assert_ne!(left, 0, "the library says {said:?}, and durward-embed {before:?}");
        sleep(Duration::from_millis(1));
    }
}
