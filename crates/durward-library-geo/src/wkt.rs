//! Geometries from well-known text, as JTS reads it: names in any case, two to four ordinates, `EMPTY`, and whatever
//! follows the geometry is not read.

use durward_ir::fault::{Evaluated, Fault};

use super::Refused;
use super::geometry::{Coord, Geometry, Polygon};
use super::json::{checked_line, checked_polygon, checked_ring};
use super::limits::{VERTICES_MAX, WKT_DEPTH_MAX};

/// The geometry at the beginning of the text.
///
/// # Errors
/// There is none, or parentheses lie too deep.
pub(super) fn read(text: &str) -> Evaluated<Geometry> {
    check_depth(text)?;
    let mut reader = WktReader { rest: text, vertices: 0 };
    reader.geometry(0).map_err(|refused| match refused {
        Refused::Invalid => Fault::processing("Invalid WKT."),
        Refused::TooComplex | Refused::TooCostly => refused.into(),
    })
}

fn check_depth(text: &str) -> Evaluated<()> {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > WKT_DEPTH_MAX {
            let message = format!("WKT nesting exceeds the maximum of {WKT_DEPTH_MAX} levels.");
            return Err(Fault::processing(message));
        }
    }
    Ok(())
}

/// Which ordinates follow the first two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExtraOrdinates {
    /// Perhaps a height, which was once written without saying so.
    Unsaid,
    One,
    Two,
}

struct WktReader<'a> {
    rest: &'a str,
    vertices: usize,
}

impl<'a> WktReader<'a> {
    /// The next word or sign, without taking it.
    fn peek(&mut self) -> Result<&'a str, Refused> {
        self.rest = self.rest.trim_start_matches(|character| character <= ' ');
        let is_word =
            |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '+' | '.');
        let word = self.rest.find(|character| !is_word(character)).unwrap_or(self.rest.len());
        let length = match word {
            0 => self.rest.chars().next().map_or(0, char::len_utf8),
            word => word,
        };
        self.rest.get(..length).ok_or(Refused::Invalid)
    }

    fn next(&mut self) -> Result<&'a str, Refused> {
        let token = self.peek()?;
        self.rest = self.rest.get(token.len()..).unwrap_or_default();
        Ok(token)
    }

    fn takes(&mut self, word: &str) -> Result<bool, Refused> {
        let is_next = self.peek()?.eq_ignore_ascii_case(word);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    fn expect(&mut self, sign: &str) -> Result<(), Refused> {
        if self.takes(sign)? { Ok(()) } else { Err(Refused::Invalid) }
    }

    /// `EMPTY` or an opening parenthesis; whether it is empty.
    fn is_empty(&mut self) -> Result<bool, Refused> {
        if self.takes("EMPTY")? {
            return Ok(true);
        }
        self.expect("(")?;
        Ok(false)
    }

    fn geometry(&mut self, depth: usize) -> Result<Geometry, Refused> {
        if depth > WKT_DEPTH_MAX {
            return Err(Refused::Invalid);
        }
        let name = self.next()?.to_ascii_uppercase();
        let (name, more) = self.ordinates(&name)?;
        let geometry = match name {
            "POINT" => Geometry::Point(self.point(more)?),
            "LINESTRING" => Geometry::Line(checked_line(self.coords(more)?)?),
            "LINEARRING" => Geometry::Ring(checked_ring(self.coords(more)?)?),
            "POLYGON" => Geometry::Polygon(self.polygon(more)?),
            "MULTIPOINT" => Geometry::MultiPoint(self.points(more)?),
            "MULTILINESTRING" => Geometry::MultiLine(self.list(|reader| checked_line(reader.coords(more)?))?),
            "MULTIPOLYGON" => Geometry::MultiPolygon(self.list(|reader| reader.polygon(more))?),
            "GEOMETRYCOLLECTION" => Geometry::Collection(self.list(|reader| reader.geometry(depth + 1))?),
            _ => return Err(Refused::Invalid),
        };
        Ok(geometry)
    }

    /// The name without what says which ordinates there are: `POINTZ`, `POINT ZM`.
    fn ordinates<'n>(&mut self, name: &'n str) -> Result<(&'n str, ExtraOrdinates), Refused> {
        for (suffix, more) in
            [("ZM", ExtraOrdinates::Two), ("Z", ExtraOrdinates::One), ("M", ExtraOrdinates::One)]
        {
            if let Some(name) = name.strip_suffix(suffix) {
                return Ok((name, more));
            }
        }
        for (word, more) in
            [("ZM", ExtraOrdinates::Two), ("Z", ExtraOrdinates::One), ("M", ExtraOrdinates::One)]
        {
            if self.takes(word)? {
                return Ok((name, more));
            }
        }
        Ok((name, ExtraOrdinates::Unsaid))
    }

    /// What stands in parentheses, with commas between.
    fn list<T>(
        &mut self,
        mut element: impl FnMut(&mut WktReader<'a>) -> Result<T, Refused>,
    ) -> Result<Vec<T>, Refused> {
        let mut elements = Vec::new();
        if self.is_empty()? {
            return Ok(elements);
        }
        loop {
            elements.push(element(self)?);
            if !self.takes(",")? {
                self.expect(")")?;
                return Ok(elements);
            }
        }
    }

    fn coords(&mut self, more: ExtraOrdinates) -> Result<Vec<Coord>, Refused> {
        self.list(|reader| reader.coord(more))
    }

    fn point(&mut self, more: ExtraOrdinates) -> Result<Option<Coord>, Refused> {
        if self.is_empty()? {
            return Ok(None);
        }
        let coord = self.coord(more)?;
        self.expect(")")?;
        Ok(Some(coord))
    }

    /// Each in parentheses of its own, or all without.
    fn points(&mut self, more: ExtraOrdinates) -> Result<Vec<Option<Coord>>, Refused> {
        self.list(|reader| {
            let is_own = matches!(reader.peek()?, "(") || reader.peek()?.eq_ignore_ascii_case("EMPTY");
            if is_own { reader.point(more) } else { reader.coord(more).map(Some) }
        })
    }

    fn polygon(&mut self, more: ExtraOrdinates) -> Result<Polygon, Refused> {
        let mut rings = self.list(|reader| checked_ring(reader.coords(more)?))?.into_iter();
        let shell = rings.next().unwrap_or_default();
        checked_polygon(shell, rings.collect())
    }

    fn coord(&mut self, more: ExtraOrdinates) -> Result<Coord, Refused> {
        self.vertices += 1;
        if self.vertices > VERTICES_MAX {
            return Err(Refused::TooComplex);
        }
        let (x, y) = (self.number()?, self.number()?);
        let has_third = more != ExtraOrdinates::Unsaid || !matches!(self.peek()?, "," | ")");
        let z = if has_third { Some(self.number()?) } else { None };
        if more == ExtraOrdinates::Two {
            self.number()?;
        }
        let coord = Coord { x, y, z };
        if coord.is_in_range() { Ok(coord) } else { Err(Refused::Invalid) }
    }

    fn number(&mut self) -> Result<f64, Refused> {
        let word = self.next()?;
        // Java takes a letter for the type behind a number.
        let digits = word.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(word);
        digits.parse().map_err(|_| Refused::Invalid)
    }
}
