//! What an installation and a removal leave behind: what was written on top of the machine, against the machine.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Paths without the first slash, sorted, each with what became of it. A file that was written again as it was is not among them.
///
/// # Errors
/// Something cannot be read.
pub(crate) fn of(changes: &Path, layers: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    below(changes, Path::new(""), layers, &mut found)
        .map_err(|error| format!("cannot look at `{}`: {error}", changes.display()))?;
    found.sort();
    Ok(found)
}

fn below(changes: &Path, path: &Path, layers: &[PathBuf], found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(changes.join(path))? {
        let entry = entry?;
        let path = path.join(entry.file_name());
        let kind = entry.file_type()?;
        let before =
            layers.iter().map(|layer| layer.join(&path)).find(|place| place.symlink_metadata().is_ok());
        let name = path.display();
        match before {
            // A character device hides what lies below.
            Some(_) if kind.is_char_device() => found.push(format!("{name} (gone)")),
            Some(_) if kind.is_dir() => below(changes, &path, layers, found)?,
            Some(before) if !is_same(&before, &entry.path())? => found.push(format!("{name} (changed)")),
            None if kind.is_dir() => {
                found.push(format!("{name}/"));
                below(changes, &path, layers, found)?;
            }
            // Whoever made it took it away again.
            None if kind.is_char_device() => {}
            None => found.push(name.to_string()),
            Some(_) => {}
        }
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> std::io::Result<bool> {
    let (first, second) = (one.symlink_metadata()?, other.symlink_metadata()?);
    if first.is_symlink() || second.is_symlink() {
        return Ok(first.is_symlink() && second.is_symlink() && fs::read_link(one)? == fs::read_link(other)?);
    }
    Ok(first.len() == second.len() && fs::read(one)? == fs::read(other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_the_machine_is_left() {
        let folder = std::env::temp_dir().join(format!("durward-left-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("base/etc/hosts", "a");
        put("base/etc/passwd", "a");
        put("base/usr/bin/sh", "a");
        put("layer/etc/hosts", "b");
        put("changes/etc/hosts", "b");
        put("changes/etc/passwd", "b");
        put("changes/opt/new/file", "a");
        fs::create_dir_all(folder.join("changes/usr/bin")).unwrap();
        let layers = [folder.join("layer"), folder.join("base")];
        let found = of(&folder.join("changes"), &layers).unwrap();
        assert_eq!(found, ["etc/passwd (changed)", "opt/", "opt/new/", "opt/new/file"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
