//! Pictures as PNG, for where SVG cannot be shown, and the fonts of those and of PDF: DejaVu, which comes with the binary, so that
//! machines without fonts draw the same.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::error::DrawError;
use super::scene::Scene;
use super::svg::svg;

/// Pixels for a unit of the picture.
const SCALE: f32 = 2.0;
/// The largest picture, in pixels.
const PIXELS_MAX: f64 = 67_108_864.0;

/// The bytes of a PNG file.
///
/// # Errors
/// A picture that is too large.
pub fn png(scene: &Scene) -> Result<Vec<u8>, DrawError> {
    let (width, height) = (scene.width * f64::from(SCALE), scene.height * f64::from(SCALE));
    if !(width * height <= PIXELS_MAX && width >= 1.0 && height >= 1.0) {
        return Err(DrawError::new(format!("a picture of {width:.0} by {height:.0} pixels is too large")));
    }
    let tree = tree(&svg(scene))?;
    let pixmap = Pixmap::new(pixels(width), pixels(height));
    let mut pixmap = pixmap.ok_or_else(|| DrawError::new("a picture without a size"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| DrawError::new(error.to_string()))
}

/// An SVG text, read.
pub(crate) fn tree(svg: &str) -> Result<Tree, DrawError> {
    let options = Options {
        fontdb: fonts(),
        font_family: "DejaVu Sans".to_owned(),
        // Pictures refer to nothing outside.
        ..Options::default()
    };
    Tree::from_str(svg, &options).map_err(|error| DrawError::new(error.to_string()))
}

fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = fontdb::Database::new();
        for face in [dejavu::sans::regular(), dejavu::sans::bold(), dejavu::sans_mono::regular()] {
            fonts.load_font_source(fontdb::Source::Binary(Arc::new(face)));
        }
        fonts.set_sans_serif_family("DejaVu Sans");
        fonts.set_monospace_family("DejaVu Sans Mono");
        Arc::new(fonts)
    };
    Arc::clone(FONTS.get_or_init(load))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked against PIXELS_MAX")]
fn pixels(length: f64) -> u32 {
    length.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Anchor, Colour, Point};

    #[test]
    fn pixels_are_where_shapes_were() {
        let mut scene = Scene::new("t", "d", 20.0, 10.0);
        scene.area(
            [(0.0, 0.0), (18.0, 0.0), (18.0, 6.0), (0.0, 6.0)].map(|(x, y)| Point::at(x, y)).into(),
            Colour::Ink,
            1.0,
        );
        let picture = Pixmap::decode_png(&png(&scene).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (40, 20));
        let red = |x, y| picture.pixel(x, y).unwrap().red();
        assert_eq!((red(0, 0), red(35, 11), red(38, 1), red(1, 18)), (0x22, 0x22, 0xff, 0xff));
    }

    #[test]
    fn letters_are_drawn_without_a_font_of_the_machine() {
        let mut scene = Scene::new("t", "d", 60.0, 20.0);
        scene.text(Point::at(2.0, 15.0), "mmm", Anchor::Start, Colour::Ink);
        let picture = Pixmap::decode_png(&png(&scene).unwrap()).unwrap();
        assert!(picture.pixels().iter().filter(|pixel| pixel.red() < 0x80).count() > 50);
    }

    #[test]
    fn a_picture_without_an_end_is_not_drawn() {
        assert!(png(&Scene::new("long", "", 1_000.0, 1e9)).is_err());
        assert!(png(&Scene::new("nothing", "", 0.0, 10.0)).is_err());
    }
}
