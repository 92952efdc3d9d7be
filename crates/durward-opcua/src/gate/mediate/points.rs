//! Continuation points that the server gave to this session, with what each belongs to: servers go on by the point, whatever stands beside it.

use std::collections::HashMap;

use super::walk::{DecodeError, WalkResult};

/// A point is the server's note to itself: longer ones are no honest server's.
const POINT_BYTES_MAX: usize = 8192;

/// Bounded: the oldest goes where one too many comes, as Part 4, 7.9 allows servers to do.
#[derive(Debug)]
pub(super) struct ContinuationPoints<T> {
    max: usize,
    count: u64,
    points: HashMap<Vec<u8>, (u64, T)>,
}

impl<T> ContinuationPoints<T> {
    pub(super) fn new(max: usize) -> Self {
        ContinuationPoints { max, count: 0, points: HashMap::new() }
    }

    /// Keeps a point; an empty one is none.
    ///
    /// # Errors
    /// [`DecodeError`] where it is too long.
    pub(super) fn keep(&mut self, point: Option<&[u8]>, of: T) -> WalkResult<()> {
        let Some(point) = point.filter(|point| !point.is_empty()) else {
            return Ok(());
        };
        if point.len() > POINT_BYTES_MAX {
            return Err(DecodeError);
        }
        if self.points.len() >= self.max && !self.points.contains_key(point) {
            self.drop_oldest();
        }
        self.count += 1;
        self.points.insert(point.to_vec(), (self.count, of));
        Ok(())
    }

    /// Uses a point up.
    pub(super) fn take(&mut self, point: &[u8]) -> Option<T> {
        self.points.remove(point).map(|(_, of)| of)
    }

    fn drop_oldest(&mut self) {
        let oldest =
            self.points.iter().min_by_key(|(_, (number, _))| *number).map(|(point, _)| point.clone());
        if let Some(oldest) = oldest {
            self.points.remove(&oldest);
        }
    }
}
