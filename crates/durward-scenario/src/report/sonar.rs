//! The generic coverage format that SonarQube reads.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::escaped;
use crate::coverage::{CoverageRatio, DocumentCoverage, PolicyCoverage};

/// What was covered, line by line, as XML.
pub fn sonar(coverage: &PolicyCoverage) -> String {
    let mut out = "<coverage version=\"1\">\n".to_owned();
    // Writing to a `String` cannot fail.
    for document in &coverage.documents {
        let _ = writeln!(out, "  <file path=\"{}\">", escaped(&document.path));
        for (line, ratio) in lines(document) {
            let CoverageRatio { covered, total } = ratio;
            let _ = writeln!(
                out,
                "    <lineToCover lineNumber=\"{line}\" covered=\"{}\" branchesToCover=\"{total}\" \
                 coveredBranches=\"{covered}\"/>",
                covered > 0
            );
        }
        out.push_str("  </file>\n");
    }
    out + "</coverage>\n"
}

/// The lines on which something can be covered, and how much of it was.
pub(super) fn lines(document: &DocumentCoverage) -> BTreeMap<u32, CoverageRatio> {
    let mut lines: BTreeMap<u32, CoverageRatio> = BTreeMap::new();
    let elements = document.elements.iter().map(|element| (element.head, element.outcomes()));
    let conditions = document.conditions().map(|condition| (condition.span, condition.outcomes()));
    for (span, ratio) in elements.chain(conditions) {
        let (first, last) = document.lines_of(span);
        for line in first..=last {
            let sum = lines.entry(line).or_default();
            *sum = [*sum, ratio].into_iter().sum();
        }
    }
    lines
}
