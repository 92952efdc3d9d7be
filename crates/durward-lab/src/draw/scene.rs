//! A picture as a list of shapes.

/// The height of a line of text.
pub const TEXT_HEIGHT: f64 = 13.0;
/// How wide a character is at most on average.
pub const CHARACTER_WIDTH: f64 = 7.4;
/// How many series one picture can show and still be read.
pub const SERIES_MAX: usize = 8;

/// What a colour is for. The colours of series are those of Okabe and Ito, which people who see few colours tell apart; each series has
/// a mark of its own beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Text and what matters most.
    Ink,
    /// Text beside it: labels of axes.
    Faint,
    /// Lines to read values by.
    Grid,
    /// Every second lane, and what is set apart.
    Band,
    /// What the picture lies on.
    Paper,
    /// What nobody should stake anything on: far extrapolation.
    Grey,
    /// A series, counted from 0; [`SERIES_MAX`] of them.
    Series(usize),
}

/// A point, from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Down.
    pub y: f64,
}

impl Point {
    /// The point there.
    pub const fn at(x: f64, y: f64) -> Point {
        Point { x, y }
    }
}

/// Where a text lies about its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// To the right of it.
    Start,
    /// On both sides.
    Middle,
    /// To the left of it.
    End,
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    Solid,
    /// Into long pieces.
    Dashed,
    /// Into short pieces.
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
pub enum Shape {
    /// A line through points.
    Line {
        /// Where through.
        points: Vec<Point>,
        /// Its colour.
        colour: Colour,
        /// How thick.
        width: f64,
        /// How broken.
        dash: Dash,
    },
    /// A filled area.
    Area {
        /// Its corners.
        points: Vec<Point>,
        /// Its colour.
        colour: Colour,
        /// How much of what lies below is hidden, from 0 to 1.
        opacity: f64,
    },
    /// A measured value.
    Mark {
        /// Its form.
        mark: Mark,
        /// Its middle.
        place: Point,
        /// Its colour.
        colour: Colour,
        /// Whether only its edge is drawn: a value that does not count.
        is_hollow: bool,
        /// What the reader's pointer is told; empty for nothing.
        title: String,
    },
    /// Words.
    Text {
        /// Where, on the line that letters stand on.
        place: Point,
        /// The words.
        text: String,
        /// Where about the place.
        anchor: Anchor,
        /// Their colour.
        colour: Colour,
        /// Whether they are bold.
        is_bold: bool,
    },
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What it shows, in a few words.
    pub title: String,
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// The later ones lie above the earlier.
    pub shapes: Vec<Shape>,
}

/// What marks a value. Colours alone do not tell everybody apart, and not on every printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Fall,
    /// A rectangle that stands.
    Bar,
    /// A hexagon.
    Hexagon,
    /// A rectangle that lies.
    Plate,
}

impl Mark {
    /// The mark of a series, counted from 0.
    pub fn of_series(number: usize) -> Mark {
        match number % SERIES_MAX {
            0 => Mark::Circle,
            1 => Mark::Square,
            2 => Mark::Triangle,
            3 => Mark::Diamond,
            4 => Mark::Fall,
            5 => Mark::Hexagon,
            6 => Mark::Bar,
            _ => Mark::Plate,
        }
    }

    /// The corners, about this place.
    pub(super) fn corners(self, place: Point) -> Vec<Point> {
        let ring = |corners: u32, turn: f64, radius: f64| {
            let angle = |corner: u32| std::f64::consts::TAU * (f64::from(corner) / f64::from(corners) + turn);
            let corner = |corner| {
                let (sin, cos) = angle(corner).sin_cos();
                Point::at(place.x + radius * cos, place.y + radius * sin)
            };
            (0..corners).map(corner).collect()
        };
        let oblong = |width: f64, height: f64| {
            let sides = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            sides.map(|(x, y)| Point::at(place.x + x * width, place.y + y * height)).into()
        };
        match self {
            Mark::Circle => ring(20, 0.0, 4.2),
            Mark::Square => oblong(3.8, 3.8),
            Mark::Triangle => ring(3, 0.75, 5.4),
            Mark::Diamond => ring(4, 0.0, 5.4),
            Mark::Fall => ring(3, 0.25, 5.4),
            Mark::Bar => oblong(2.2, 5.5),
            Mark::Hexagon => ring(6, 0.0, 4.8),
            Mark::Plate => oblong(5.5, 2.2),
        }
    }
}

impl Scene {
    /// An empty picture.
    pub fn new(title: &str, description: &str, width: f64, height: f64) -> Scene {
        let (title, description) = (title.to_owned(), description.to_owned());
        Scene { width, height, title, description, shapes: Vec::new() }
    }

    /// A whole line of middling width.
    pub fn line(&mut self, points: Vec<Point>, colour: Colour) {
        self.stroke(points, colour, 1.6, Dash::Solid);
    }

    /// A line of some width, broken or not.
    pub fn stroke(&mut self, points: Vec<Point>, colour: Colour, width: f64, dash: Dash) {
        self.shapes.push(Shape::Line { points, colour, width, dash });
    }

    /// A filled area.
    pub fn area(&mut self, points: Vec<Point>, colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Area { points, colour, opacity });
    }

    /// A rectangle below everything that was drawn before.
    pub fn underlay(&mut self, from: Point, to: Point, colour: Colour) {
        let points = vec![from, Point::at(to.x, from.y), to, Point::at(from.x, to.y)];
        self.shapes.insert(0, Shape::Area { points, colour, opacity: 1.0 });
    }

    /// A value.
    pub fn mark(&mut self, mark: Mark, place: Point, colour: Colour) {
        self.shapes.push(Shape::Mark { mark, place, colour, is_hollow: false, title: String::new() });
    }

    /// Words.
    pub fn text(&mut self, place: Point, text: &str, anchor: Anchor, colour: Colour) {
        self.shapes.push(Shape::Text { place, text: text.to_owned(), anchor, colour, is_bold: false });
    }

    /// Words in bold.
    pub fn bold(&mut self, place: Point, text: &str, colour: Colour) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { place, text, anchor: Anchor::Start, colour, is_bold: true });
    }
}
