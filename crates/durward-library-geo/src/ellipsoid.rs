//! The ellipsoids of geographic reference systems, by their codes of EPSG.
//!
//! Only systems of longitude and latitude in degrees from Greenwich are known: places of others would have to be
//! projected back before anything can be measured on the globe.

/// The larger half axis in meters and the inverse flattening.
pub(super) type Ellipsoid = [f64; 2];

const WGS84: Ellipsoid = [6_378_137.0, 298.257_223_563];
const GRS80: Ellipsoid = [6_378_137.0, 298.257_222_101];
const AIRY: Ellipsoid = [6_377_563.396, 299.324_964_6];
const BESSEL: Ellipsoid = [6_377_397.155, 299.152_812_8];
const CLARKE_1866: Ellipsoid = [6_378_206.4, 294.978_698_213_898_2];
const INTERNATIONAL: Ellipsoid = [6_378_388.0, 297.0];
const KRASSOWSKY: Ellipsoid = [6_378_245.0, 298.3];
const WGS72: Ellipsoid = [6_378_135.0, 298.26];

/// The ellipsoid of a system such as `EPSG:4326`; none of an unknown one.
pub(super) fn of(system: &str) -> Option<Ellipsoid> {
    let (authority, code) = system.trim().split_once(':')?;
    if !authority.eq_ignore_ascii_case("EPSG") {
        return None;
    }
    Some(match code.trim() {
        "4326" => WGS84,
        // ETRS89, NAD83, GDA94, NZGD2000, RGF93, SIRGAS 2000, JGD2000.
        "4258" | "4269" | "4283" | "4167" | "4171" | "4674" | "4612" => GRS80,
        // OSGB 1936.
        "4277" => AIRY,
        // Amersfoort, DHDN, MGI, CH1903, CH1903+.
        "4289" | "4314" | "4312" | "4149" | "4150" => BESSEL,
        // NAD27.
        "4267" => CLARKE_1866,
        // ED50, Monte Mario.
        "4230" | "4265" => INTERNATIONAL,
        // Pulkovo 1942.
        "4284" => KRASSOWSKY,
        "4322" => WGS72,
        _ => return None,
    })
}
