//! A picture as a list of shapes: drawn as SVG and as PNG alike.

/// A colour: red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const INK: Colour = [0x22, 0x22, 0x22];
pub(super) const FAINT: Colour = [0x5c, 0x5c, 0x5c];
pub(super) const GRID: Colour = [0xe2, 0xe2, 0xe2];
pub(super) const BAND: Colour = [0xf6, 0xf6, 0xf6];

/// The height of a line of text, and how wide a character is at most on average.
pub(super) const TEXT_HEIGHT: f64 = 13.0;
pub(super) const CHARACTER_WIDTH: f64 = 7.0;

/// A place, from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
}

pub(super) const fn at(x: f64, y: f64) -> Place {
    Place { x, y }
}

/// Where a text lies about its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
}

impl Dash {
    /// How long it is drawn, and not drawn.
    pub(super) fn lengths(self) -> Option<(f64, f64)> {
        match self {
            Dash::Solid => None,
            Dash::Dashed => Some((7.0, 4.0)),
            Dash::Dotted => Some((2.0, 4.0)),
        }
    }
}

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    Line { points: Vec<Place>, colour: Colour, width: f64, dash: Dash },
    Area { points: Vec<Place>, colour: Colour },
    Text { place: Place, text: String, anchor: Anchor, colour: Colour, is_bold: bool },
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    /// What it shows, for those who cannot see it.
    pub(super) title: String,
    pub(super) shapes: Vec<Shape>,
}

/// What marks a value. Colours alone do not tell everybody apart, and not on every printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    Fall,
    Bar,
    Hexagon,
    Plate,
}

impl Mark {
    /// The corners, about this place.
    fn corners(self, place: Place) -> Vec<Place> {
        let ring = |corners: u32, turn: f64, radius: f64| {
            let angle = |corner: u32| std::f64::consts::TAU * (f64::from(corner) / f64::from(corners) + turn);
            let corner = |corner| {
                let (sin, cos) = angle(corner).sin_cos();
                at(place.x + radius * cos, place.y + radius * sin)
            };
            (0..corners).map(corner).collect()
        };
        let oblong = |width: f64, height: f64| {
            let sides = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            sides.map(|(x, y)| at(place.x + x * width, place.y + y * height)).into()
        };
        match self {
            Mark::Circle => ring(24, 0.0, 4.5),
            Mark::Square => oblong(4.0, 4.0),
            Mark::Triangle => ring(3, 0.75, 5.6),
            Mark::Diamond => ring(4, 0.0, 5.6),
            Mark::Fall => ring(3, 0.25, 5.6),
            Mark::Bar => oblong(2.2, 5.5),
            Mark::Hexagon => ring(6, 0.0, 5.0),
            Mark::Plate => oblong(5.5, 2.2),
        }
    }
}

impl Scene {
    pub(super) fn new(title: &str, width: f64, height: f64) -> Scene {
        Scene { width, height, title: title.to_owned(), shapes: Vec::new() }
    }

    pub(super) fn line(&mut self, points: Vec<Place>, colour: Colour, width: f64, dash: Dash) {
        self.shapes.push(Shape::Line { points, colour, width, dash });
    }

    /// A rectangle below everything that was drawn before.
    pub(super) fn underlay(&mut self, from: Place, to: Place, colour: Colour) {
        let points = vec![from, at(to.x, from.y), to, at(from.x, to.y)];
        self.shapes.insert(0, Shape::Area { points, colour });
    }

    pub(super) fn mark(&mut self, mark: Mark, place: Place, colour: Colour) {
        self.shapes.push(Shape::Area { points: mark.corners(place), colour });
    }

    pub(super) fn text(&mut self, place: Place, text: &str, anchor: Anchor, colour: Colour) {
        self.shapes.push(Shape::Text { place, text: text.to_owned(), anchor, colour, is_bold: false });
    }

    pub(super) fn bold(&mut self, place: Place, text: &str, colour: Colour) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { place, text, anchor: Anchor::Start, colour, is_bold: true });
    }
}
