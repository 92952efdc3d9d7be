//! Pictures: shapes ([`Scene`]), axes and charts of them ([`Chart`]), as SVG, and with the feature `pictures` as PNG.
//!
//! Colours are roles, not numbers: a picture within a page follows the page's light and dark, one in a file of its own follows the
//! reader's, and one on paper is light.
//!
//! ```
//! use durward_lab::draw::{Colour, Point, Scene, svg_file};
//!
//! let mut scene = Scene::new("A line", "From left to right.", 100.0, 20.0);
//! scene.line(vec![Point::at(0.0, 10.0), Point::at(100.0, 10.0)], Colour::Series(0));
//! assert!(svg_file(&scene).contains("<title>A line</title>"));
//! ```

mod axis;
mod chart;
mod error;
#[cfg(feature = "pictures")]
pub(crate) mod raster;
mod scene;
mod svg;
mod words;

pub use axis::{Axis, Scale, Tick};
pub use chart::{AxisSpec, Chart, Entry, Item, Spot};
pub use error::DrawError;
#[cfg(feature = "pictures")]
pub use raster::png;
pub use scene::{Anchor, CHARACTER_WIDTH, Colour, Dash, Mark, Point, SERIES_MAX, Scene, Shape, TEXT_HEIGHT};
pub use svg::{STYLE, escaped, svg, svg_file};
pub use words::{bytes, count, percent, shortened, time, whole};
