//! The package of Fedora, RHEL and SUSE, by `rpmbuild`, which Debian has too: what it writes is read by every rpm.

use crate::dist::files::{Family, SETTINGS, of_system, text};
use crate::dist::product::Product;
use crate::dist::tar::{Effort, Entry};
use crate::dist::{empty, write};
use crate::process::output_of;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Its file's name.
pub(crate) fn name(product: &Product) -> String {
    format!("durward-{}-1.{}.rpm", product.sorted_version(), product.target.rpm())
}

/// Makes the package with the program `rpmbuild`, in a directory that is emptied.
///
/// # Errors
/// What `rpmbuild` says.
pub(crate) fn make(product: &Product, rpmbuild: &Path, scratch: &Path) -> Result<Vec<u8>, String> {
    let top = scratch.join("rpm");
    empty(&top)?;
    let mut files = of_system(product, Family::Rpm)?;
    for (name, content) in [
        ("usr/share/licenses/durward/LICENSE", text("LICENSE")?),
        ("usr/share/licenses/durward/THIRD-PARTY-LICENSES.txt", product.notices.clone()),
        ("usr/share/doc/durward/README.md", text("README.md")?),
    ] {
        files.push(Entry::file(name, 0o644, content));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    lay_out(&files, &top.join("SOURCES/root"))?;
    let spec = text("packaging/rpm/durward.spec")?
        .replace("@VERSION@", &product.sorted_version())
        .replace("@URL@\n", &product.origin.line("URL"))
        .replace("@IS_DYNAMIC@", if product.is_static() { "0" } else { "1" })
        .replace("@FILES@", listed(&files).trim_end());
    let path = top.join("durward.spec");
    write(&path, spec.as_bytes())?;
    output_of(&mut command(product, rpmbuild, &top, &path))?;
    let made = top.join("RPMS").join(product.target.rpm()).join(name(product));
    std::fs::read(&made).map_err(|error| format!("`rpmbuild` has not left `{}`: {error}", made.display()))
}

fn command(product: &Product, rpmbuild: &Path, top: &Path, spec: &Path) -> Command {
    let payload = match product.effort {
        Effort::Best => "w9.gzdio",
        Effort::Least => "w1.gzdio",
    };
    let mut command = Command::new(rpmbuild);
    command.args(["-bb", "--quiet", "--target", &format!("{}-linux", product.target.rpm())]);
    for definition in [
        format!("_topdir {}", top.display()),
        format!("_binary_payload {payload}"),
        // Nothing of the machine that builds, and one time everywhere.
        "_buildhost durward".to_owned(),
        "use_source_date_epoch_as_buildtime 1".to_owned(),
        "clamp_mtime_to_source_date_epoch 1".to_owned(),
        // The binary is packaged as it is.
        "debug_package %{nil}".to_owned(),
        "__os_install_post %{nil}".to_owned(),
        "_build_id_links none".to_owned(),
    ] {
        command.args(["--define", &definition]);
    }
    command.arg(spec).env("SOURCE_DATE_EPOCH", product.time.to_string());
    command
}

fn lay_out(files: &[Entry], root: &Path) -> Result<(), String> {
    for file in files {
        let path = root.join(&file.path);
        match &file.content {
            Some(content) => {
                write(&path, content)?;
                let mode = std::fs::Permissions::from_mode(file.mode);
                std::fs::set_permissions(&path, mode)
                    .map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
            }
            None => std::fs::create_dir_all(&path)
                .map_err(|error| format!("cannot make `{}`: {error}", path.display()))?,
        }
    }
    Ok(())
}

/// The list of files of the spec: settings that an administrator has changed are kept.
fn listed(files: &[Entry]) -> String {
    let line = |file: &Entry| {
        let path = &file.path;
        let mark = if *path == SETTINGS {
            "%config(noreplace) "
        } else if path.starts_with("usr/share/licenses/") {
            "%license "
        } else if path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/") {
            "%doc "
        } else if file.content.is_none() {
            "%dir "
        } else {
            ""
        };
        format!("{mark}/{path}\n")
    };
    // Folders of its own go with the package, too; those that others share with it do not.
    let above = files.iter().filter_map(|file| file.path.rsplit_once('/')).map(|(folder, _)| folder);
    let own: BTreeSet<&str> = above.filter(|folder| folder.ends_with("/durward")).collect();
    let own = own.into_iter().filter(|folder| files.iter().all(|file| file.path != *folder));
    own.map(|folder| format!("%dir /{folder}\n")).chain(files.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_and_documents_are_marked() {
        let files = [
            Entry::directory("etc/durward/policies"),
            Entry::file(SETTINGS, 0o644, ""),
            Entry::file("usr/bin/durward", 0o755, ""),
            Entry::file("usr/share/licenses/durward/LICENSE", 0o644, ""),
        ];
        let wanted = "%dir /etc/durward\n%dir /usr/share/licenses/durward\n%dir /etc/durward/policies\n%config(noreplace) /etc/durward/durward.toml\n\
                      /usr/bin/durward\n%license /usr/share/licenses/durward/LICENSE\n";
        assert_eq!(listed(&files), wanted);
    }
}
