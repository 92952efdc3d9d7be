//! Files that hold what is fitted: points in JSON or CSV, or a record of `durward lab run`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LoadUnit, Observation, RecordCurve, by, curves, weights};
use crate::record::{RecordError, RunRecord};

/// Most points that a file may hold: each is fitted some thousand times.
pub const POINTS_MAX: usize = 20_000;

/// How much each point counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// By its spread where the file says one, in a record by that of replicates; else all alike.
    #[default]
    Auto,
    /// All alike.
    Equal,
    /// By the spread of points with the same N.
    Replicates,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct FitInput {
    /// What is fitted where nothing is chosen; the first of a file with points of its own, all of one with sets only.
    pub curves: Vec<RecordCurve>,
    /// Further ones that a file has beside its own points, by name.
    pub subsets: Vec<RecordCurve>,
}

/// Why a file holds nothing to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitInputError {
    /// From 1; `None` where it is no matter of a line.
    pub line: Option<u64>,
    /// In words.
    pub problem: String,
}

impl FitInputError {
    fn at(line: u64, problem: impl Into<String>) -> FitInputError {
        FitInputError { line: Some(line), problem: problem.into() }
    }

    fn whole(problem: impl Into<String>) -> FitInputError {
        FitInputError { line: None, problem: problem.into() }
    }
}

impl fmt::Display for FitInputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for FitInputError {}

/// Reads a file: JSON with `points`, or with `sets` of such; a record; or CSV with the header `n,x`. `n_is` says what N is in a record;
/// without, it is found out.
///
/// ```
/// use durward_lab::fit::{Weights, read};
///
/// let input = read("n,x\n1,100\n2,190\n", None, Weights::Auto).unwrap();
/// assert_eq!(input.curves[0].observations[1].x, 190.0);
/// ```
///
/// # Errors
/// Text that is none of these, N that is not above 0, X below 0, anything that is no number, with the line.
pub fn read(text: &str, n_is: Option<LoadUnit>, how: Weights) -> Result<FitInput, FitInputError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut input = match text.trim_start().chars().next() {
        None => return Err(FitInputError::whole("the file is empty")),
        Some('{') => json(text, n_is)?,
        // A page of a report holds its record.
        Some('<') => of_record(text, n_is)?,
        Some('[') => {
            let points: PointList = serde_json::from_str(text).map_err(|error| json_error(&error))?;
            FitInput {
                curves: vec![curve(String::new(), points, n_is.unwrap_or_default())?],
                subsets: Vec::new(),
            }
        }
        Some(_) => FitInput { curves: vec![csv(text, n_is.unwrap_or_default())?], subsets: Vec::new() },
    };
    for curve in input.curves.iter_mut().chain(&mut input.subsets) {
        match how {
            Weights::Auto => {}
            Weights::Equal => curve.observations.iter_mut().for_each(|one| one.weight = 1.0),
            Weights::Replicates => weights::by_spread(&mut curve.observations),
        }
    }
    Ok(input)
}

fn json_error(error: &serde_json::Error) -> FitInputError {
    // The place is told apart from what is wrong.
    let text = error.to_string();
    let problem = text.rsplit_once(" at line ").map_or(text.as_str(), |(problem, _)| problem).to_owned();
    match u64::try_from(error.line()) {
        Ok(line) if line > 0 => FitInputError::at(line, problem),
        _ => FitInputError::whole(problem),
    }
}

/// What tells a record from points.
#[derive(Deserialize)]
struct InputKind {
    format: Option<serde::de::IgnoredAny>,
}

fn json(text: &str, n_is: Option<LoadUnit>) -> Result<FitInput, FitInputError> {
    let kind: InputKind = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    if kind.format.is_some() {
        return of_record(text, n_is);
    }
    let file: PointsFile = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let n_is = n_is.unwrap_or_else(|| meaning(file.n.as_deref().unwrap_or_default()));
    let named = |sets: BTreeMap<String, PointSet>| -> Result<Vec<RecordCurve>, FitInputError> {
        let with_points =
            sets.into_iter().filter_map(|(name, set)| set.points.rows().map(|points| (name, points)));
        with_points.map(|(name, points)| curve(name, points, n_is)).collect()
    };
    let (mut curves, subsets) =
        (named(file.sets.unwrap_or_default())?, named(file.subsets.unwrap_or_default())?);
    if let Some(points) = file.points {
        curves.insert(0, curve(String::new(), points, n_is)?);
        let further = curves.split_off(1);
        return Ok(FitInput { curves, subsets: further.into_iter().chain(subsets).collect() });
    }
    if curves.is_empty() {
        return Err(FitInputError::whole(
            "no `points`: they are a list of pairs, {\"points\": [[N, X], ...]}",
        ));
    }
    Ok(FitInput { curves, subsets })
}

fn of_record(text: &str, n_is: Option<LoadUnit>) -> Result<FitInput, FitInputError> {
    let record = RunRecord::read(text).map_err(|error| match error {
        RecordError::Json(error) => {
            let place = json_error(&error);
            FitInputError { problem: format!("no record of `durward lab run`: {}", place.problem), ..place }
        }
        RecordError::Format(_) | RecordError::Page(_) => FitInputError::whole(error.to_string()),
    })?;
    let curves = curves(&record, n_is.unwrap_or_else(|| by(&record)));
    if curves.is_empty() {
        return Err(FitInputError::whole("the record has no points"));
    }
    Ok(FitInput { curves, subsets: Vec::new() })
}

/// What a label such as `users`, `processors` or `nodes` means.
fn meaning(label: &str) -> LoadUnit {
    let label = label.to_lowercase();
    let is_any = |words: &[&str]| words.iter().any(|word| label.contains(word));
    match () {
        () if is_any(&["concurren", "in flight", "under way", "active sessions"]) => LoadUnit::Concurrency,
        () if is_any(&["user", "client", "connection"]) => LoadUnit::Users,
        () if is_any(&["node", "processor", "server", "machine", "cpu", "core", "thread"]) => LoadUnit::Nodes,
        () => LoadUnit::Unknown,
    }
}

/// A file of points. Whatever else it says, such as where they come from, is not looked at.
#[derive(Deserialize)]
struct PointsFile {
    n: Option<String>,
    points: Option<PointList>,
    sets: Option<BTreeMap<String, PointSet>>,
    subsets: Option<BTreeMap<String, PointSet>>,
}

#[derive(Deserialize)]
struct PointSet {
    points: PointsOrCount,
}

/// Points, or only how many there are, as of subsets that are described.
enum PointsOrCount {
    Points(PointList),
    Count,
}

impl PointsOrCount {
    fn rows(self) -> Option<PointList> {
        match self {
            PointsOrCount::Points(points) => Some(points),
            PointsOrCount::Count => None,
        }
    }
}

/// `[[N, X], ...]`, or `[[N, X, S], ...]` with S the standard deviation of X.
struct PointList(Vec<InputRow>);

struct InputRow {
    n: f64,
    x: f64,
    spread: Option<f64>,
}

impl InputRow {
    fn new(n: f64, x: f64, spread: Option<f64>) -> Result<InputRow, String> {
        if !(n.is_finite() && n > 0.0) {
            return Err(format!("N is {n}; it is above 0"));
        }
        if !(x.is_finite() && x >= 0.0) {
            return Err(format!("X is {x}; it is 0 or above"));
        }
        match spread {
            Some(spread) if !(spread.is_finite() && spread > 0.0) => {
                Err(format!("the standard deviation of X is {spread}; it is above 0"))
            }
            _ => Ok(InputRow { n, x, spread }),
        }
    }
}

impl<'de> Deserialize<'de> for InputRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InputRow, D::Error> {
        let numbers = Vec::<f64>::deserialize(deserializer)?;
        let row = match *numbers.as_slice() {
            [n, x] => InputRow::new(n, x, None),
            [n, x, spread] => InputRow::new(n, x, Some(spread)),
            _ => Err(format!(
                "a point has {} numbers; it is [N, X] or [N, X, standard deviation]",
                numbers.len()
            )),
        };
        row.map_err(D::Error::custom)
    }
}

/// Lists points, or counts them.
struct PointsVisitor;

impl<'de> Visitor<'de> for PointsVisitor {
    type Value = PointsOrCount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of points, [[N, X], ...]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<PointsOrCount, A::Error> {
        let mut points = Vec::new();
        while let Some(row) = rows.next_element::<InputRow>()? {
            if points.len() == POINTS_MAX {
                return Err(A::Error::custom(format!("more than {POINTS_MAX} points")));
            }
            points.push(row);
        }
        Ok(PointsOrCount::Points(PointList(points)))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<PointsOrCount, E> {
        Ok(PointsOrCount::Count)
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<PointsOrCount, A::Error> {
        Err(A::Error::custom("`points` is an object; it is a list, [[N, X], ...]"))
    }
}

impl<'de> Deserialize<'de> for PointsOrCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PointsOrCount, D::Error> {
        deserializer.deserialize_any(PointsVisitor)
    }
}

impl<'de> Deserialize<'de> for PointList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PointList, D::Error> {
        match deserializer.deserialize_any(PointsVisitor)? {
            PointsOrCount::Points(points) => Ok(points),
            PointsOrCount::Count => {
                Err(D::Error::custom("`points` is a number; it is a list, [[N, X], ...]"))
            }
        }
    }
}

fn curve(name: String, points: PointList, n_is: LoadUnit) -> Result<RecordCurve, FitInputError> {
    let PointList(rows) = points;
    let subject = if name.is_empty() { String::new() } else { format!("`{name}`: ") };
    if rows.is_empty() {
        return Err(FitInputError::whole(format!("{subject}no points")));
    }
    let with_spread = rows.iter().filter(|row| row.spread.is_some()).count();
    if with_spread != 0 && with_spread != rows.len() {
        let problem = format!(
            "{subject}{with_spread} of {} points have a standard deviation: all have one, or none",
            rows.len()
        );
        return Err(FitInputError::whole(problem));
    }
    Ok(RecordCurve { name, n_is, observations: weighted(&rows), ..RecordCurve::default() })
}

/// Weights are 1 over the variance, 1 on average.
fn weighted(rows: &[InputRow]) -> Vec<Observation> {
    let variance = |row: &InputRow| row.spread.map_or(1.0, |spread| spread.powi(2));
    #[expect(clippy::cast_precision_loss, reason = "few points")]
    let mean = rows.iter().map(|row| 1.0 / variance(row)).sum::<f64>() / rows.len() as f64;
    let weight = |row: &InputRow| {
        Some(1.0 / variance(row) / mean).filter(|weight| weight.is_finite() && *weight > 0.0)
    };
    rows.iter().map(|row| Observation { n: row.n, x: row.x, weight: weight(row).unwrap_or(1.0) }).collect()
}

/// The columns that the header names.
struct CsvColumns {
    n: usize,
    x: usize,
    spread: Option<usize>,
}

fn csv(text: &str, n_is: LoadUnit) -> Result<RecordCurve, FitInputError> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut columns = None;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| FitInputError {
            line: error.position().map(csv::Position::line),
            problem: "no CSV that can be read".to_owned(),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        match &columns {
            None => columns = Some(header(&record).map_err(|problem| FitInputError::at(line, problem))?),
            Some(columns) => {
                rows.push(row(&record, columns).map_err(|problem| FitInputError::at(line, problem))?)
            }
        }
        if rows.len() > POINTS_MAX {
            return Err(FitInputError::at(line, format!("more than {POINTS_MAX} points")));
        }
    }
    curve(String::new(), PointList(rows), n_is)
}

fn header(record: &csv::StringRecord) -> Result<CsvColumns, String> {
    let place = |name: &str| record.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    match (place("n"), place("x")) {
        (Some(n), Some(x)) => Ok(CsvColumns { n, x, spread: place("spread") }),
        _ => Err(format!(
            "`{}` is no header: CSV begins with `n,x`, or `n,x,spread` with the standard deviation of X; JSON is {{\"points\": [[N, X], \
             ...]}}",
            record.iter().collect::<Vec<_>>().join(",").chars().take(60).collect::<String>()
        )),
    }
}

fn row(record: &csv::StringRecord, columns: &CsvColumns) -> Result<InputRow, String> {
    let number = |place: usize, name: &str| {
        let cell = record
            .get(place)
            .filter(|cell| !cell.is_empty())
            .ok_or_else(|| format!("`{name}` is missing"))?;
        cell.parse::<f64>().map_err(|_| format!("`{cell}` is no number"))
    };
    let spread = columns.spread.map(|place| number(place, "spread")).transpose()?;
    InputRow::new(number(columns.n, "n")?, number(columns.x, "x")?, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read(text, None, Weights::Auto).unwrap_err().to_string()
    }

    fn pairs(text: &str) -> Vec<(f64, f64)> {
        let input = read(text, None, Weights::Auto).unwrap();
        input.curves[0].observations.iter().map(|one| (one.n, one.x)).collect()
    }

    #[test]
    fn points_are_read_in_each_form() {
        let expected = [(1.0, 10.5), (2.0, 20.0)];
        for text in [
            "{\"points\": [[1, 10.5], [2, 2e1]]}",
            "[[1, 10.5], [2, 20]]",
            "n,x\n1,10.5\n2,20\n",
            "\u{feff}N , X\r\n# measured by hand\r\n\r\n1, 10.5\r\n2, 20",
            "x,comment,n\n10.5,\"a, b\",1\n20,,2\n",
            "{\"n\": \"users\", \"title\": {\"any\": [1]}, \"points\": [[1, 10.5], [2, 20]], \"fits\": 3}",
        ] {
            assert_eq!(pairs(text), expected, "{text}");
        }
    }

    #[test]
    fn bad_input_is_told_with_its_line() {
        for (text, expected) in [
            ("", "the file is empty"),
            ("1,2\n", "line 1: `1,2` is no header"),
            ("n,x\n1,2\n3,four\n", "line 3: `four` is no number"),
            ("n,x\n1\n", "line 2: `x` is missing"),
            ("n,x\n0,2\n", "line 2: N is 0; it is above 0"),
            ("n,x\n-1,2\n", "line 2: N is -1"),
            ("n,x\n1,-2\n", "line 2: X is -2; it is 0 or above"),
            ("n,x\n1,NaN\n", "line 2: X is NaN"),
            ("n,x\ninf,1\n", "line 2: N is inf"),
            ("n,x\n", "no points"),
            ("n,x,spread\n1,2,0\n", "line 2: the standard deviation of X is 0"),
            ("{\"points\": []}", "no points"),
            ("{\"points\": [[1, 2],\n [3]]}", "line 2: a point has 1 numbers"),
            ("{\"points\": [[1, 2],\n [3, -4]]}", "line 2: X is -4"),
            ("{\"points\": [[1, \"a\"]]}", "line 1: invalid type: string \"a\""),
            ("{\"points\": 7}", "line 1: `points` is a number"),
            ("{\"points\": [[1, 1e999]]}", "line 1: number out of range"),
            ("{\"points\": [[1, 2, 1], [2, 3]]}", "1 of 2 points have a standard deviation"),
            ("{\"point\": [[1, 2]]}", "no `points`"),
            ("{\"points\": [[1, 2]", "line 1: EOF"),
            ("{\"sets\": {\"a\": {\"points\": []}}}", "`a`: no points"),
            ("{\"format\": 1}", "line 1: no record of `durward lab run`: missing field `about`"),
        ] {
            let found = error(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn sets_and_subsets_keep_their_names() {
        let text = "{\"points\": [[1, 2]], \"subsets\": {\"a\": {\"points\": [[2, 3]]}, \"described\": {\"points\": 6}}}";
        let input = read(text, None, Weights::Auto).unwrap();
        assert_eq!((input.curves.len(), input.subsets.len(), input.subsets[0].name.as_str()), (1, 1, "a"));
        let text = "{\"sets\": {\"a\": {\"points\": [[2, 3]]}, \"b\": {\"points\": [[2, 3]]}}, \"n\": \"processors\"}";
        let input = read(text, None, Weights::Auto).unwrap();
        assert_eq!((input.curves.len(), input.curves[1].n_is), (2, LoadUnit::Nodes));
    }

    #[test]
    fn weights_are_one_over_the_variance() {
        let weights = |text: &str, how| -> Vec<f64> {
            read(text, None, how).unwrap().curves[0].observations.iter().map(|one| one.weight).collect()
        };
        let spread = "n,x,spread\n1,10,1\n2,20,2\n";
        assert_eq!(weights(spread, Weights::Auto), [1.6, 0.4]);
        assert_eq!(weights(spread, Weights::Equal), [1.0, 1.0]);
        let replicates = "n,x\n1,10\n1,10.1\n2,18\n2,22\n";
        assert_eq!(weights(replicates, Weights::Auto), [1.0; 4]);
        let found = weights(replicates, Weights::Replicates);
        assert!(found[0] > found[2], "{found:?}");
    }
}
