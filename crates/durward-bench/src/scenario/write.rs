//! Scenarios as files, in the form that durward's commands read.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value as Json, json};

use super::{Scenario, XacmlScenario};

impl Scenario {
    /// Writes `policy-0001.sapl` and so on, `pdp.json`, and `subscriptions.jsonl` with lines `{"id", "subscription"}`.
    /// The directory is made if it is not there.
    ///
    /// # Errors
    /// What the system says; files that were written stay.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        write_numbered(directory, "sapl", &self.policies)?;
        fs::write(directory.join("pdp.json"), self.configuration())?;
        let lines = self.subscriptions.iter().enumerate();
        let lines = lines.map(|(id, subscription)| json!({ "id": id, "subscription": subscription }));
        write_lines(&directory.join("subscriptions.jsonl"), lines)
    }
}

impl XacmlScenario {
    /// Writes `policy-0001.xml`, which is the root, and so on, and `requests.jsonl` with lines `{"id", "xml", "json"}`: the
    /// same request in both forms. The directory is made if it is not there.
    ///
    /// # Errors
    /// What the system says; files that were written stay.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        write_numbered(directory, "xml", &self.documents)?;
        let lines = self.requests.iter().enumerate();
        let lines = lines.map(|(id, request)| json!({ "id": id, "xml": request.xml, "json": request.json }));
        write_lines(&directory.join("requests.jsonl"), lines)
    }
}

/// Numbers have four digits or as many as the last needs, so that files lie in their order.
fn write_numbered(directory: &Path, extension: &str, texts: &[String]) -> io::Result<()> {
    let digits = texts.len().to_string().len().max(4);
    for (number, text) in (1..).zip(texts) {
        fs::write(directory.join(format!("policy-{number:0digits$}.{extension}")), text)?;
    }
    Ok(())
}

fn write_lines(path: &Path, lines: impl Iterator<Item = Json>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
