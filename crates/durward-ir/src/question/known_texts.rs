//! The long texts that policies of this process compare attributes with, each with a number: so that a decision compares numbers
//! instead of texts.
//!
//! Texts come out of policies only, so a caller can neither grow nor skew the table with texts of their choice. A number stands for its
//! text as long as the process lives, because requests that were read keep numbers. What a request holds is compared with the text
//! once, where the request is read: equal numbers are equal texts. A text that was read before any policy had it has no number;
//! it is found by its digest, and then compared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use foldhash::fast::RandomState;
use smol_str::SmolStr;

use crate::attribute::kept;

/// Long texts that policies compare attributes with, that get a number, and are kept as long as the process lives: at most 4 MB of texts and 1 MB of
/// table, and 1 MB for each thread that still has an older table. A policy with new long texts copies the table. A full table stays full until
/// the process ends, which the metric `durward_known_texts` shows: further texts are compared as texts, which takes longer and changes no
/// decision.
const TEXTS_MAX: usize = 1 << 14;

/// The longest of them, in bytes: identifiers and names are shorter. Longer texts are compared as texts.
const TEXT_BYTES_MAX: usize = 256;

/// The texts that had a number at some moment. The hash differs from process to process, so that nobody can write policies whose texts collide.
#[derive(Clone, Default)]
struct KnownTexts {
    numbers: HashMap<SmolStr, u32, RandomState>,
}

static KNOWN: LazyLock<Mutex<Arc<KnownTexts>>> = LazyLock::new(Mutex::default);
/// How many there are, so that a thread learns without the lock that there are more.
static COUNT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// What this thread has seen of them: so that threads share nothing when there is nothing new.
    static SEEN: RefCell<Arc<KnownTexts>> = RefCell::default();
}

/// How many long texts of policies have a number in this process; `TEXTS_MAX` in `docs/limits.md` says how many may.
pub fn count() -> usize {
    COUNT.load(Ordering::Acquire) as usize
}

/// The number of a text, if it has one.
#[inline(never)]
pub(super) fn number_of(text: &str) -> Option<u32> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    SEEN.with(|seen| {
        if seen.borrow().count() != COUNT.load(Ordering::Acquire) {
            let newest = Arc::clone(&KNOWN.lock().unwrap_or_else(PoisonError::into_inner));
            // The older table is given back after the lock.
            *seen.borrow_mut() = newest;
        }
        seen.borrow().numbers.get(text).copied()
    })
}

/// Gives numbers to texts that policies compare attributes with, while there are any left.
pub(crate) fn number<'t>(texts: impl Iterator<Item = &'t str>) {
    let is_new = |text: &&str| text.len() <= TEXT_BYTES_MAX && number_of(text).is_none();
    let new: Vec<&str> = texts.filter(is_new).collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if new.is_empty() || known.numbers.len() >= TEXTS_MAX {
        return;
    }
    let more = Arc::make_mut(&mut known);
    new.into_iter().for_each(|text| more.add(text));
    COUNT.store(more.count(), Ordering::Release);
}

impl KnownTexts {
    fn count(&self) -> u32 {
        self.numbers.len() as u32
    }

    fn add(&mut self, text: &str) {
        let number = self.count();
        if self.numbers.len() < TEXTS_MAX && !self.numbers.contains_key(text) {
            self.numbers.insert(kept(&text.into()), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_number_once_a_policy_has_it_and_keeps_it() {
        let texts = ["a-long-text-of-these-tests, one", "a-long-text-of-these-tests, two"];
        assert_eq!(texts.map(number_of), [None, None]);
        number(texts.into_iter());
        assert!(count() >= texts.len());
        let numbers = texts.map(number_of);
        assert!(numbers[0].is_some() && numbers[1].is_some() && numbers[0] != numbers[1]);
        number(texts.into_iter().rev());
        assert_eq!(texts.map(number_of), numbers);
        assert_eq!(std::thread::spawn(move || texts.map(number_of)).join().unwrap(), numbers);
    }

    #[test]
    fn a_text_that_is_too_long_has_none() {
        let text = "t".repeat(TEXT_BYTES_MAX + 1);
        number([text.as_str()].into_iter());
        assert_eq!(number_of(&text), None);
    }
    #[test]
    fn a_full_table_takes_no_more_and_keeps_what_it_has() {
        let mut known = KnownTexts::default();
        let text = |number: usize| format!("a-long-text-of-a-full-table, {number}");
        (0..=TEXTS_MAX).for_each(|number| known.add(&text(number)));
        assert_eq!(known.count() as usize, TEXTS_MAX);
        let number_of = |number: usize| known.numbers.get(text(number).as_str()).copied();
        assert_eq!((number_of(0), number_of(TEXTS_MAX - 1)), (Some(0), Some(TEXTS_MAX as u32 - 1)));
        assert_eq!(number_of(TEXTS_MAX), None);
    }
}
