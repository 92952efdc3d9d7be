//! A list that stays in place while it is short.

/// Up to `N` items without asking for memory.
pub(crate) struct Inline<T, const N: usize> {
    few: [T; N],
    /// How many there are; past `N` all of them are in `many`.
    count: usize,
    many: Vec<T>,
}

impl<T: Copy, const N: usize> Inline<T, N> {
    /// An empty list; `filler` stands where there is nothing yet.
    pub(crate) fn new(filler: T) -> Inline<T, N> {
        Inline { few: [filler; N], count: 0, many: Vec::new() }
    }

    #[inline]
    pub(crate) fn extend(&mut self, items: &[T]) {
        let end = self.count + items.len();
        if let Some(room) = self.few.get_mut(self.count..end) {
            room.copy_from_slice(items);
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(self.few.get(..self.count).unwrap_or_default());
            }
            self.many.extend_from_slice(items);
        }
        self.count = end;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.many.clear();
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        match self.few.get_mut(..self.count) {
            Some(few) => few,
            None => &mut self.many,
        }
    }
}
