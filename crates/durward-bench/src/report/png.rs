//! Pictures as PNG, for where SVG cannot be shown.
//!
//! No font of the machine is needed: text is written with a bitmap font, at a scale at which it is as large as in the SVG.

use ab_glyph_rasterizer::{Point as Corner, Rasterizer, point};
use embedded_graphics::Drawable;
use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Point, Size};
use embedded_graphics::mono_font::{MonoTextStyle, iso_8859_1::FONT_10X20};
use embedded_graphics::pixelcolor::BinaryColor;
use embedded_graphics::text::{Alignment, Baseline, Text, TextStyleBuilder};
use miniz_oxide::deflate::compress_to_vec_zlib;

use super::scene::{Anchor, Colour, Dash, Place, Scene, Shape};

/// Pixels for a unit of the picture.
const SCALE: f64 = 1.5;
/// The largest picture, in pixels.
const PIXELS_MAX: usize = 64 << 20;
const WHITE: u8 = 0xff;
/// How hard compressing tries, of 10.
const COMPRESSION: u8 = 7;

/// The bytes of a file; `None` of a picture that is too large.
pub(super) fn bytes(scene: &Scene) -> Option<Vec<u8>> {
    let mut canvas = Canvas::new(scene)?;
    for shape in &scene.shapes {
        match shape {
            Shape::Line { points, colour, width, dash } => canvas.line(points, *colour, *width, *dash),
            Shape::Area { points, colour } => canvas.area(points, *colour),
            Shape::Text { place, text, anchor, colour, is_bold } => {
                canvas.text(*place, text, *anchor, *colour);
                if *is_bold {
                    let beside = Place { x: place.x + 1.0 / SCALE, y: place.y };
                    canvas.text(beside, text, *anchor, *colour);
                }
            }
        }
    }
    Some(canvas.encode())
}

/// Three bytes a pixel, row by row.
struct Canvas {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Canvas {
    fn new(scene: &Scene) -> Option<Canvas> {
        let (width, height) = (pixels(scene.width), pixels(scene.height));
        let count = width.checked_mul(height).filter(|count| (1..=PIXELS_MAX).contains(count))?;
        Some(Canvas { width, height, bytes: vec![WHITE; count * 3] })
    }

    /// Lays this much of a colour, from 0 to 1, over a pixel.
    fn blend(&mut self, x: usize, y: usize, colour: Colour, part: f32) {
        if x >= self.width {
            return;
        }
        let start = (y * self.width + x) * 3;
        let Some(pixel) = self.bytes.get_mut(start..start + 3) else { return };
        for (byte, colour) in pixel.iter_mut().zip(colour) {
            let mixed = f32::from(*byte) + (f32::from(colour) - f32::from(*byte)) * part.clamp(0.0, 1.0);
            *byte = to_byte(mixed);
        }
    }

    fn area(&mut self, points: &[Place], colour: Colour) {
        let corners: Vec<Corner> = points.iter().map(|place| corner(*place)).collect();
        let edge = |least: bool, of: fn(&Corner) -> f32| {
            let all = corners.iter().map(of);
            if least { all.fold(f32::MAX, f32::min) } else { all.fold(0.0, f32::max) }
        };
        let (left, top) = (edge(true, |it| it.x).floor().max(0.0), edge(true, |it| it.y).floor().max(0.0));
        let (right, bottom) = (edge(false, |it| it.x).ceil() + 1.0, edge(false, |it| it.y).ceil() + 1.0);
        let (width, height) =
            (to_count(right - left).min(self.width), to_count(bottom - top).min(self.height));
        let mut raster = Rasterizer::new(width.max(1), height.max(1));
        let moved = |it: &Corner| point(it.x - left, it.y - top);
        for (from, to) in corners.iter().zip(corners.iter().cycle().skip(1)) {
            raster.draw_line(moved(from), moved(to));
        }
        let (left, top) = (to_count(left), to_count(top));
        raster.for_each_pixel_2d(|x, y, part| self.blend(left + x as usize, top + y as usize, colour, part));
    }

    fn line(&mut self, points: &[Place], colour: Colour, width: f64, dash: Dash) {
        for (from, to) in points.iter().zip(points.iter().skip(1)) {
            for (from, to) in pieces(*from, *to, dash) {
                self.area(&band(from, to, width), colour);
            }
        }
    }

    fn text(&mut self, place: Place, text: &str, anchor: Anchor, colour: Colour) {
        let alignment = match anchor {
            Anchor::Start => Alignment::Left,
            Anchor::Middle => Alignment::Center,
            Anchor::End => Alignment::Right,
        };
        let style = TextStyleBuilder::new().alignment(alignment).baseline(Baseline::Alphabetic).build();
        let font = MonoTextStyle::new(&FONT_10X20, BinaryColor::On);
        let start = Point::new(to_pixel(place.x), to_pixel(place.y));
        let mut pen = Pen { canvas: self, colour };
        // The pen never fails.
        let _ = Text::with_text_style(text, start, font, style).draw(&mut pen);
    }

    /// The file, as the standard of PNG defines it: the header, the compressed rows, the end.
    fn encode(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.bytes.len() + self.height);
        for row in self.bytes.chunks(self.width * 3) {
            // Each row says how it is filtered: not.
            rows.push(0);
            rows.extend_from_slice(row);
        }
        let mut header = Vec::new();
        for side in [self.width, self.height] {
            header.extend(u32::try_from(side).unwrap_or(u32::MAX).to_be_bytes());
        }
        // Eight bits for each of three colours; compression, filters and order as all have them.
        header.extend([8, 2, 0, 0, 0]);
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        write_chunk(&mut file, *b"IHDR", &header);
        write_chunk(&mut file, *b"IDAT", &compress_to_vec_zlib(&rows, COMPRESSION));
        write_chunk(&mut file, *b"IEND", &[]);
        file
    }
}

/// Draws the pixels of letters.
struct Pen<'c> {
    canvas: &'c mut Canvas,
    colour: Colour,
}

impl OriginDimensions for Pen<'_> {
    fn size(&self) -> Size {
        let side = |side| u32::try_from(side).unwrap_or(u32::MAX);
        Size::new(side(self.canvas.width), side(self.canvas.height))
    }
}

impl DrawTarget for Pen<'_> {
    type Color = BinaryColor;
    type Error = std::convert::Infallible;

    fn draw_iter<P: IntoIterator<Item = Pixel<BinaryColor>>>(
        &mut self,
        pixels: P,
    ) -> Result<(), Self::Error> {
        for Pixel(at, colour) in pixels {
            if let (true, Ok(x), Ok(y)) = (colour.is_on(), usize::try_from(at.x), usize::try_from(at.y)) {
                self.canvas.blend(x, y, self.colour, 1.0);
            }
        }
        Ok(())
    }
}

fn write_chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    file.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    file.extend(name);
    file.extend(data);
    let sum = name.iter().chain(data).fold(u32::MAX, |sum, byte| step(sum, *byte));
    file.extend((!sum).to_be_bytes());
}

/// One byte of the check sum that PNG asks for (CRC-32 of ISO 3309), bit by bit.
fn step(sum: u32, byte: u8) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg()))
}

/// The pieces of a line that are drawn.
fn pieces(from: Place, to: Place, dash: Dash) -> Vec<(Place, Place)> {
    let Some((on, off)) = dash.lengths() else { return vec![(from, to)] };
    let length = (to.x - from.x).hypot(to.y - from.y);
    let along = |part: f64| {
        let part = (part / length).min(1.0);
        Place { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
    };
    let starts = std::iter::successors(Some(0.0), |start| Some(start + on + off));
    starts.take_while(|start| *start < length).map(|start| (along(start), along(start + on))).collect()
}

/// The corners of a line of some width; its ends go half of that further.
fn band(from: Place, to: Place, width: f64) -> [Place; 4] {
    let length = (to.x - from.x).hypot(to.y - from.y).max(1e-9);
    let (x, y) = ((to.x - from.x) / length * width / 2.0, (to.y - from.y) / length * width / 2.0);
    [
        Place { x: from.x - x - y, y: from.y - y + x },
        Place { x: to.x + x - y, y: to.y + y + x },
        Place { x: to.x + x + y, y: to.y + y - x },
        Place { x: from.x - x + y, y: from.y - y - x },
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "pictures are a few thousand pixels wide")]
fn corner(place: Place) -> Corner {
    point((place.x * SCALE) as f32, (place.y * SCALE) as f32)
}

#[expect(clippy::cast_possible_truncation, reason = "pictures are a few thousand pixels wide")]
fn to_pixel(length: f64) -> i32 {
    (length * SCALE).round() as i32
}

fn pixels(length: f64) -> usize {
    usize::try_from(to_pixel(length)).unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative, and small")]
fn to_count(length: f32) -> usize {
    length.max(0.0) as usize
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
fn to_byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::super::scene::at;
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec_zlib;

    /// A picture of 20 by 10 pixels, most of it red.
    fn picture() -> Vec<u8> {
        let mut scene = Scene::new("red", 20.0 / SCALE, 10.0 / SCALE);
        scene.underlay(at(0.0, 0.0), at(12.0, 4.0), [0xff, 0, 0]);
        bytes(&scene).unwrap()
    }

    #[test]
    fn a_file_has_the_parts_that_the_standard_asks_for() {
        let file = picture();
        assert_eq!(&file[..16], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert_eq!((&file[16..24], &file[24..29]), (&[0, 0, 0, 20, 0, 0, 0, 10][..], &[8, 2, 0, 0, 0][..]));
        // The check sum of an empty end is the same in every file.
        assert_eq!(&file[file.len() - 12..], b"\0\0\0\0IEND\xae\x42\x60\x82");
    }

    #[test]
    fn pixels_are_where_shapes_were() {
        let file = picture();
        let start = 8 + 12 + 13;
        let length = u32::from_be_bytes(file[start..start + 4].try_into().unwrap()) as usize;
        assert_eq!(&file[start + 4..start + 8], b"IDAT");
        let rows = decompress_to_vec_zlib(&file[start + 8..start + 8 + length]).unwrap();
        assert_eq!(rows.len(), (20 * 3 + 1) * 10);
        let pixel = |x: usize, y: usize| &rows[y * 61 + 1 + x * 3..][..3];
        assert_eq!(
            (pixel(0, 0), pixel(17, 5), pixel(19, 0), pixel(0, 9)),
            (&[0xff, 0, 0][..], &[0xff, 0, 0][..], &[0xff; 3][..], &[0xff; 3][..])
        );
    }

    #[test]
    fn a_picture_without_an_end_is_not_drawn() {
        assert_eq!(bytes(&Scene::new("long", 1_000.0, 1e9)), None);
        assert_eq!(bytes(&Scene::new("nothing", 0.0, 10.0)), None);
    }
}
