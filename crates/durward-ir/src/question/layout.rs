//! Which fields subscriptions have: most of a service's have the same, and where a program finds what it reads is then
//! found out once.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use smol_str::SmolStr;

use super::compact::CompactField;
use super::word::Word;

/// The fields of a subscription in their order. Equal ones are of the very same fields, but for [`Layout::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Layout(u8);

/// Layouts of objects that get a number in a process; further ones get none.
pub(crate) const LAYOUTS_MAX: usize = 64;

/// The most bytes of the long names of one layout; an object with more gets no number.
const NAMES_MAX: usize = 2_048;

/// The layouts that have a number, in the order of their numbers.
#[derive(Clone, Default)]
struct LayoutTable {
    /// Of their names. Two may have the same one; the later ones then have no number.
    digests: Vec<u64>,
    names: Vec<Names>,
}

/// The names of a layout's fields.
#[derive(Clone)]
struct Names {
    words: Arc<[Word]>,
    /// Those that are not whole in their words, in their order.
    long: Arc<[SmolStr]>,
}

static KNOWN: LazyLock<Mutex<Arc<LayoutTable>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// What this thread has seen of them: so that threads share nothing when there is nothing new.
    static SEEN: RefCell<Arc<LayoutTable>> = RefCell::default();
}

impl Layout {
    /// Of fields that nobody has seen, or too many.
    pub(crate) const NONE: Layout = Layout(0);

    /// Of a subscription's fields; `name` gives the key of the field at a place.
    #[inline]
    pub(crate) fn of_fields<'n>(fields: &[CompactField], name: impl Fn(usize) -> Option<&'n str>) -> Layout {
        let digest = fields.iter().fold(0, |digest, field| mixed(digest, field.name));
        let fields = Fields { fields, name };
        SEEN.with_borrow(|seen| seen.find(digest, &fields)).unwrap_or_else(|| Layout::new(digest, &fields))
    }

    #[cold]
    fn new<'n>(digest: u64, fields: &Fields<'_, impl Fn(usize) -> Option<&'n str>>) -> Layout {
        SEEN.with_borrow_mut(|seen| {
            if seen.is_full() || fields.long().map(str::len).sum::<usize>() > NAMES_MAX {
                return Layout::NONE;
            }
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            if known.find(digest, fields).is_none() && !known.is_full() {
                Arc::make_mut(&mut known).add(digest, fields);
            }
            let newest = Arc::clone(&known);
            drop(known);
            // The older table is given back after the lock.
            *seen = newest;
            seen.find(digest, fields).unwrap_or(Layout::NONE)
        })
    }

    /// A number below [`LAYOUTS_MAX`].
    #[inline]
    pub(crate) fn number(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

/// The fields of a subscription, and their keys by place.
struct Fields<'f, N> {
    fields: &'f [CompactField],
    name: N,
}

impl<'n, N: Fn(usize) -> Option<&'n str>> Fields<'_, N> {
    /// The names that are not whole in their words.
    fn long(&self) -> impl Iterator<Item = &'n str> {
        let long = self.fields.iter().enumerate().filter(|(_, field)| !field.name.is_whole_name());
        long.map(|(place, _)| (self.name)(place).unwrap_or_default())
    }

    #[inline]
    fn are(&self, names: &Names) -> bool {
        names.words.len() == self.fields.len()
            && names.words.iter().zip(self.fields).all(|(name, field)| *name == field.name)
            && (names.long.is_empty() || names.long.iter().map(SmolStr::as_str).eq(self.long()))
    }
}

impl LayoutTable {
    fn is_full(&self) -> bool {
        self.digests.len() == LAYOUTS_MAX
    }

    /// The layout of this digest; [`Layout::NONE`] where that of other fields has it.
    #[inline]
    fn find<'n>(
        &self,
        digest: u64,
        fields: &Fields<'_, impl Fn(usize) -> Option<&'n str>>,
    ) -> Option<Layout> {
        let place = self.digests.iter().position(|known| *known == digest)?;
        let is_it = self.names.get(place).is_some_and(|names| fields.are(names));
        Some(if is_it { Layout(place as u8 + 1) } else { Layout::NONE })
    }

    fn add<'n>(&mut self, digest: u64, fields: &Fields<'_, impl Fn(usize) -> Option<&'n str>>) {
        let words = fields.fields.iter().map(|field| field.name).collect();
        self.digests.push(digest);
        self.names.push(Names { words, long: fields.long().map(SmolStr::new).collect() });
    }
}

/// A digest of what one was of, and of this name.
#[inline]
fn mixed(digest: u64, name: Word) -> u64 {
    (digest ^ name.hash()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Element;

    type Name<'n> = (Element, Option<&'n str>);

    fn of(names: &[Name<'_>]) -> Layout {
        let word = |name: &Name<'_>| Word::of_name(name.0, name.1);
        let field = |name| CompactField { name: word(name), word: Word::default(), hash: 0 };
        let fields: Vec<CompactField> = names.iter().map(field).collect();
        Layout::of_fields(&fields, |place| names[place].1)
    }

    #[test]
    fn a_layout_is_of_its_fields_alone() {
        let ab = [(Element::Subject, Some("a")), (Element::Subject, Some("b"))];
        let first = of(&ab);
        let long = "a-name-of-more-than-thirteen-bytes";
        let others: [&[Name<'_>]; 7] = [
            &[(Element::Subject, Some("b")), (Element::Subject, Some("a"))],
            &[(Element::Subject, Some("a")), (Element::Action, Some("b"))],
            &[(Element::Subject, Some("ab"))],
            &[(Element::Subject, Some("")), (Element::Subject, Some("ab"))],
            &[(Element::Subject, None), (Element::Subject, Some("ab"))],
            &[(Element::Subject, Some(long))],
            &[(Element::Action, Some(long))],
        ];
        let layouts: Vec<Layout> = others.iter().map(|names| of(names)).collect();
        for (at, layout) in layouts.iter().enumerate() {
            assert!(*layout != first && layout.number().is_some(), "{at}");
            assert!(!layouts[..at].contains(layout), "{at}");
        }
        assert_eq!(of(&ab), first);
        assert_eq!(of(&[(Element::Subject, Some(long))]), layouts[5]);
        assert_eq!(of(&[(Element::Subject, Some(&"n".repeat(NAMES_MAX + 1)))]), Layout::NONE);
    }

    /// The words of long names are digests, which two names may share.
    #[test]
    fn long_names_of_one_digest_are_not_the_same() {
        let name = Word::of_name(Element::Subject, Some("a-name-of-more-than-thirteen-bytes, again"));
        let fields = [CompactField { name, word: Word::default(), hash: 0 }];
        let one = Layout::of_fields(&fields, |_| Some("a-name-of-more-than-thirteen-bytes, again"));
        assert!(one.number().is_some());
        assert_eq!(Layout::of_fields(&fields, |_| Some("another name")), Layout::NONE);
    }
}
