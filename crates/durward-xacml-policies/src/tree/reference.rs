//! References to policies by id and version (XACML 3.0, sections 5.10 to 5.13).

use smol_str::SmolStr;

use super::{Version, VersionPattern, XmlLocation};

/// `PolicyIdReference` or `PolicySetIdReference` (XACML 3.0, sections 5.10 and 5.11).
#[derive(Clone, Debug, PartialEq)]
pub struct IdReference {
    /// Where it is written.
    pub place: XmlLocation,
    /// The id of the policy or policy set meant.
    pub id: SmolStr,
    /// `Version`.
    pub version: Option<VersionPattern>,
    /// `EarliestVersion`.
    pub earliest: Option<VersionPattern>,
    /// `LatestVersion`.
    pub latest: Option<VersionPattern>,
}

impl IdReference {
    /// Whether a version satisfies everything the reference asks of it. Several may: the newest is to be taken.
    pub fn accepts(&self, version: &Version) -> bool {
        self.version.as_ref().is_none_or(|pattern| pattern.matches(version))
            && self.earliest.as_ref().is_none_or(|bound| bound.accepts_as_earliest(version))
            && self.latest.as_ref().is_none_or(|bound| bound.accepts_as_latest(version))
    }
}
