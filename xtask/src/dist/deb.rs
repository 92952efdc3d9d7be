//! The package of Debian and Ubuntu: an `ar` archive of two tar archives, one about the package, one with its files (`deb(5)`).

use crate::dist::date::rfc_2822;
use crate::dist::files::{Family, SETTINGS, of_system, text};
use crate::dist::product::Product;
use crate::dist::sums::hex;
use crate::dist::tar::{Entry, gzip, tar_gz};
use md5::{Digest, Md5};

/// Its file's name, as repositories name packages.
pub(crate) fn name(product: &Product) -> String {
    format!("durward_{}_{}.deb", version(product), product.target.debian())
}

fn version(product: &Product) -> String {
    format!("{}-1", product.sorted_version())
}

/// Makes the package.
///
/// # Errors
/// A file of the project cannot be read.
pub(crate) fn make(product: &Product) -> Result<Vec<u8>, String> {
    let mut files = of_system(product, Family::Debian)?;
    files.extend(documents(product)?);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut about = vec![
        Entry::file("control", 0o644, control(product, &files)?),
        Entry::file("conffiles", 0o644, format!("/{SETTINGS}\n")),
        Entry::file("md5sums", 0o644, md5sums(&files)),
    ];
    for script in ["postinst", "postrm", "prerm"] {
        about.push(Entry::file(script, 0o755, text(&format!("packaging/debian/{script}"))?));
    }
    let time = product.time;
    Ok(ar(
        &[
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", tar_gz(&about, "./", time, product.effort)?),
            ("data.tar.gz", tar_gz(&files, "./", time, product.effort)?),
        ],
        time,
    ))
}

fn documents(product: &Product) -> Result<Vec<Entry>, String> {
    let changes = text("packaging/debian/changelog")?
        .replace("@VERSION@", &version(product))
        .replace("@UPSTREAM@", &product.version)
        .replace("@MAINTAINER@", &product.origin.maintainer)
        .replace("@DATE@", &rfc_2822(product.time));
    let folder = "usr/share/doc/durward";
    let zipped = |name: &str, content: &str| -> Result<Entry, String> {
        Ok(Entry::file(format!("{folder}/{name}"), 0o644, gzip(content.as_bytes(), product.effort)?))
    };
    Ok(vec![
        Entry::file(format!("{folder}/copyright"), 0o644, text("packaging/debian/copyright")?),
        zipped("changelog.Debian.gz", &changes)?,
        zipped("changelog.gz", &text("CHANGELOG.md")?)?,
        zipped("third-party-licenses.txt.gz", &product.notices)?,
    ])
}

fn control(product: &Product, files: &[Entry]) -> Result<String, String> {
    let bytes: usize = files.iter().filter_map(|file| file.content.as_ref()).map(Vec::len).sum();
    Ok(text("packaging/debian/control")?
        .replace("@VERSION@", &version(product))
        .replace("@ARCHITECTURE@", product.target.debian())
        .replace("@MAINTAINER@", &product.origin.maintainer)
        .replace("@HOMEPAGE@\n", &product.origin.line("Homepage"))
        .replace("@SIZE@", &bytes.div_ceil(1024).to_string())
        .replace("@DEPENDS@", &depends(product)?))
}

/// Packages with the libraries that the binary is linked with, and with what the scripts call.
fn depends(product: &Product) -> Result<String, String> {
    let mut packages = Vec::new();
    if let Some(needs) = &product.needs {
        for library in &needs.libraries {
            let package = match library.as_str() {
                "libgcc_s.so.1" => "libgcc-s1 (>= 3.0)".to_owned(),
                name if ["libc.", "libm.", "ld-linux"].iter().any(|start| name.starts_with(start)) => {
                    match needs.glibc {
                        Some((major, minor)) => format!("libc6 (>= {major}.{minor})"),
                        None => "libc6".to_owned(),
                    }
                }
                other => return Err(format!("no package of Debian is known for the library `{other}`")),
            };
            packages.push(package);
        }
    }
    packages.sort();
    packages.dedup();
    packages.push("systemd | systemd-standalone-sysusers | systemd-sysusers".to_owned());
    packages.push("init-system-helpers (>= 1.54~)".to_owned());
    Ok(packages.join(", "))
}

fn md5sums(files: &[Entry]) -> String {
    let lines = files.iter().filter(|file| file.path != SETTINGS).filter_map(|file| {
        let content = file.content.as_ref()?;
        Some(format!("{}  {}\n", hex(&Md5::digest(content)), file.path))
    });
    lines.collect()
}

fn ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let head = format!("{name:<16}{time:<12}{0:<6}{0:<6}{1:<8}{2:<10}`\n", 0, "100644", content.len());
        out.extend(head.into_bytes());
        out.extend(content);
        if content.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_begin_at_even_places() {
        let made = ar(&[("a", b"x".to_vec()), ("b", b"yy".to_vec())], 5);
        let wanted = "!<arch>\n\
            a               5           0     0     100644  1         `\nx\n\
            b               5           0     0     100644  2         `\nyy";
        assert_eq!(String::from_utf8(made).unwrap(), wanted);
    }
}
