//! Several watchers of one run.

use std::fmt;

use super::{RunPosition, RunSecond, RunWatcher};
use crate::record::MeasuredPoint;

/// Several watchers of one run: each is told everything, in the order in which they were added.
#[derive(Default)]
pub struct Watchers<'w>(Vec<Box<dyn RunWatcher + 'w>>);

impl<'w> Watchers<'w> {
    /// Adds one.
    pub fn add(&mut self, watcher: impl RunWatcher + 'w) {
        self.0.push(Box::new(watcher));
    }
}

impl fmt::Debug for Watchers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watchers({})", self.0.len())
    }
}

impl RunWatcher for Watchers<'_> {
    fn generator_limit(&mut self) {
        self.0.iter_mut().for_each(|one| one.generator_limit());
    }

    fn begin(&mut self, place: &RunPosition) {
        self.0.iter_mut().for_each(|one| one.begin(place));
    }

    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        self.0.iter_mut().for_each(|one| one.second(place, moment));
    }

    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        self.0.iter_mut().for_each(|one| one.end(place, point));
    }
}
