//! Which fields subscriptions have: most of a service's have the same, and where a program finds what it reads is then
//! found out once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::path::Element;

/// The fields of a subscription in their order. Equal ones are of the very same fields, but for [`Layout::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout(u8);

/// So many layouts have a number, in this process; those that are met later have none.
pub(crate) const LAYOUTS_MAX: usize = 64;

/// The names of a layout take no more bytes.
const NAMES_MAX: usize = 2_048;

type Known = Mutex<HashMap<Box<[u8]>, Layout>>;

static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

thread_local! {
    /// The names that this thread met last, and room for the next ones.
    static LATEST: RefCell<(Vec<u8>, Layout, Vec<u8>)> = const { RefCell::new((Vec::new(), Layout::NONE, Vec::new())) };
}

impl Layout {
    /// Of fields that nobody has seen, or too many.
    pub(crate) const NONE: Layout = Layout(0);

    /// Of these fields; of long names nothing is kept.
    pub(crate) fn of<'n>(names: impl Iterator<Item = (Element, Option<&'n str>)> + Clone) -> Layout {
        if names.clone().map(|(_, name)| name.map_or(0, str::len)).sum::<usize>() > NAMES_MAX {
            return Layout::NONE;
        }
        LATEST.with_borrow_mut(|(latest, layout, next)| {
            next.clear();
            for (element, name) in names {
                next.push(element as u8);
                // No length is that of a name that is not there.
                let length = name.map_or(u32::MAX, |name| u32::try_from(name.len()).unwrap_or(u32::MAX - 1));
                next.extend_from_slice(&length.to_le_bytes());
                next.extend_from_slice(name.unwrap_or_default().as_bytes());
            }
            if next != latest {
                *layout = Layout::known(next);
                std::mem::swap(latest, next);
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_of_its_fields_alone() {
        let of = |names: &[(Element, Option<&str>)]| Layout::of(names.iter().copied());
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
