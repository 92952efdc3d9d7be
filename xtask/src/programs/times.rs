//! How long each program ran last time, kept in the target directory: the longest begin first, so that none of them is left to the end alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Seconds by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Times(BTreeMap<String, f64>);

impl Times {
    /// What the last run kept; nothing where there was none, or it cannot be read: the order is a matter of minutes, not of results.
    pub(crate) fn read(file: &Path) -> Times {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let row = |line: &str| {
            let (name, seconds) = line.split_once('\t')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        Times(text.lines().filter_map(row).collect())
    }

    /// Those that are not known first: they may be long.
    pub(crate) fn longest_first<T>(&self, jobs: &mut [T], name: impl Fn(&T) -> String) {
        let seconds = |job: &T| self.0.get(&name(job)).copied().unwrap_or(f64::INFINITY);
        jobs.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
    }

    /// Keeps what was measured now.
    pub(crate) fn keep(file: &Path, times: &[(String, Duration)]) {
        let mut text = String::new();
        for (name, took) in times {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name}\t{:.1}", took.as_secs_f64());
        }
        let folder = file.parent().unwrap_or(file);
        if let Err(error) = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, text)) {
            println!("cannot keep `{}`: {error}", file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_last_time_come_first_after_the_unknown() {
        let file = std::env::temp_dir().join(format!("durward-times-{}.tsv", std::process::id()));
        let kept = [("short", 1), ("long", 100)].map(|(name, s)| (name.to_owned(), Duration::from_secs(s)));
        Times::keep(&file, &kept);
        let mut jobs = ["short", "new", "long", "newer"];
        Times::read(&file).longest_first(&mut jobs, |name| (*name).to_owned());
        assert_eq!(jobs, ["new", "newer", "long", "short"]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(Times::read(&file), Times::default());
    }
}
