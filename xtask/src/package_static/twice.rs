//! Whether a build depends on where it was made: the sources, copied to another folder and built into another one, must give the same bytes.

use crate::metadata;
use crate::package_static::cross::{Build, Compiler, mebibytes};
use crate::package_static::plan::StaticPlan;
use crate::process::output_of;
use std::path::Path;
use std::process::Command;

/// Builds again and compares; how many bytes are the same.
///
/// # Errors
/// Where the two differ.
pub(crate) fn check(
    plan: &StaticPlan,
    compiler: &Compiler,
    target: &str,
    folder: &Path,
) -> Result<String, String> {
    let first = Build::of_tree(plan, target, folder);
    let elsewhere = folder.join("elsewhere");
    let source = elsewhere.join("durward-copy");
    copy(&source)?;
    let mut again = Build::of_tree(plan, target, &elsewhere);
    again.source = source;
    let again = again.run(compiler)?;
    let read = |path: &Path| {
        std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
    };
    let (one, other) = (read(&first.binary())?, read(&again)?);
    match difference(&one, &other) {
        None => Ok(format!("{} twice", mebibytes(u64::try_from(one.len()).unwrap_or(u64::MAX)))),
        Some(what) => Err(format!("`{}` and `{}`: {what}", first.binary().display(), again.display())),
    }
}

/// The files of the clone that git knows, or would: what was built before is not among them.
fn copy(to: &Path) -> Result<(), String> {
    let root = metadata::root();
    let cannot = |error: std::io::Error| format!("cannot copy the sources to `{}`: {error}", to.display());
    if to.exists() {
        std::fs::remove_dir_all(to).map_err(cannot)?;
    }
    let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = output_of(Command::new("git").args(words).current_dir(&root))?;
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root.join(name), to.join(name));
        // A file that was removed is still listed until that is committed.
        if !from.is_file() {
            continue;
        }
        std::fs::create_dir_all(to.parent().unwrap_or(&to)).map_err(cannot)?;
        std::fs::copy(&from, &to).map_err(cannot)?;
    }
    Ok(())
}

/// In words; none where two files are the same.
fn difference(one: &[u8], other: &[u8]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} and {} bytes", one.len(), other.len()));
    }
    let first = one.iter().zip(other).position(|(one, other)| one != other)?;
    let count = one.iter().zip(other).filter(|(one, other)| one != other).count();
    Some(format!("{count} bytes differ, the first at {first:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_other_byte_is_a_difference() {
        assert_eq!(difference(b"durward", b"durward"), None);
        assert_eq!(difference(b"durward", b"durword"), Some("1 bytes differ, the first at 0x4".to_owned()));
        assert_eq!(difference(b"durward", b""), Some("7 and 0 bytes".to_owned()));
    }
}
