//! Records within the page of a report, so that whoever has the page has the data.

use super::{RecordError, RunRecord};

/// What stands before a record in a page. Browsers neither run nor show it.
const BEGIN: &str = "<script type=\"application/json\" class=\"durward-record\">";
const END: &str = "</script>";
/// Longer records are put into a page without their seconds and samples, which are in the files beside it.
const BYTES_MAX: usize = 2 << 20;

impl RunRecord {
    /// The record as a part of a page, from which [`RunRecord::read`] reads it. Where it is long it goes without seconds and samples.
    ///
    /// # Errors
    /// Numbers that JSON cannot say, such as those that are infinite.
    pub fn to_html(&self) -> Result<String, RecordError> {
        let mut json = self.to_json()?;
        if json.len() > BYTES_MAX {
            json = self.without_course().to_json()?;
        }
        // In JSON `<` stands within texts only, so nothing can end the element early.
        Ok(format!("{BEGIN}{}{END}", json.replace('<', "\\u003c")))
    }

    fn without_course(&self) -> RunRecord {
        let mut short = self.clone();
        for point in &mut short.points {
            point.seconds = Vec::new();
            point
                .by_node
                .iter_mut()
                .filter_map(|node| node.used.as_mut())
                .for_each(|used| used.samples = Vec::new());
        }
        short
    }
}

/// Whether a text is a page, not JSON.
pub(super) fn is_page(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.get(..9).is_some_and(|begin| begin.eq_ignore_ascii_case("<!doctype"))
}

/// The records in a page, as JSON.
pub(super) fn records(page: &str) -> Vec<&str> {
    page.split(BEGIN).skip(1).filter_map(|rest| rest.split_once(END)).map(|(json, _)| json).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{FORMAT, MeasuredPoint, MeasuredSecond, NodeResult, NodeUse, RunInfo, UsedSample};
    use super::*;

    fn record() -> RunRecord {
        let scenario = "name = \"</script><b>\"".to_owned();
        RunRecord {
            format: FORMAT,
            about: RunInfo { scenario, ..RunInfo::default() },
            ..RunRecord::default()
        }
    }

    fn page(parts: &[String]) -> String {
        format!("<!DOCTYPE html>\n<html><body>{}</body></html>", parts.concat())
    }

    #[test]
    fn a_record_is_read_from_its_page() {
        let part = record().to_html().unwrap();
        assert_eq!(part.matches("</").count(), 1, "{part}");
        assert_eq!(RunRecord::read(&page(&[part])).unwrap(), record());
    }

    #[test]
    fn pages_without_a_record_or_with_several_are_told() {
        let part = record().to_html().unwrap();
        let said = |parts: &[String]| RunRecord::read(&page(parts)).unwrap_err().to_string();
        assert_eq!(said(&[]), "a page without a record of `durward lab run`");
        assert_eq!(
            said(&[part.clone(), part]),
            "a page with 2 records: give the `record.json` of one of them"
        );
    }

    #[test]
    fn long_records_go_without_their_course() {
        let samples = vec![UsedSample::default(); 40_000];
        let used = Some(NodeUse { samples, ..NodeUse::default() });
        let by_node = vec![NodeResult { used, answered: 7, ..NodeResult::default() }];
        let seconds = vec![MeasuredSecond::default(); 10];
        let long = RunRecord {
            points: vec![MeasuredPoint { by_node, seconds, ..MeasuredPoint::default() }],
            ..record()
        };
        let read = RunRecord::read(&page(&[long.to_html().unwrap()])).unwrap();
        assert_eq!(read, long.without_course());
        assert_eq!((read.points[0].by_node[0].answered, read.points[0].seconds.len()), (7, 0));
    }
}
