use super::*;
pub(super) fn buffer(_: &Geometry, _: f64, _: &mut Work) -> Result<Geometry, Refused> {
    Err(Refused::Invalid)
}
