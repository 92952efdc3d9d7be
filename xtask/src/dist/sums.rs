//! `SHA256SUMS`: what was made, in the form that `sha256sum -c` reads.

use sha2::{Digest, Sha256};
use std::path::Path;

/// The name of the file.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// In hexadecimal digits.
pub(crate) fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Files that are not summed: the sums, and signatures.
fn is_apart(name: &str) -> bool {
    name == SUMS || name.ends_with(".minisig")
}

/// The names of the files in a folder that are summed, sorted.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && !is_apart(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// One line for each file in a folder.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn make(folder: &Path) -> Result<String, String> {
    let mut out = String::new();
    for name in names(folder)? {
        out.push_str(&format!("{}  {name}\n", sha256(&read(folder, &name)?)));
    }
    Ok(out)
}

/// Compares the files in a folder with its `SHA256SUMS`, in both directions.
///
/// # Errors
/// Names the first file that differs, is missing, or is not listed.
pub(crate) fn verify(folder: &Path) -> Result<usize, String> {
    let said = String::from_utf8_lossy(&read(folder, SUMS)?).into_owned();
    let mut listed = Vec::new();
    for line in said.lines() {
        let (sum, name) =
            line.split_once("  ").ok_or_else(|| format!("`{SUMS}` has a line of another form: {line}"))?;
        if sha256(&read(folder, name)?) != sum {
            return Err(format!("`{name}` is not what `{SUMS}` says"));
        }
        listed.push(name.to_owned());
    }
    match names(folder)?.into_iter().find(|name| !listed.contains(name)) {
        Some(missing) => Err(format!("`{SUMS}` does not list `{missing}`")),
        None => Ok(listed.len()),
    }
}

pub(crate) fn read(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    std::fs::read(folder.join(name)).map_err(|error| format!("cannot read `{name}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_missing_and_an_added_file_are_found() {
        let folder = std::env::temp_dir().join(format!("durward-sums-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        put("a", "one");
        put("b", "two");
        put("b.minisig", "a signature");
        put(SUMS, &make(&folder).unwrap());
        assert_eq!(verify(&folder), Ok(2));
        put("c", "three");
        assert_eq!(verify(&folder), Err("`SHA256SUMS` does not list `c`".to_owned()));
        put("a", "another");
        assert_eq!(verify(&folder), Err("`a` is not what `SHA256SUMS` says".to_owned()));
        std::fs::remove_file(folder.join("a")).unwrap();
        assert!(verify(&folder).unwrap_err().starts_with("cannot read `a`"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
