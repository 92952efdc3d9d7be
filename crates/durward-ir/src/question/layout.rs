//! Which fields subscriptions have: most of a service's have the same, and where a program finds what it reads is then
//! found out once.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::path::Element;

/// The fields of a subscription in their order. Equal ones are of the very same fields, but for [`Layout::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Layout(u8);

/// So many layouts have a number, in this process; those that are met later have none.
pub(crate) const LAYOUTS_MAX: usize = 64;

/// The names of a layout take no more bytes.
const NAMES_MAX: usize = 2_048;

/// The layouts that have a number, in the order of their numbers.
#[derive(Clone, Default)]
struct Known {
    /// Of their names. Two may have the same one; the later ones then have no number.
    digests: Vec<u64>,
    names: Vec<Arc<[u8]>>,
}

static KNOWN: LazyLock<Mutex<Arc<Known>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// What this thread has seen of them: so that threads share nothing when there is nothing new.
    static SEEN: RefCell<Arc<Known>> = RefCell::default();
}

/// One part of what a layout is of: what kind of part it is, and its text if it has one.
type Part<'n> = (u8, Option<&'n str>);

/// What stands for the length of a text that is not there.
const NO_TEXT: [u8; 4] = u32::MAX.to_le_bytes();

impl Layout {
    /// Of fields that nobody has seen, or too many.
    pub(crate) const NONE: Layout = Layout(0);

    /// Of a subscription's fields; `hashes` are those of their names.
    pub(crate) fn of_fields<'n>(
        hashes: impl Iterator<Item = u64>,
        names: impl Iterator<Item = (Element, Option<&'n str>)> + Clone,
    ) -> Layout {
        Layout::of(hashes.fold(0, mixed), names.map(|(element, name)| (element as u8, name)))
    }

    fn of<'n>(digest: u64, parts: impl Iterator<Item = Part<'n>> + Clone) -> Layout {
        SEEN.with_borrow_mut(|seen| {
            if let Some(layout) = seen.find(digest, parts.clone()) {
                return layout;
            }
            if seen.is_full() || written_length(parts.clone()) > NAMES_MAX {
                return Layout::NONE;
            }
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            if known.find(digest, parts.clone()).is_none() && !known.is_full() {
                Arc::make_mut(&mut known).add(digest, parts.clone());
            }
            *seen = Arc::clone(&known);
            seen.find(digest, parts).unwrap_or(Layout::NONE)
        })
    }

    /// A number below [`LAYOUTS_MAX`].
    #[inline]
    pub(crate) fn number(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

impl Known {
    fn is_full(&self) -> bool {
        self.digests.len() == LAYOUTS_MAX
    }

    /// The layout of this digest; [`Layout::NONE`] where that of other parts has it.
    fn find<'n>(&self, digest: u64, parts: impl Iterator<Item = Part<'n>>) -> Option<Layout> {
        let place = self.digests.iter().position(|known| *known == digest)?;
        let is_it = self.names.get(place).is_some_and(|names| is_written(names, parts));
        Some(if is_it { Layout(place as u8 + 1) } else { Layout::NONE })
    }

    fn add<'n>(&mut self, digest: u64, parts: impl Iterator<Item = Part<'n>>) {
        let mut names = Vec::new();
        for (kind, name) in parts {
            names.push(kind);
            names.extend_from_slice(&name.map_or(NO_TEXT, length_of));
            names.extend_from_slice(name.unwrap_or_default().as_bytes());
        }
        self.digests.push(digest);
        self.names.push(names.into());
    }
}

/// A digest of what one was of, and of this.
fn mixed(digest: u64, more: u64) -> u64 {
    (digest ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

fn written_length<'n>(parts: impl Iterator<Item = Part<'n>>) -> usize {
    parts.map(|(_, name)| PART_BYTES + name.map_or(0, str::len)).sum()
}

/// The bytes of a part without a text.
const PART_BYTES: usize = 5;

/// A length that is not [`NO_TEXT`]; texts that long are of no layout.
fn length_of(name: &str) -> [u8; 4] {
    u32::try_from(name.len()).unwrap_or(u32::MAX - 1).to_le_bytes()
}

/// Whether `written` is these parts, and nothing else.
fn is_written<'n>(written: &[u8], mut parts: impl Iterator<Item = Part<'n>>) -> bool {
    let rest = parts.try_fold(written, |rest, (kind, name)| {
        let (head, rest) = rest.split_at_checked(PART_BYTES)?;
        let length = name.map_or(NO_TEXT, length_of);
        if head.first() != Some(&kind) || head.get(1..) != Some(&length) {
            return None;
        }
        rest.strip_prefix(name.unwrap_or_default().as_bytes())
    });
    rest.is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_of_its_fields_alone() {
        let hash = |name: &(Element, Option<&str>)| crate::path::FieldKey::of(name.0, name.1).0;
        let of = |names: &[(Element, Option<&str>)]| {
            Layout::of_fields(names.iter().map(hash), names.iter().copied())
        };
        let ab = [(Element::Subject, Some("a")), (Element::Subject, Some("b"))];
        let first = of(&ab);
        let others: [&[(Element, Option<&str>)]; 5] = [
            &[(Element::Subject, Some("b")), (Element::Subject, Some("a"))],
            &[(Element::Subject, Some("a")), (Element::Action, Some("b"))],
            &[(Element::Subject, Some("ab"))],
            &[(Element::Subject, Some("")), (Element::Subject, Some("ab"))],
            &[(Element::Subject, None), (Element::Subject, Some("ab"))],
        ];
        let layouts: Vec<Layout> = others.iter().map(|names| of(names)).collect();
        for (at, layout) in layouts.iter().enumerate() {
            assert!(*layout != first && layout.number().is_some(), "{at}");
            assert!(!layouts[..at].contains(layout), "{at}");
        }
        assert_eq!(of(&ab), first);
        assert_eq!(of(&[(Element::Subject, Some(&"n".repeat(NAMES_MAX + 1)))]), Layout::NONE);
        let same_digest =
            |name| Layout::of_fields([7].into_iter(), [(Element::Subject, Some(name))].into_iter());
        assert_ne!(same_digest("one"), Layout::NONE);
        assert_eq!(same_digest("other"), Layout::NONE);
    }
}
