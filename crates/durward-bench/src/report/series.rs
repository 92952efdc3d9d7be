//! Which measurements belong together: those that differ only in what the axis shows.

use durward_lab::draw::{Colour, Mark, SERIES_MAX};

use super::row::MeasurementRow;

/// The things in which series differ.
type SeriesKey = [String; 4];

/// Measurements of one index, mode, number of threads and language.
#[derive(Clone, Debug)]
pub(super) struct Series<'r> {
    pub(super) label: String,
    pub(super) colour: Colour,
    pub(super) mark: Mark,
    pub(super) rows: Vec<&'r MeasurementRow>,
}

/// Series that one picture shows.
#[derive(Clone, Debug)]
pub(super) struct SeriesGroup<'r> {
    /// What they have in common, where there are several groups.
    pub(super) label: String,
    pub(super) series: Vec<Series<'r>>,
}

fn key(row: &MeasurementRow) -> SeriesKey {
    let threads = match row.threads {
        1 => "1 thread".to_owned(),
        several => format!("{several} threads"),
    };
    [row.language.to_uppercase(), threads, row.mode.clone(), row.index.clone()]
}

/// The groups of these rows: one, or as many as it takes that none has too many series. Of two measurements of the same
/// thing the later counts.
pub(super) fn groups(rows: &[MeasurementRow]) -> Vec<SeriesGroup<'_>> {
    let mut keys: Vec<SeriesKey> = Vec::new();
    rows.iter().map(key).for_each(|key| {
        if !keys.contains(&key) {
            keys.push(key);
        }
    });
    let varies = |at: usize| keys.iter().any(|key| key.get(at) != keys.first().and_then(|key| key.get(at)));
    let varying: [bool; 4] = [varies(0), varies(1), varies(2), varies(3)];
    // What is split by first is what is compared least: never the index.
    for split in 0..4 {
        let groups = split_by(&keys, split);
        if split == 3 || groups.iter().all(|(_, keys)| keys.len() <= SERIES_MAX) {
            let group = |(common, keys): (Vec<String>, Vec<SeriesKey>)| SeriesGroup {
                label: words(&common, &varying),
                series: keys
                    .iter()
                    .enumerate()
                    .map(|(number, key)| series(rows, key, split, &varying, number))
                    .collect(),
            };
            return groups.into_iter().map(group).collect();
        }
    }
    Vec::new()
}

/// Keys by their first so many parts.
fn split_by(keys: &[SeriesKey], split: usize) -> Vec<(Vec<String>, Vec<SeriesKey>)> {
    let mut groups: Vec<(Vec<String>, Vec<SeriesKey>)> = Vec::new();
    for key in keys {
        let common: Vec<String> = key.iter().take(split).cloned().collect();
        match groups.iter_mut().find(|(known, _)| *known == common) {
            Some((_, keys)) => keys.push(key.clone()),
            None => groups.push((common, vec![key.clone()])),
        }
    }
    groups
}

fn series<'r>(
    rows: &'r [MeasurementRow],
    wanted: &SeriesKey,
    split: usize,
    varying: &[bool; 4],
    number: usize,
) -> Series<'r> {
    let mut own: Vec<&MeasurementRow> = Vec::new();
    for row in rows.iter().filter(|row| key(row) == *wanted) {
        own.retain(|earlier| earlier.scenario != row.scenario);
        own.push(row);
    }
    let mut label = words(wanted.get(split..).unwrap_or_default(), varying.get(split..).unwrap_or_default());
    if label.is_empty() {
        label = wanted.last().cloned().unwrap_or_default();
    }
    Series { label, colour: Colour::Series(number), mark: Mark::of_series(number), rows: own }
}

/// Those parts in which something varies; the index, which is last, in front.
fn words(parts: &[String], varying: &[bool]) -> String {
    let some: Vec<&str> = parts
        .iter()
        .zip(varying)
        .rev()
        .filter(|(_, varies)| **varies)
        .map(|(part, _)| part.as_str())
        .collect();
    some.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::row::MeasurementFile;
    use serde_json::json;

    fn rows(of: &[(&str, &str, u64)]) -> Vec<MeasurementRow> {
        let row = |(number, (index, mode, threads)): (usize, &(&str, &str, u64))| {
            json!({
                "scenario": "hospital-5", "language": "sapl", "index": index, "mode": mode, "threads": threads,
                "policies": 170, "decisions_per_s": number + 1, "p50_ns": 1, "p99_ns": 2, "p999_ns": 3, "build_ms": 1,
                "version": "1", "machine": {}, "command": "durward",
            })
        };
        let rows: Vec<_> = of.iter().enumerate().map(row).collect();
        match super::super::row::read(&json!(rows).to_string()) {
            Ok(MeasurementFile::Rows(rows)) => rows,
            other => panic!("{other:?}"),
        }
    }

    fn labels(rows: &[MeasurementRow]) -> Vec<(String, Vec<String>)> {
        let of =
            |group: SeriesGroup<'_>| (group.label, group.series.into_iter().map(|it| it.label).collect());
        groups(rows).into_iter().map(of).collect()
    }

    #[test]
    fn series_are_called_by_what_they_differ_in() {
        let one = |label: &str| vec![(String::new(), vec![label.to_owned()])];
        assert_eq!(labels(&rows(&[("auto", "text", 1)])), one("auto"));
        let two = labels(&rows(&[("auto", "text", 1), ("auto", "text", 2)]));
        assert_eq!(two, [(String::new(), vec!["1 thread".to_owned(), "2 threads".to_owned()])]);
    }

    #[test]
    fn too_many_series_are_several_pictures() {
        let mut all = Vec::new();
        for mode in ["encoded", "text"] {
            for index in ["scan", "bloom", "canonical", "diagram", "auto"] {
                all.push((index, mode, 1));
            }
        }
        let labels = labels(&rows(&all));
        let modes: Vec<(&str, usize)> =
            labels.iter().map(|(label, all)| (label.as_str(), all.len())).collect();
        assert_eq!(modes, [("encoded", 5), ("text", 5)]);
        assert_eq!(labels[0].1[0], "scan");
    }

    #[test]
    fn the_later_of_two_measurements_counts() {
        let rows = rows(&[("auto", "text", 1), ("auto", "text", 1)]);
        let groups = groups(&rows);
        let rates: Vec<f64> = groups[0].series[0].rows.iter().map(|row| row.decisions_per_s).collect();
        assert_eq!(rates, [2.0]);
    }

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let of = |text: &str| super::super::row::read(text).unwrap_err();
        assert!(of("{").starts_with("not JSON: "));
        assert_eq!(of("{}"), "not an array of measurements");
        assert_eq!(of("[{}]"), "measurement 1 has no `decisions_per_s` that could be drawn");
        assert!(of(r#"[{"decisions_per_s": 0}]"#).contains("`decisions_per_s`"));
    }
}
