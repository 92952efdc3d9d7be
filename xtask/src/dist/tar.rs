//! Archives that come out alike from the same content, whoever makes them: entries in the order of their names, one owner, one time.
//! The form is POSIX ustar, whose headers are 512 bytes of text.

use flate2::{Compression, GzBuilder};
use std::io::Write;

/// A file or a directory of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// From the root of the archive, without a slash in front.
    pub(crate) path: String,
    pub(crate) mode: u32,
    /// Nothing for a directory.
    pub(crate) content: Option<Vec<u8>>,
}

impl Entry {
    pub(crate) fn file(path: impl Into<String>, mode: u32, content: impl Into<Vec<u8>>) -> Entry {
        Entry { path: path.into(), mode, content: Some(content.into()) }
    }

    pub(crate) fn directory(path: impl Into<String>) -> Entry {
        Entry { path: path.into(), mode: 0o755, content: None }
    }
}

/// How long compressing may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What is carried over slow lines.
    Best,
    /// What tests look at once.
    Least,
}

const BLOCK: usize = 512;

/// The entries below `prefix`, which is nothing, `./` or a directory with its slash; directories above them are added.
///
/// # Errors
/// A path is too long, or stands there twice.
pub(crate) fn archive(entries: &[Entry], prefix: &str, time: u64) -> Result<Vec<u8>, String> {
    let mut sorted: Vec<Entry> = with_directories(entries);
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let twice = sorted.windows(2).find_map(|two| match two {
        [one, other] if one.path == other.path => Some(&one.path),
        _ => None,
    });
    if let Some(path) = twice {
        return Err(format!("`{path}` stands twice in an archive"));
    }
    let mut out = Vec::new();
    if !prefix.is_empty() {
        out.extend(header(prefix, &Entry::directory(""), time)?);
    }
    for entry in &sorted {
        let ending = if entry.content.is_none() { "/" } else { "" };
        out.extend(header(&format!("{prefix}{}{ending}", entry.path), entry, time)?);
        if let Some(content) = &entry.content {
            out.extend(content);
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    Ok(out)
}

fn with_directories(entries: &[Entry]) -> Vec<Entry> {
    let mut all = entries.to_vec();
    for entry in entries {
        let above = entry.path.match_indices('/').filter_map(|(at, _)| entry.path.get(..at));
        for path in above {
            if !all.iter().any(|other| other.path == path) {
                all.push(Entry::directory(path));
            }
        }
    }
    all
}

fn header(name: &str, entry: &Entry, time: u64) -> Result<Vec<u8>, String> {
    let size = entry.content.as_ref().map_or(0, Vec::len);
    let kind = if entry.content.is_some() { '0' } else { '5' };
    if name.len() > 100 {
        return Err(format!("`{name}` is too long for an archive"));
    }
    let text = |checksum: &str| {
        let mode = entry.mode;
        let mut text = format!("{name:\0<100}{mode:07o}\0{0:07o}\0{0:07o}\0{size:011o}\0{time:011o}\0", 0);
        text.push_str(&format!(
            "{checksum:8}{kind}{:\0<100}ustar\0{:02}{:\0<32}{:\0<32}",
            "", 0, "root", "root"
        ));
        text.push_str(&format!("{0:07o}\0{0:07o}\0", 0));
        let mut bytes = text.into_bytes();
        bytes.resize(BLOCK, 0);
        bytes
    };
    let sum: u32 = text("").iter().map(|byte| u32::from(*byte)).sum();
    Ok(text(&format!("{sum:06o}\0 ")))
}

/// Compresses, with neither a name nor a time in it.
pub(crate) fn gzip(content: &[u8], effort: Effort) -> Result<Vec<u8>, String> {
    let level = match effort {
        Effort::Best => Compression::best(),
        Effort::Least => Compression::fast(),
    };
    // 255: no operating system is named.
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), level);
    encoder
        .write_all(content)
        .and_then(|()| encoder.finish())
        .map_err(|error| format!("cannot compress: {error}"))
}

/// Compresses an archive of these entries.
///
/// # Errors
/// As [`archive`].
pub(crate) fn tar_gz(entries: &[Entry], prefix: &str, time: u64, effort: Effort) -> Result<Vec<u8>, String> {
    gzip(&archive(entries, prefix, time)?, effort)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::output_of;
    use std::process::Command;

    fn entries() -> Vec<Entry> {
        vec![
            Entry::file("b/tool", 0o755, vec![7; 1000]),
            Entry::file("a.txt", 0o644, "hello"),
            Entry::directory("b/empty"),
        ]
    }

    #[test]
    fn the_order_of_entries_changes_nothing() {
        let mut other = entries();
        other.reverse();
        let make = |entries: &[Entry]| tar_gz(entries, "top/", 1_000_000_000, Effort::Best).unwrap();
        assert_eq!(make(&entries()), make(&other));
    }

    #[test]
    fn tar_lists_what_was_put_in() {
        let path = std::env::temp_dir().join(format!("durward-tar-{}.tar.gz", std::process::id()));
        std::fs::write(&path, tar_gz(&entries(), "top/", 1_000_000_000, Effort::Least).unwrap()).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--utc", "--full-time", "-tvzf"]).arg(&path).env("LC_ALL", "C");
        let listed = output_of(&mut tar).unwrap();
        std::fs::remove_file(path).unwrap();
        let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
        let is = |line: &[&str], mode: &str, size: &str, name: &str| {
            line == [mode, "root/root", size, "2001-09-09", "01:46:40", name]
        };
        assert!(lines.len() == 5 && is(&lines[0], "drwxr-xr-x", "0", "top/"), "{listed}");
        assert!(is(&lines[1], "-rw-r--r--", "5", "top/a.txt"), "{listed}");
        assert!(
            is(&lines[2], "drwxr-xr-x", "0", "top/b/") && is(&lines[3], "drwxr-xr-x", "0", "top/b/empty/")
        );
        assert!(is(&lines[4], "-rwxr-xr-x", "1000", "top/b/tool"), "{listed}");
    }

    #[test]
    fn no_path_stands_twice_or_is_too_long() {
        let twice = [Entry::file("a", 0o644, "1"), Entry::file("a", 0o644, "2")];
        assert!(archive(&twice, "", 0).unwrap_err().contains("twice"));
        let long = [Entry::file("a".repeat(101), 0o644, "1")];
        assert!(archive(&long, "", 0).unwrap_err().contains("too long"));
    }
}
