//! What programs share: elements that lie in a base, which many programs hold together, and behind them some of their own.

use std::sync::Arc;

/// Elements by number. What is added comes behind all others, and into the base only by [`Arena::settle`].
#[derive(Clone, Debug)]
pub(super) struct Arena<T> {
    base: Arc<[T]>,
    tail: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { base: Arc::default(), tail: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// In the base nothing else is looked at, so that what was built in one go is as fast as a slice.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&T> {
        self.all().get(at)
    }

    #[inline]
    pub(super) fn all(&self) -> Both<'_, T> {
        Both { base: &self.base, tail: &self.tail }
    }

    pub(super) fn len(&self) -> usize {
        self.base.len() + self.tail.len()
    }

    /// How many elements are in the base.
    pub(super) fn base_len(&self) -> usize {
        self.base.len()
    }

    pub(super) fn push(&mut self, element: T) {
        self.tail.push(element);
    }

    /// Takes the last one away, unless it is in the base.
    pub(super) fn pop(&mut self) -> Option<T> {
        self.tail.pop()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        Elements { all: self.all(), next: 0 }
    }

    /// Those behind the base.
    pub(super) fn tail(&self) -> &[T] {
        &self.tail
    }

    /// Those that can be changed: the ones behind the base.
    pub(super) fn tail_mut(&mut self) -> &mut [T] {
        &mut self.tail
    }

    /// Makes all elements the base, where there is none yet.
    pub(super) fn settle(&mut self) {
        if self.base.is_empty() {
            self.base = std::mem::take(&mut self.tail).into();
        }
    }
}

/// The elements of an [`Arena`], borrowed.
#[derive(Debug)]
pub(crate) struct Both<'a, T> {
    base: &'a [T],
    tail: &'a [T],
}

impl<T> Clone for Both<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Both<'_, T> {}

impl<'a, T> Both<'a, T> {
    #[inline]
    pub(crate) fn get(self, at: usize) -> Option<&'a T> {
        match self.base.get(at) {
            Some(element) => Some(element),
            None => self.later(at),
        }
    }

    #[cold]
    fn later(self, at: usize) -> Option<&'a T> {
        self.tail.get(at.checked_sub(self.base.len())?)
    }
}

/// One after the other.
struct Elements<'a, T> {
    all: Both<'a, T>,
    next: usize,
}

impl<'a, T> Iterator for Elements<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let element = self.all.get(self.next)?;
        self.next += 1;
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.all.base.len() + self.all.tail.len() - self.next;
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Elements<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers stay what they are when elements become the base, and when others come behind them.
    #[test]
    fn elements_keep_their_numbers() {
        let mut arena = Arena::default();
        (0..3).for_each(|element| arena.push(element));
        assert_eq!((arena.len(), arena.base_len()), (3, 0));
        arena.settle();
        assert_eq!((arena.len(), arena.base_len()), (3, 3));
        let mut longer = arena.clone();
        longer.push(3);
        longer.settle();
        assert_eq!((longer.len(), longer.base_len()), (4, 3));
        assert_eq!((arena.get(3), longer.get(3), longer.get(4)), (None, Some(&3), None));
        assert!(longer.iter().eq(&[0, 1, 2, 3]));
        assert_eq!(longer.iter().len(), 4);
        assert_eq!((longer.pop(), longer.pop()), (Some(3), None));
    }
}
