//! How large geometries may be, and how long may be computed with them.

use super::Refused;
use super::geometry::{Geometry, SimpleGeometry};

/// The longest text of a geometry that is read, in bytes, as in SAPL.
pub(super) const INPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How many places a geometry may have, as in SAPL.
pub(super) const VERTICES_MAX: usize = 100_000;

/// How many members a geometry may have, as in SAPL.
pub(super) const MEMBERS_MAX: usize = 50_000;

/// How many pairs of members two collections may have that are compared member by member, as in SAPL.
pub(super) const MEMBER_PAIRS_MAX: usize = 1_000_000;

/// How deep parentheses may nest in WKT, as in SAPL.
pub(super) const WKT_DEPTH_MAX: usize = 128;

/// How many comparisons of segments and places one call may take: half a second. Of two geometries of 100,000 places
/// each segment can cross each of the other; SAPL compares them all, and its node stands still meanwhile.
pub(super) const WORK_MAX: u64 = 50_000_000;

/// How many places two geometries may cross at: each makes a node and up to four edges.
pub(super) const CROSSINGS_MAX: usize = 500_000;

/// # Errors
/// The geometry has too many places or members.
pub(super) fn check_size(geometry: &Geometry) -> Result<(), Refused> {
    let mut vertices = 0_usize;
    geometry.each_simple(&mut |simple| {
        vertices += match simple {
            SimpleGeometry::Point(_) => 1,
            SimpleGeometry::Line(line) => line.len(),
            SimpleGeometry::Polygon(polygon) => polygon.rings().map(<[_]>::len).sum(),
        }
    });
    if vertices > VERTICES_MAX || geometry.member_count() > MEMBERS_MAX {
        return Err(Refused::TooComplex);
    }
    Ok(())
}

/// What is left of [`WORK_MAX`].
pub(super) struct WorkLeft(u64);

impl WorkLeft {
    pub(super) fn new() -> WorkLeft {
        WorkLeft(WORK_MAX)
    }

    /// # Errors
    /// There is less left.
    pub(super) fn spend(&mut self, comparisons: usize) -> Result<(), Refused> {
        let spent = u64::try_from(comparisons).unwrap_or(u64::MAX);
        self.0 = self.0.checked_sub(spent).ok_or(Refused::TooCostly)?;
        Ok(())
    }
}
