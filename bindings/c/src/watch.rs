//! Subscriptions that are decided again and again.

use std::ffi::c_char;
use std::time::Duration;

use durward_embed::{Watch, Watched};

use crate::answer::{Shown, durward_answer};
use crate::border::{clear, done, free, guarded, handed_over, handle, text, wanted};
use crate::code::{DURWARD_CLOSED, DURWARD_NOTHING, DURWARD_OK, durward_code, durward_outcome};
use crate::failure::durward_error;
use crate::point::{durward_pdp, undecided};

/// The handle of a watched subscription.
pub(crate) struct durward_watch(Watch);

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_watch_open(
    pdp: *const durward_pdp,
    subscription: *const c_char,
    len: usize,
    watch: *mut *mut durward_watch,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles, texts and places.
    unsafe {
        clear(watch);
        done(error, || {
            let watch = wanted(watch, "watch")?;
            let subscription = text(subscription, len, "subscription")?;
            let watched = handle(pdp, "pdp")?.0.watch(subscription)?;
            watch.write(handed_over(durward_watch(watched)));
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_watch_next(
    watch: *const durward_watch,
    wait_ms: i64,
    outcome: *mut durward_outcome,
    answer: *mut *mut durward_answer,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles and places.
    unsafe {
        undecided(outcome, answer);
        guarded(error, || {
            let outcome = wanted(outcome, "outcome")?;
            // A negative time is no limit.
            let limit = u64::try_from(wait_ms).ok().map(Duration::from_millis);
            match handle(watch, "watch")?.0.next(limit) {
                Watched::Decision(decision) => {
                    Shown::of(&decision).tell(outcome, answer)?;
                    Ok(DURWARD_OK)
                }
                Watched::Nothing => Ok(DURWARD_NOTHING),
                Watched::Closed => Ok(DURWARD_CLOSED),
            }
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_watch_close(
    watch: *const durward_watch,
    error: *mut *mut durward_error,
) -> durward_code {
    // SAFETY: the header's promise for handles and places.
    unsafe {
        done(error, || {
            handle(watch, "watch")?.0.close();
            Ok(())
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn durward_free_watch(watch: *mut durward_watch) {
    // SAFETY: the header's promise for handles; whoever frees one has no other use of it.
    unsafe { free(watch) }
}
