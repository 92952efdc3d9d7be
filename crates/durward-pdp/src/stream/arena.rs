//! Numbered places for things that come and go: subscriptions, streams, groups.
//!
//! Places are kept in blocks that never move: growing copies nothing and leaves at most one block unused, where a
//! vector of a million subscriptions would have doubled.

/// How many places one block has.
const BLOCK: usize = 1024;

/// Things by the number of their place. Numbers of removed things are given again.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    blocks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    len: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena { blocks: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T> Arena<T> {
    /// Puts a thing into a free place. `None` when all numbers are taken.
    pub(crate) fn insert(&mut self, thing: T) -> Option<u32> {
        if let Some(id) = self.free.pop() {
            *self.place(id)? = Some(thing);
            self.len += 1;
            return Some(id);
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let id = u32::try_from(self.len).ok()?;
        self.blocks.last_mut()?.push(Some(thing));
        self.len += 1;
        Some(id)
    }

    /// Takes a thing out.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let thing = self.place(id)?.take()?;
        self.free.push(id);
        self.len -= 1;
        Some(thing)
    }

    /// The thing at this place.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        let id = id as usize;
        self.blocks.get(id / BLOCK)?.get(id % BLOCK)?.as_ref()
    }

    /// The thing at this place, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.place(id)?.as_mut()
    }

    /// How many things there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The numbers of all things.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        let places = self.blocks.iter().flatten();
        (0..).zip(places).filter_map(|(id, place)| place.is_some().then_some(id))
    }

    #[inline]
    fn place(&mut self, id: u32) -> Option<&mut Option<T>> {
        let id = id as usize;
        self.blocks.get_mut(id / BLOCK)?.get_mut(id % BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_before_new_ones() {
        let mut arena = Arena::default();
        let ids: Vec<u32> = (0..3000).map(|n| arena.insert(n).unwrap()).collect();
        assert_eq!(ids, (0..3000).collect::<Vec<u32>>());
        assert_eq!(arena.remove(17), Some(17));
        assert_eq!(arena.remove(17), None);
        assert_eq!(arena.remove(2999), Some(2999));
        assert_eq!((arena.len(), arena.get(17), arena.get(18)), (2998, None, Some(&18)));
        assert_eq!(arena.insert(0), Some(2999));
        assert_eq!(arena.insert(1), Some(17));
        assert_eq!(arena.insert(2), Some(3000));
        assert_eq!(arena.ids().count(), 3001);
        assert_eq!(arena.get(4000), None);
    }
}
