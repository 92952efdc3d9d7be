//! Which fields subscriptions and requests have: most of a service's have the same, and where a program finds what it reads
//! is then found out once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::path::Element;
use crate::value::Value;

/// The fields of a subscription, or the attributes of a request, in their order. Equal ones are of the very same, but for
/// [`Layout::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Layout(u8);

/// So many layouts have a number, in this process; those that are met later have none.
pub(crate) const LAYOUTS_MAX: usize = 64;

/// The names of a layout take no more bytes.
const NAMES_MAX: usize = 4_096;

type Known = Mutex<HashMap<Box<[u8]>, Layout>>;

static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

thread_local! {
    /// The names that this thread met last, and their layout.
    static LATEST: RefCell<(Vec<u8>, Layout)> = const { RefCell::new((Vec::new(), Layout::NONE)) };
}

/// One part of what a layout is of: what kind of part it is, and its text if it has one.
type Part<'n> = (u8, Option<&'n str>);

/// Above the numbers of elements, which are the parts of subscriptions.
const CATEGORY: u8 = 0x40;
const ATTRIBUTE: u8 = 0x41;
/// Added to the number of a data type.
const TYPE: u8 = 0x80;

/// What stands for the length of a text that is not there.
const NO_TEXT: [u8; 4] = u32::MAX.to_le_bytes();

impl Layout {
    /// Of fields that nobody has seen, or too many.
    pub const NONE: Layout = Layout(0);

    /// Of a subscription's fields.
    pub(crate) fn of_fields<'n>(names: impl Iterator<Item = (Element, Option<&'n str>)> + Clone) -> Layout {
        Layout::of(names.map(|(element, name)| (element as u8, name)))
    }

    /// Of the attributes of a request, in their order: the category where another one begins, the identifier, and the
    /// data types of the values.
    pub fn of_attributes<'n>(
        attributes: impl Iterator<Item = (Option<&'n str>, &'n str, &'n [Value])> + Clone,
    ) -> Layout {
        Layout::of(attributes.flat_map(|(category, id, values)| {
            let category = category.map(|category| (CATEGORY, Some(category)));
            let types = values.iter().map(|value| (TYPE + value.data_type() as u8, None));
            category.into_iter().chain([(ATTRIBUTE, Some(id))]).chain(types)
        }))
    }

    /// Of these parts; of long names nothing is kept.
    fn of<'n>(parts: impl Iterator<Item = Part<'n>> + Clone) -> Layout {
        LATEST.with_borrow_mut(|(latest, layout)| {
            if is_written(latest, parts.clone()) {
                return *layout;
            }
            let length: usize = parts.clone().map(|(_, name)| PART_BYTES + name.map_or(0, str::len)).sum();
            if length > NAMES_MAX {
                return Layout::NONE;
            }
            latest.clear();
            for (kind, name) in parts {
                latest.push(kind);
                latest.extend_from_slice(&name.map_or(NO_TEXT, length_of));
                latest.extend_from_slice(name.unwrap_or_default().as_bytes());
            }
            *layout = Layout::known(latest);
            *layout
        })
    }

    fn known(names: &[u8]) -> Layout {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layout) = known.get(names) {
            return *layout;
        }
        if known.len() == LAYOUTS_MAX {
            return Layout::NONE;
        }
        let layout = Layout(known.len() as u8 + 1);
        known.insert(names.into(), layout);
        layout
    }

    /// A number below [`LAYOUTS_MAX`].
    #[inline]
    pub(crate) fn number(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
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
        let of = |names: &[(Element, Option<&str>)]| Layout::of_fields(names.iter().copied());
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
    }
}
