//! Charts: values above an axis, with lines, bands and a legend.

use super::axis::{Axis, Scale, Tick};
use super::scene::{Anchor, CHARACTER_WIDTH, Colour, Dash, Mark, Point, Scene, Shape, TEXT_HEIGHT};
use super::words::shortened;

const WIDTH: f64 = 760.0;
/// The height of what lies between the axes.
const HEIGHT: f64 = 300.0;
const MARGIN: f64 = 16.0;
const LEFT: f64 = 78.0;
const TITLE: f64 = 24.0;
const LINE: f64 = 19.0;
const AXIS: f64 = 58.0;
/// Longer names of series would leave no room for others.
const LABEL_MAX: usize = 60;
const TITLE_MAX: usize = 85;
/// What is said of a picture is read aloud, and is no longer.
const WORDS_MAX: usize = 300;

/// What an axis shows.
#[derive(Clone, Debug)]
pub struct AxisSpec {
    /// In words, with the unit where ticks have none.
    pub label: String,
    /// How values are laid along it.
    pub scale: Scale,
    /// How a value is written.
    pub format: fn(f64) -> String,
}

/// A measured value in a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Along the axis that lies.
    pub x: f64,
    /// Along the axis that stands.
    pub y: f64,
    /// Whether it does not count.
    pub is_hollow: bool,
    /// What the reader's pointer is told.
    pub title: String,
}

/// Something in a chart. Values that have no place on a logarithmic axis, and those that are no numbers, are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A line through values.
    Line {
        /// x and y.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
        /// How broken.
        dash: Dash,
    },
    /// An area between two lines.
    Band {
        /// x, the lower and the upper end.
        points: Vec<(f64, f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// Measured values.
    Spots {
        /// The values.
        spots: Vec<Spot>,
        /// Their form.
        mark: Mark,
        /// Their colour.
        colour: Colour,
    },
}

/// A line of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// In words.
    pub label: String,
    /// The colour of what it names.
    pub colour: Colour,
    /// The mark of what it names; `None` for a line.
    pub mark: Option<Mark>,
    /// How its line is broken.
    pub dash: Dash,
    /// Whether the mark is hollow.
    pub is_hollow: bool,
}

/// A chart. Its items are drawn in their order.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows, in a few words.
    pub title: String,
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// The axis that lies.
    pub x: AxisSpec,
    /// The axis that stands.
    pub y: AxisSpec,
    /// What is drawn.
    pub items: Vec<Item>,
    /// What names it.
    pub legend: Vec<Entry>,
}

impl Chart {
    /// A chart without anything in it.
    pub fn new(title: &str, description: &str, x: AxisSpec, y: AxisSpec) -> Chart {
        let (title, description) = (shortened(title, WORDS_MAX), shortened(description, WORDS_MAX));
        Chart { title, description, x, y, items: Vec::new(), legend: Vec::new() }
    }

    /// Adds a series: its values with marks, a line through those that count (through the mean of those at one place, which follow
    /// each other), and its line in the legend.
    pub fn series(&mut self, label: &str, number: usize, dash: Dash, spots: Vec<Spot>) {
        let (colour, mark) = (Colour::Series(number), Mark::of_series(number));
        let points = means(&spots);
        self.items.push(Item::Line { points, colour, dash });
        self.items.push(Item::Spots { spots, mark, colour });
        self.name(label, number, dash, true);
    }

    /// Adds a line without marks, and its line in the legend where it has a name.
    pub fn curve(&mut self, label: &str, colour: Colour, dash: Dash, points: Vec<(f64, f64)>) {
        self.items.push(Item::Line { points, colour, dash });
        if !label.is_empty() {
            self.legend.push(Entry { label: label.to_owned(), colour, mark: None, dash, is_hollow: false });
        }
    }

    /// Adds a line to the legend.
    pub fn name(&mut self, label: &str, number: usize, dash: Dash, has_mark: bool) {
        self.legend.push(Entry {
            label: label.to_owned(),
            colour: Colour::Series(number),
            mark: has_mark.then(|| Mark::of_series(number)),
            dash,
            is_hollow: false,
        });
    }

    /// The picture.
    pub fn scene(&self) -> Scene {
        let legend = legend_lines(&self.legend);
        let top = TITLE + LINE * (legend.len() as f64 + 1.0) + 20.0;
        let (right, bottom) = (WIDTH - MARGIN - 8.0, top + HEIGHT);
        let mut scene = Scene::new(&self.title, &self.description, WIDTH, bottom + AXIS);
        scene.bold(Point::at(MARGIN, TITLE), &shortened(&self.title, TITLE_MAX), Colour::Ink);
        scene.text(Point::at(MARGIN, TITLE + LINE), &self.y.label, Anchor::Start, Colour::Faint);
        draw_legend(&mut scene, &legend);
        let across = Axis::new(self.x.scale, self.xs(), LEFT, right);
        let up = Axis::new(self.y.scale, self.ys(), bottom, top);
        for tick in up.ticks(self.y.format) {
            grid_line(&mut scene, Point::at(LEFT, tick.at), Point::at(right, tick.at));
            let place = Point::at(LEFT - 8.0, tick.at + 4.5);
            scene.text(place, &tick.label, Anchor::End, Colour::Faint);
        }
        vertical_grid(&mut scene, &across.ticks(self.x.format), top, bottom);
        let middle = Point::at(f64::midpoint(LEFT, right), bottom + 44.0);
        scene.text(middle, &shortened(&self.x.label, TITLE_MAX), Anchor::Middle, Colour::Faint);
        self.items.iter().for_each(|item| draw(&mut scene, item, &across, &up));
        scene
    }

    fn xs(&self) -> impl Iterator<Item = f64> {
        self.values().into_iter().map(|(x, _)| x)
    }

    fn ys(&self) -> impl Iterator<Item = f64> {
        self.values().into_iter().map(|(_, y)| y)
    }

    fn values(&self) -> Vec<(f64, f64)> {
        let mut values = Vec::new();
        for item in &self.items {
            match item {
                Item::Line { points, .. } => values.extend(points.iter().copied()),
                Item::Band { points, .. } => {
                    values.extend(points.iter().flat_map(|(x, low, high)| [(*x, *low), (*x, *high)]));
                }
                Item::Spots { spots, .. } => values.extend(spots.iter().map(|spot| (spot.x, spot.y))),
            }
        }
        values.retain(|(x, y)| x.is_finite() && y.is_finite());
        values
    }
}

/// The mean of the values that count at each place.
fn means(spots: &[Spot]) -> Vec<(f64, f64)> {
    let counted: Vec<&Spot> = spots.iter().filter(|spot| !spot.is_hollow).collect();
    let same = counted.chunk_by(|one, other| one.x.total_cmp(&other.x).is_eq());
    let mean = |of: &[&Spot]| {
        let sum: f64 = of.iter().map(|spot| spot.y).sum();
        of.first().map(|spot| (spot.x, sum / of.len() as f64))
    };
    same.filter_map(mean).collect()
}

fn draw(scene: &mut Scene, item: &Item, across: &Axis, up: &Axis) {
    let place = |x: f64, y: f64| Point::at(across.place(x), up.place(y));
    let has = |x: f64, y: f64| across.has(x) && up.has(y);
    match item {
        Item::Line { points, colour, dash } => {
            let points: Vec<Point> =
                points.iter().filter(|(x, y)| has(*x, *y)).map(|(x, y)| place(*x, *y)).collect();
            if points.len() > 1 {
                scene.stroke(points, *colour, 1.8, *dash);
            }
        }
        Item::Band { points, colour } => {
            let known = || points.iter().filter(|(x, low, high)| has(*x, *low) && has(*x, *high));
            let mut corners: Vec<Point> = known().map(|(x, low, _)| place(*x, *low)).collect();
            corners.extend(known().rev().map(|(x, _, high)| place(*x, *high)));
            if corners.len() > 3 {
                scene.area(corners, *colour, 0.2);
            }
        }
        Item::Spots { spots, mark, colour } => {
            for spot in spots.iter().filter(|spot| has(spot.x, spot.y)) {
                scene.shapes.push(Shape::Mark {
                    mark: *mark,
                    place: place(spot.x, spot.y),
                    colour: *colour,
                    is_hollow: spot.is_hollow,
                    title: spot.title.clone(),
                });
            }
        }
    }
}

fn grid_line(scene: &mut Scene, from: Point, to: Point) {
    scene.stroke(vec![from, to], Colour::Grid, 1.0, Dash::Solid);
}

fn vertical_grid(scene: &mut Scene, ticks: &[Tick], top: f64, bottom: f64) {
    let mut free_from = f64::MIN;
    for tick in ticks {
        grid_line(scene, Point::at(tick.at, top), Point::at(tick.at, bottom));
        let half = CHARACTER_WIDTH * tick.label.chars().count() as f64 / 2.0 + 5.0;
        // Labels that would touch are left out, their lines are not.
        if tick.at - half >= free_from {
            let y = bottom + 20.0;
            if tick.at + half > WIDTH {
                // In the middle of its line it would be cut off.
                scene.text(Point::at(WIDTH - 2.0, y), &tick.label, Anchor::End, Colour::Faint);
            } else {
                scene.text(Point::at(tick.at, y), &tick.label, Anchor::Middle, Colour::Faint);
            }
            free_from = tick.at + half;
        }
    }
}

/// The legend's lines, each with its entries and where they begin.
fn legend_lines(entries: &[Entry]) -> Vec<Vec<(f64, &Entry, String)>> {
    let mut lines: Vec<Vec<(f64, &Entry, String)>> = Vec::new();
    let mut x = WIDTH;
    for entry in entries {
        let label = shortened(&entry.label, LABEL_MAX);
        let width = 46.0 + CHARACTER_WIDTH * label.chars().count() as f64;
        if x + width > WIDTH - MARGIN || lines.is_empty() {
            lines.push(Vec::new());
            x = MARGIN;
        }
        lines.last_mut().into_iter().for_each(|line| line.push((x, entry, label.clone())));
        x += width;
    }
    lines
}

fn draw_legend(scene: &mut Scene, lines: &[Vec<(f64, &Entry, String)>]) {
    for (number, line) in lines.iter().enumerate() {
        let y = TITLE + LINE * (number as f64 + 2.0) + 2.0;
        let middle = y - TEXT_HEIGHT / 3.0;
        for (x, entry, label) in line {
            if !entry.is_hollow {
                let ends = vec![Point::at(*x, middle), Point::at(x + 24.0, middle)];
                scene.stroke(ends, entry.colour, 1.8, entry.dash);
            }
            if let Some(mark) = entry.mark {
                scene.shapes.push(Shape::Mark {
                    mark,
                    place: Point::at(x + 12.0, middle),
                    colour: entry.colour,
                    is_hollow: entry.is_hollow,
                    title: String::new(),
                });
            }
            scene.text(Point::at(x + 30.0, y), label, Anchor::Start, Colour::Ink);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{count, svg, time};

    fn axis(label: &str, scale: Scale) -> AxisSpec {
        AxisSpec { label: label.to_owned(), scale, format: count }
    }

    fn chart(x: Scale, y: Scale) -> Chart {
        Chart::new("<t>", "d", axis("users", x), AxisSpec { format: time, ..axis("p99", y) })
    }

    fn spots(values: &[(f64, f64)]) -> Vec<Spot> {
        let spot = |(x, y): &(f64, f64)| Spot { x: *x, y: *y, is_hollow: false, title: String::new() };
        values.iter().map(spot).collect()
    }

    fn marks(scene: &Scene) -> usize {
        scene.shapes.iter().filter(|shape| matches!(shape, Shape::Mark { .. })).count()
    }

    #[test]
    fn every_value_has_a_mark() {
        let mut chart = chart(Scale::Log, Scale::Log);
        let values: Vec<(f64, f64)> = (1..=1_000).map(|n| (f64::from(n), f64::from(n) * 1e6)).collect();
        chart.series("a", 0, Dash::Solid, spots(&values));
        // One more is the legend's.
        assert_eq!(marks(&chart.scene()), 1_001);
    }

    #[test]
    fn values_without_a_place_are_left_out() {
        let mut chart = chart(Scale::Linear, Scale::Log);
        chart.series("a", 0, Dash::Solid, spots(&[(0.0, 0.0), (1.0, f64::NAN), (2.0, 3.0)]));
        assert_eq!(marks(&chart.scene()), 2);
    }

    #[test]
    fn an_empty_chart_has_its_axes() {
        for (x, y) in [(Scale::Linear, Scale::Linear), (Scale::Log, Scale::Log)] {
            let text = svg(&chart(x, y).scene());
            assert!(text.contains("&lt;t&gt;") && !text.contains("<t>") && !text.contains("NaN"), "{text}");
        }
    }

    #[test]
    fn legends_wrap_and_long_names_are_shortened() {
        let mut chart = chart(Scale::Linear, Scale::Linear);
        (0..8).for_each(|n| chart.series(&"x".repeat(10_000), n, Dash::Solid, Vec::new()));
        let scene = chart.scene();
        let texts: Vec<(&Point, &String)> = scene
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Text { place, text, .. } => Some((place, text)),
                Shape::Line { .. } | Shape::Area { .. } | Shape::Mark { .. } => None,
            })
            .collect();
        assert!(texts.iter().all(|(at, text)| {
            at.x + text.chars().count() as f64 * CHARACTER_WIDTH < WIDTH + MARGIN || text.len() < 20
        }));
    }
}
