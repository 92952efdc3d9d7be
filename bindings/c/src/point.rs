//! A decision point: made, asked, given other policies.

use std::ffi::c_char;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::SystemTime;

use durward_embed::{Clock, DecisionPoint, QuestionError};

use crate::answer::{Shown, durward_answer};
use crate::border::{array, clear, done, durward_text, free, handed_over, handle, text, utf8, wanted};
use crate::code::{DURWARD_INDETERMINATE, DURWARD_OK, durward_code, durward_outcome};
use crate::failure::{Failure, durward_error};

/// The handle of a decision point.
pub(crate) struct durward_pdp(pub(crate) DecisionPoint);

/// Whatever a handle stands for is used by many threads at once.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<DecisionPoint>();
    is_shared::<durward_embed::Watch>();
};

/// A policy as text, and the name by which messages call it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct durward_policy {
    name: durward_text,
    text: durward_text,
}

/// One of many decisions.
#[repr(C)]
pub(crate) struct durward_decision {
    outcome: durward_outcome,
    code: durward_code,
    answer: *mut durward_answer,
    error: *mut durward_error,
}

#[expect(clippy::disallowed_methods, reason = "a library of a program in C: there is no other clock")]
fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

/// # Safety
/// The header's promise for texts, for `policies` and each text in it.
unsafe fn named(policies: *const durward_policy, count: usize) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    // SAFETY: an array is a text of many bytes.
    let policies = unsafe { array(policies, count, "policies") }?;
    let one = |(number, policy): (usize, &durward_policy)| {
        // SAFETY: each of them is such a text.
        let (name, text) = unsafe {
            let name = policy.name.bytes(format_args!("policies[{number}].name"))?;
            (name, policy.text.bytes(format_args!("policies[{number}].text"))?)
        };
        Ok((utf8(name, format_args!("policies[{number}].name"))?.to_owned(), text.to_vec()))
    };
    policies.iter().enumerate().map(one).collect()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_pdp_from_dir(
    path: *const c_char,
    path_len: usize,
    pdp: *mut *mut durward_pdp,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for texts and places.
    unsafe {
        clear(pdp);
        done(error, || {
            let pdp = wanted(pdp, "pdp")?;
            let path = Path::new(utf8(text(path, path_len, "path")?, "path")?);
            pdp.write(handed_over(durward_pdp(DecisionPoint::open(path, clock())?)));
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_pdp_from_texts(
    policies: *const durward_policy,
    count: usize,
    pdp: *mut *mut durward_pdp,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for texts and places.
    unsafe {
        clear(pdp);
        done(error, || {
            let pdp = wanted(pdp, "pdp")?;
            let point = DecisionPoint::from_texts(named(policies, count)?, clock())?;
            pdp.write(handed_over(durward_pdp(point)));
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_reload(pdp: *const durward_pdp, error: *mut *mut durward_error) -> durward_code {
    // SAFETY: the header's promise for handles and places.
    unsafe {
        done(error, || {
            handle(pdp, "pdp")?.0.reload()?;
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_replace(
    pdp: *const durward_pdp,
    policies: *const durward_policy,
    count: usize,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        done(error, || {
            handle(pdp, "pdp")?.0.replace(named(policies, count)?)?;
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_decide(
    pdp: *const durward_pdp,
    subscription: *const c_char,
    len: usize,
    outcome: *mut durward_outcome,
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        undecided(outcome, answer);
        done(error, || {
            let outcome = wanted(outcome, "outcome")?;
            let subscription = text(subscription, len, "subscription")?;
            let decision = handle(pdp, "pdp")?.0.decide(subscription)?;
            Shown::of(&decision).tell(outcome, answer)
        })
    }
}

/// What the caller finds unless something is decided.
///
/// # Safety
/// Both places are null or writable.
pub(crate) unsafe fn undecided(outcome: *mut durward_outcome, answer: *mut *mut durward_answer) {
    if !outcome.is_null() {
        // SAFETY: not null, so writable.
        unsafe { outcome.write(DURWARD_INDETERMINATE) };
    }
    // SAFETY: null or writable.
    unsafe { clear(answer) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_decide_many(
    pdp: *const durward_pdp,
    subscriptions: *const durward_text,
    count: usize,
    decisions: *mut durward_decision,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places: `decisions` has room for `count`.
    unsafe {
        undecided_rows(decisions, count);
        done(error, || {
            let texts = array(subscriptions, count, "subscriptions")?;
            if count == 0 {
                return Ok(());
            }
            let decisions = wanted(decisions, "decisions")?;
            let pdp = handle(pdp, "pdp")?;
            for (number, text) in texts.iter().enumerate() {
                decisions.add(number).write(decide_one(&pdp.0, *text, number));
            }
            Ok(())
        })
    }
}

/// What the caller finds in each row unless something is decided. A number of rows that no array has is refused by the call.
///
/// # Safety
/// `decisions` is null, or has room for `count`.
unsafe fn undecided_rows(decisions: *mut durward_decision, count: usize) {
    if decisions.is_null() || count > isize::MAX as usize / size_of::<durward_decision>() {
        return;
    }
    for number in 0..count {
        // SAFETY: not null, so there is room for as many.
        unsafe { decisions.add(number).write(durward_decision::none()) };
    }
}

impl durward_decision {
    const fn none() -> durward_decision {
        durward_decision {
            outcome: DURWARD_INDETERMINATE,
            code: DURWARD_OK,
            answer: ptr::null_mut(),
            error: ptr::null_mut(),
        }
    }
}

/// One of many, with its own failure, whatever becomes of the others.
///
/// # Safety
/// The header's promise for texts.
unsafe fn decide_one(pdp: &DecisionPoint, text: durward_text, number: usize) -> durward_decision {
    let mut row = durward_decision::none();
    // SAFETY: the same promise; and places of our own.
    row.code = unsafe {
        done(&raw mut row.error, || {
            let decision = pdp.decide(text.bytes(format_args!("subscriptions[{number}]"))?)?;
            Shown::of(&decision).tell(&raw mut row.outcome, &raw mut row.answer)
        })
    };
    row
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_free_decisions(decisions: *mut durward_decision, count: usize) {
    if decisions.is_null() {
        return;
    }
    for number in 0..count {
        // SAFETY: the header's promise for places: `durward_decide_many` filled that many, and each is emptied once.
        unsafe {
            let row = decisions.add(number).replace(durward_decision::none());
            free(row.answer);
            free(row.error);
        }
    }
}

/// What a call gives that answers in texts.
///
/// # Safety
/// The header's promise for handles, texts and places.
unsafe fn told(
    pdp: *const durward_pdp,
    question: (*const c_char, usize, &str),
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
    ask: impl FnOnce(&DecisionPoint, &[u8]) -> Result<*mut durward_answer, QuestionError>,
) -> durward_code {
    // SAFETY: the same promise.
    unsafe {
        clear(answer);
        done(error, || {
            let answer = wanted(answer, "answer")?;
            let (data, len, name) = question;
            answer.write(ask(&handle(pdp, "pdp")?.0, text(data, len, name)?)?);
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_decide_request(
    pdp: *const durward_pdp,
    request: *const c_char,
    len: usize,
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        told(pdp, (request, len, "request"), answer, error, |pdp, request| {
            pdp.decide_request(request).map(durward_answer::of_text)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_explain(
    pdp: *const durward_pdp,
    subscription: *const c_char,
    len: usize,
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        told(pdp, (subscription, len, "subscription"), answer, error, |pdp, subscription| {
            pdp.explain(subscription).map(durward_answer::of_explanation)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_explain_request(
    pdp: *const durward_pdp,
    request: *const c_char,
    len: usize,
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        told(pdp, (request, len, "request"), answer, error, |pdp, request| {
            pdp.explain_request(request).map(durward_answer::of_explanation)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_free_pdp(pdp: *mut durward_pdp) {
    // SAFETY: the header's promise for handles; whoever frees one has no other use of it.
    unsafe { free(pdp) }
}
