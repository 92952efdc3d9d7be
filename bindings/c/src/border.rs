//! The border: what every call goes through. Panics end here, pointers become references, failures become handles.

use std::ffi::c_char;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use crate::code::{DURWARD_OK, durward_code};
use crate::failure::{Failure, durward_error};

/// A text of the caller, as an array of them holds it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct durward_text {
    data: *const c_char,
    len: usize,
}

impl durward_text {
    /// # Safety
    /// The header's promise for texts.
    pub(crate) unsafe fn bytes<'t>(self, name: impl Display) -> Result<&'t [u8], Failure> {
        // SAFETY: the same promise.
        unsafe { text(self.data, self.len, name) }
    }
}

/// Runs a call and says what came of it. A panic stays within: the call then has failed. State that a panic leaves behind is whole: snapshots
/// are swapped in as one, and locks are taken over from threads that panicked.
///
/// # Safety
/// `error` is null or writable.
pub(crate) unsafe fn guarded(
    error: *mut *mut durward_error,
    call: impl FnOnce() -> Result<durward_code, Failure>,
) -> durward_code {
    // SAFETY: null or writable.
    unsafe { clear(error) };
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(code)) => return code,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal(),
    };
    let code = failure.code;
    if !error.is_null() {
        // SAFETY: not null, so writable.
        unsafe { error.write(failure.into_handle()) };
    }
    code
}

/// The same for a call that has only one way to succeed.
///
/// # Safety
/// `error` is null or writable.
pub(crate) unsafe fn done(
    error: *mut *mut durward_error,
    call: impl FnOnce() -> Result<(), Failure>,
) -> durward_code {
    // SAFETY: null or writable.
    unsafe { guarded(error, || call().map(|()| DURWARD_OK)) }
}

/// Puts a null pointer where a handle will be.
///
/// # Safety
/// `place` is null or writable.
pub(crate) unsafe fn clear<T>(place: *mut *mut T) {
    if !place.is_null() {
        // SAFETY: not null, so writable.
        unsafe { place.write(ptr::null_mut()) };
    }
}

/// The place of a result that the caller must want.
pub(crate) fn wanted<T>(place: *mut T, name: &str) -> Result<*mut T, Failure> {
    if place.is_null() { Err(Failure::null(name)) } else { Ok(place) }
}

/// What a handle stands for.
///
/// # Safety
/// The header's promise for handles, for as long as the reference is used.
pub(crate) unsafe fn handle<'h, T>(handle: *const T, name: &str) -> Result<&'h T, Failure> {
    // SAFETY: null, or a handle that this library made.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// A text of the caller.
///
/// # Safety
/// The header's promise for texts, for as long as the slice is used.
pub(crate) unsafe fn text<'t>(
    data: *const c_char,
    len: usize,
    name: impl Display,
) -> Result<&'t [u8], Failure> {
    // SAFETY: what is readable for that many characters is for that many bytes.
    unsafe { array(data.cast::<u8>(), len, name) }
}

/// An array of the caller; a null pointer is none, unless it is one of no elements.
///
/// # Safety
/// `data` is null, or readable for `len` elements and aligned for them, for as long as the slice is used.
pub(crate) unsafe fn array<'a, T>(
    data: *const T,
    len: usize,
    name: impl Display,
) -> Result<&'a [T], Failure> {
    if data.is_null() {
        return if len == 0 && size_of::<T>() > 1 { Ok(&[]) } else { Err(Failure::null(name)) };
    }
    // No object is larger: such a length is a mistake of the caller, often a negative number.
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::misuse(format!("{len} is no length of `{name}`")));
    }
    // SAFETY: not null, so readable; and not longer than a slice may be.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// Text of the caller that must be UTF-8, such as a name.
pub(crate) fn utf8(bytes: &[u8], name: impl Display) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| Failure::misuse(format!("`{name}` is not UTF-8: {error}")))
}

/// Gives a value to the caller, who frees it.
pub(crate) fn handed_over<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes it back and drops it.
///
/// # Safety
/// `handle` is null, or of [`handed_over`] and not freed yet.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    // SAFETY: made by `Box::into_raw`, and freed once.
    let value = unsafe { Box::from_raw(handle) };
    // There is nobody to tell of a panic.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(value)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{DURWARD_INTERNAL, DURWARD_MISUSE};

    #[test]
    fn a_panic_is_a_code() {
        let mut error = ptr::null_mut();
        // SAFETY: a place of our own; the handle it gets is freed once.
        let code = unsafe { done(&raw mut error, || panic!("on purpose")) };
        assert_eq!(code, DURWARD_INTERNAL);
        assert!(!error.is_null());
        // SAFETY: the same.
        unsafe { free(error) };
        // SAFETY: a null pointer is no place.
        let code = unsafe { done(ptr::null_mut(), || panic!("on purpose")) };
        assert_eq!(code, DURWARD_INTERNAL);
    }

    #[test]
    fn a_panic_while_something_is_freed_ends_there() {
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                panic!("on purpose");
            }
        }
        // SAFETY: just handed over.
        unsafe { free(handed_over(Loud)) };
    }

    #[test]
    fn lengths_that_no_object_has_are_refused() {
        let byte = 0_u8;
        for len in [usize::MAX, isize::MAX as usize + 1] {
            // SAFETY: the length is refused before anything is read.
            let refused = unsafe { array(&raw const byte, len, "text") };
            assert_eq!(refused.unwrap_err().code, DURWARD_MISUSE);
        }
    }
}
