//! A slab: values by index, with free slots reused. Grows by an eighth, not by doubling, since a
//! million sessions stand here.

/// The number of no place.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
enum SlabSlot<T> {
    Full(T),
    /// The next free place.
    Free(u32),
}

#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<SlabSlot<T>>,
    free: u32,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Slab<T> {
        Slab { places: Vec::new(), free: NONE }
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        match self.places.get(number as usize)? {
            SlabSlot::Full(value) => Some(value),
            SlabSlot::Free(_) => None,
        }
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        match self.places.get_mut(number as usize)? {
            SlabSlot::Full(value) => Some(value),
            SlabSlot::Free(_) => None,
        }
    }

    /// The value's number; none when there are no more numbers.
    pub(super) fn insert(&mut self, value: T) -> Option<u32> {
        if let Some(place) = self.places.get_mut(self.free as usize)
            && let SlabSlot::Free(next) = *place
        {
            let number = std::mem::replace(&mut self.free, next);
            *place = SlabSlot::Full(value);
            return Some(number);
        }
        let number = u32::try_from(self.places.len()).ok().filter(|number| *number != NONE)?;
        if self.places.len() == self.places.capacity() {
            self.places.reserve_exact((self.places.len() / 8).max(4));
        }
        self.places.push(SlabSlot::Full(value));
        Some(number)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let place = self.places.get_mut(number as usize)?;
        match std::mem::replace(place, SlabSlot::Free(self.free)) {
            SlabSlot::Full(value) => {
                self.free = number;
                Some(value)
            }
            SlabSlot::Free(next) => {
                *place = SlabSlot::Free(next);
                None
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.places).filter_map(|(number, place)| match place {
            SlabSlot::Full(value) => Some((number, value)),
            SlabSlot::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_none_is_given_twice() {
        let mut slab = Slab::new();
        let numbers: Vec<u32> = (0..10).map(|value| slab.insert(value).unwrap()).collect();
        assert_eq!(slab.remove(numbers[3]), Some(3));
        assert_eq!(slab.remove(numbers[3]), None);
        assert_eq!(slab.remove(numbers[7]), Some(7));
        let (a, b, c) = (slab.insert(20).unwrap(), slab.insert(21).unwrap(), slab.insert(22).unwrap());
        assert_eq!((a, b, c), (numbers[7], numbers[3], 10));
        assert_eq!(slab.iter().count(), 11);
        assert_eq!(slab.get(NONE), None);
    }
}
