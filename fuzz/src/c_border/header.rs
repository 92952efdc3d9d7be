//! `durward.h`, as another language would declare it. A test in `bindings/c` holds it to the header.
#![expect(non_camel_case_types, reason = "types are called as in the header")]

use std::ffi::c_char;

// Linked for its symbols.
use durward as _;

pub(super) type durward_code = i32;
pub(super) type durward_outcome = i32;

pub(super) const DURWARD_OK: durward_code = 0;
pub(super) const DURWARD_POLICIES: durward_code = 1;
pub(super) const DURWARD_QUESTION: durward_code = 2;
pub(super) const DURWARD_SYSTEM: durward_code = 3;
pub(super) const DURWARD_MISUSE: durward_code = 4;
pub(super) const DURWARD_UNSEEN: durward_code = 5;
pub(super) const DURWARD_NOTHING: durward_code = 6;
pub(super) const DURWARD_CLOSED: durward_code = 7;

pub(super) const DURWARD_INDETERMINATE: durward_outcome = 0;
pub(super) const DURWARD_PERMIT: durward_outcome = 200;

#[repr(C)]
pub(super) struct durward_pdp(u8);
#[repr(C)]
pub(super) struct durward_answer(u8);
#[repr(C)]
pub(super) struct durward_watch(u8);
#[repr(C)]
pub(super) struct durward_error(u8);

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct durward_text {
    pub(super) data: *const c_char,
    pub(super) len: usize,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct durward_policy {
    pub(super) name: durward_text,
    pub(super) text: durward_text,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct durward_decision {
    pub(super) outcome: durward_outcome,
    pub(super) code: durward_code,
    pub(super) answer: *mut durward_answer,
    pub(super) error: *mut durward_error,
}

unsafe extern "C" {
    pub(super) fn durward_version() -> *const c_char;
    pub(super) fn durward_outcome_name(outcome: durward_outcome) -> *const c_char;
    pub(super) fn durward_pdp_from_dir(
        path: *const c_char,
        path_len: usize,
        pdp: *mut *mut durward_pdp,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_pdp_from_texts(
        policies: *const durward_policy,
        count: usize,
        pdp: *mut *mut durward_pdp,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_reload(pdp: *const durward_pdp, error: *mut *mut durward_error) -> durward_code;
    pub(super) fn durward_replace(
        pdp: *const durward_pdp,
        policies: *const durward_policy,
        count: usize,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_free_pdp(pdp: *mut durward_pdp);
    pub(super) fn durward_decide(
        pdp: *const durward_pdp,
        subscription: *const c_char,
        len: usize,
        outcome: *mut durward_outcome,
        answer: *mut *mut durward_answer,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_decide_many(
        pdp: *const durward_pdp,
        subscriptions: *const durward_text,
        count: usize,
        decisions: *mut durward_decision,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_decide_request(
        pdp: *const durward_pdp,
        request: *const c_char,
        len: usize,
        answer: *mut *mut durward_answer,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_explain(
        pdp: *const durward_pdp,
        subscription: *const c_char,
        len: usize,
        answer: *mut *mut durward_answer,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_explain_request(
        pdp: *const durward_pdp,
        request: *const c_char,
        len: usize,
        answer: *mut *mut durward_answer,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_answer_text(answer: *const durward_answer, len: *mut usize) -> *const c_char;
    pub(super) fn durward_answer_json(answer: *const durward_answer, len: *mut usize) -> *const c_char;
    pub(super) fn durward_free_answer(answer: *mut durward_answer);
    pub(super) fn durward_free_decisions(decisions: *mut durward_decision, count: usize);
    pub(super) fn durward_watch_open(
        pdp: *const durward_pdp,
        subscription: *const c_char,
        len: usize,
        watch: *mut *mut durward_watch,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_watch_next(
        watch: *const durward_watch,
        wait_ms: i64,
        outcome: *mut durward_outcome,
        answer: *mut *mut durward_answer,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_watch_close(
        watch: *const durward_watch,
        error: *mut *mut durward_error,
    ) -> durward_code;
    pub(super) fn durward_free_watch(watch: *mut durward_watch);
    pub(super) fn durward_error_code(error: *const durward_error) -> durward_code;
    pub(super) fn durward_error_message(error: *const durward_error, len: *mut usize) -> *const c_char;
    pub(super) fn durward_free_error(error: *mut durward_error);
}
