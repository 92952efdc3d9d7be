//! Which file goes where, in the archive that is unpacked anywhere and in what package managers install.

use crate::dist::product::Product;
use crate::dist::tar::{Entry, gzip};
use crate::metadata;

/// The settings that packages install, and keep when an administrator has changed them.
pub(crate) const SETTINGS: &str = "etc/durward/durward.toml";

/// Whose habits a package follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Debian,
    Rpm,
}

/// A file of the project, as text.
///
/// # Errors
/// It cannot be read.
pub(crate) fn text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(metadata::root().join(path))
        .map_err(|error| format!("cannot read `{path}`: {error}"))
}

/// What the archive holds below its one directory.
///
/// # Errors
/// A file of the project cannot be read.
pub(crate) fn of_archive(product: &Product) -> Result<Vec<Entry>, String> {
    let mut entries = vec![Entry::file("durward", 0o755, product.binary.clone())];
    for (path, from) in [
        ("LICENSE", "LICENSE"),
        ("README.md", "README.md"),
        ("CHANGELOG.md", "CHANGELOG.md"),
        ("etc/durward.toml", "packaging/durward.toml"),
        ("systemd/durward.service", "packaging/systemd/durward.service"),
        ("systemd/sysusers.d/durward.conf", "packaging/systemd/sysusers.conf"),
    ] {
        entries.push(Entry::file(path, 0o644, text(from)?));
    }
    let pages = &product.pages;
    for (path, content) in [
        ("completions/durward.bash", &pages.bash),
        ("completions/_durward", &pages.zsh),
        ("completions/durward.fish", &pages.fish),
    ] {
        entries.push(Entry::file(path, 0o644, content.clone()));
    }
    entries.push(Entry::file("THIRD-PARTY-LICENSES.txt", 0o644, product.notices.clone()));
    let man =
        pages.man.iter().map(|(name, page)| Entry::file(format!("man/man1/{name}"), 0o644, page.clone()));
    entries.extend(man);
    Ok(entries)
}

/// What a package manager installs, from `/` on, without documents whose place depends on the family.
///
/// # Errors
/// A file of the project cannot be read.
pub(crate) fn of_system(product: &Product, family: Family) -> Result<Vec<Entry>, String> {
    let pages = &product.pages;
    let zsh = match family {
        Family::Debian => "usr/share/zsh/vendor-completions/_durward",
        Family::Rpm => "usr/share/zsh/site-functions/_durward",
    };
    let mut entries = vec![
        Entry::file("usr/bin/durward", 0o755, product.binary.clone()),
        Entry::file(SETTINGS, 0o644, text("packaging/durward.toml")?),
        Entry::directory("etc/durward/policies"),
        Entry::file(
            "usr/lib/systemd/system/durward.service",
            0o644,
            text("packaging/systemd/durward.service")?,
        ),
        Entry::file("usr/lib/sysusers.d/durward.conf", 0o644, text("packaging/systemd/sysusers.conf")?),
        Entry::file("usr/share/bash-completion/completions/durward", 0o644, pages.bash.clone()),
        Entry::file(zsh, 0o644, pages.zsh.clone()),
        Entry::file("usr/share/fish/vendor_completions.d/durward.fish", 0o644, pages.fish.clone()),
    ];
    for (name, page) in &pages.man {
        let path = format!("usr/share/man/man1/{name}.gz");
        entries.push(Entry::file(path, 0o644, gzip(page, product.effort)?));
    }
    Ok(entries)
}
