//! Pictures as SVG.

use std::fmt::Write;

use super::scene::{Anchor, Colour, Place, Scene, Shape, TEXT_HEIGHT};

/// The text of a picture.
pub(super) fn text(scene: &Scene) -> String {
    let (width, height, title) = (scene.width, scene.height, escaped(&scene.title));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"{TEXT_HEIGHT}\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for shape in &scene.shapes {
        // Writing to a string cannot fail.
        let _ = write_shape(&mut text, shape);
    }
    text + "</svg>\n"
}

fn write_shape(text: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Line { points, colour, width, dash } => {
            let dashes = dash.lengths().map(|(on, off)| format!(" stroke-dasharray=\"{on} {off}\""));
            writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{}/>",
                places(points),
                hex(*colour),
                dashes.unwrap_or_default()
            )
        }
        Shape::Area { points, colour } => {
            writeln!(text, "<polygon points=\"{}\" fill=\"{}\"/>", places(points), hex(*colour))
        }
        Shape::Text { place, text: words, anchor, colour, is_bold } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if *is_bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{}\"{weight}>{}</text>",
                place.x,
                place.y,
                hex(*colour),
                escaped(words)
            )
        }
    }
}

fn places(points: &[Place]) -> String {
    let points: Vec<String> = points.iter().map(|at| format!("{:.1},{:.1}", at.x, at.y)).collect();
    points.join(" ")
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text as it stands in XML and HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
