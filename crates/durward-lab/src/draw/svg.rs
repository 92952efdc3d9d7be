//! Pictures as SVG. Every shape has its light colour as an attribute and its role as a class: a style sheet that knows the
//! classes, [`STYLE`], turns the picture dark.

use std::fmt::Write;

use super::scene::{Anchor, Colour, Point, Scene, Shape, TEXT_HEIGHT};

/// What a page that shows pictures puts in its style sheet: dark colours for those who read in the dark, never on paper.
pub const STYLE: &str = "@media screen and (prefers-color-scheme:dark){\
.fi{fill:#ececec}.ki{stroke:#ececec}.ff{fill:#b4b4b4}.kf{stroke:#b4b4b4}.fg{fill:#3d3d3d}.kg{stroke:#3d3d3d}\
.fb{fill:#232629}.kb{stroke:#232629}.fp{fill:#16181a}.kp{stroke:#16181a}.fx{fill:#7d7d7d}.kx{stroke:#7d7d7d}\
.f0{fill:#4aa8e8}.k0{stroke:#4aa8e8}.f1{fill:#ff8c42}.k1{stroke:#ff8c42}.f2{fill:#2fc99b}.k2{stroke:#2fc99b}\
.f3{fill:#e59ac6}.k3{stroke:#e59ac6}.f4{fill:#f2bd3c}.k4{stroke:#f2bd3c}.f5{fill:#9fd8f7}.k5{stroke:#9fd8f7}\
.f6{fill:#a8a8a8}.k6{stroke:#a8a8a8}.f7{fill:#ffffff}.k7{stroke:#ffffff}}";

/// The text of a picture, to stand in a page that has [`STYLE`].
pub fn svg(scene: &Scene) -> String {
    element(scene, "")
}

/// The text of a picture in a file of its own.
pub fn svg_file(scene: &Scene) -> String {
    element(scene, &format!("<style>{STYLE}</style>\n"))
}

fn element(scene: &Scene, style: &str) -> String {
    let (width, height) = (scene.width, scene.height);
    let (title, description) = (escaped(&scene.title), escaped(&scene.description));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" \
         font-size=\"{TEXT_HEIGHT}\">\n\
         <title>{title}</title>\n<desc>{description}</desc>\n{style}<rect class=\"fp\" width=\"{width:.0}\" \
         height=\"{height:.0}\" fill=\"#ffffff\"/>\n"
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
                "<polyline class=\"k{}\" points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{}/>",
                class(*colour),
                coordinates(points),
                light(*colour),
                dashes.unwrap_or_default()
            )
        }
        Shape::Area { points, colour, opacity } => {
            let opacity =
                if *opacity < 1.0 { format!(" fill-opacity=\"{opacity:.2}\"") } else { String::new() };
            let (class, light) = (class(*colour), light(*colour));
            writeln!(
                text,
                "<polygon class=\"f{class}\" points=\"{}\" fill=\"{light}\"{opacity}/>",
                coordinates(points)
            )
        }
        Shape::Mark { mark, place, colour, is_hollow, title } => {
            let fill = if *is_hollow { Colour::Paper } else { *colour };
            let title =
                if title.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(title)) };
            writeln!(
                text,
                "<polygon class=\"m f{} k{}\" points=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\">{title}</polygon>",
                class(fill),
                class(*colour),
                coordinates(&mark.corners(*place)),
                light(fill),
                light(*colour)
            )
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
                "<text class=\"f{}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{}\"{weight}>{}</text>",
                class(*colour),
                place.x,
                place.y,
                light(*colour),
                escaped(words)
            )
        }
    }
}

fn coordinates(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|at| format!("{:.1},{:.1}", at.x, at.y)).collect();
    points.join(" ")
}

/// What stands behind `f` (fill) and `k` (stroke) in the names of classes.
fn class(colour: Colour) -> char {
    match colour {
        Colour::Ink => 'i',
        Colour::Faint => 'f',
        Colour::Grid => 'g',
        Colour::Band => 'b',
        Colour::Paper => 'p',
        Colour::Grey => 'x',
        Colour::Series(number) => match number % 8 {
            0 => '0',
            1 => '1',
            2 => '2',
            3 => '3',
            4 => '4',
            5 => '5',
            6 => '6',
            _ => '7',
        },
    }
}

/// Okabe and Ito without the yellow that is too faint on white.
fn light(colour: Colour) -> &'static str {
    match colour {
        Colour::Ink => "#222222",
        Colour::Faint => "#5c5c5c",
        Colour::Grid => "#e2e2e2",
        Colour::Band => "#f6f6f6",
        Colour::Paper => "#ffffff",
        Colour::Grey => "#9a9a9a",
        Colour::Series(number) => match number % 8 {
            0 => "#0072b2",
            1 => "#d55e00",
            2 => "#009e73",
            3 => "#cc79a7",
            4 => "#e69f00",
            5 => "#56b4e9",
            6 => "#555555",
            _ => "#000000",
        },
    }
}

/// Text as it stands in XML and HTML, in text and in attributes. What XML 1.0 cannot say (control characters), and what turns the
/// direction of writing, is U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            other if other.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
