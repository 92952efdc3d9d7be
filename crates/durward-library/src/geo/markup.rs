use super::*;
pub(super) enum Language { Kml, Gml2, Gml3 }
impl Language { pub(super) fn name(&self) -> &'static str { "GML" } }
pub(super) fn read(_: &str, _: Language) -> Result<Vec<Shape>, Refused> { Err(Refused::Invalid) }
