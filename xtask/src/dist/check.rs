//! The step `packages` of `cargo xtask test`: packages of the binary that was built with the tests, each looked into.

use crate::built;
use crate::dist::kinds::{self, KINDS, Work};
use crate::dist::minisign::{self, Key};
use crate::dist::plan::Plan;
use crate::dist::product::{self, Origin, Product};
use crate::dist::sums::SUMS;
use crate::dist::tar::Effort;
use crate::dist::target::Target;
use crate::dist::{collect, empty, notices, sbom, write};
use crate::metadata::Metadata;
use crate::process::output_of;
use crate::report::{Outcome, on_build_machine};
use crate::tools::{self, MINISIGN};
use std::path::Path;
use std::process::Command;

/// Packages that binary, in a directory of its own.
pub(crate) fn check() -> Outcome {
    let folder = std::env::temp_dir().join(format!("durward-packages-{}", std::process::id()));
    let outcome = built::binary().and_then(|binary| packages(&binary, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    outcome.unwrap_or_else(Outcome::Failed)
}

fn packages(binary: &Path, folder: &Path) -> Result<Outcome, String> {
    empty(folder)?;
    let metadata = Metadata::read()?;
    let target = Target::host()?;
    let shipped = sbom::shipped(&metadata, &target)?;
    let (content, needs) = product::binary(&stripped(binary, folder), &target)?;
    let product = Product {
        version: product::version(&metadata)?,
        time: product::time()?,
        binary: content,
        needs,
        pages: product::pages(binary, folder)?,
        notices: notices::make(shipped.values().copied()),
        origin: Origin::none(),
        effort: Effort::Least,
        target,
    };
    let (out, scratch) = (folder.join("out"), folder.join("scratch"));
    let work = Work { product: &product, shipped: &shipped, out: &out, scratch: &scratch };
    let mut notes = Vec::new();
    let mut skipped = Vec::new();
    let mut note = |name: &str, outcome: Outcome| match outcome {
        Outcome::Failed(why) => Err(format!("{name}: {why}")),
        Outcome::Skipped(why) => {
            skipped.push(why);
            Ok(())
        }
        Outcome::Passed(size) => {
            notes.push(format!("{name} {size}"));
            Ok(())
        }
        Outcome::Counted { .. } => Ok(()),
    };
    for (name, make) in KINDS {
        note(name, make(&work))?;
    }
    // Tests are linked dynamically: an image of them does not start, and is whole all the same.
    note("image", kinds::image(&work)?)?;
    note("signatures", signatures(&product, &out, folder)?)?;
    Ok(match (skipped.is_empty(), on_build_machine()) {
        (true, _) => Outcome::Passed(notes.join(", ")),
        (false, true) => Outcome::Failed(skipped.join("; ")),
        (false, false) => Outcome::Passed(format!("without some tools: {}", skipped.join("; "))),
    })
}

/// Without what debuggers read, which is most of it; with it, where there is no `strip`.
fn stripped(binary: &Path, folder: &Path) -> std::path::PathBuf {
    let small = folder.join("durward");
    match tools::find("strip").map(|strip| output_of(Command::new(strip).arg("-o").arg(&small).arg(binary))) {
        Some(Ok(_)) => small,
        Some(Err(_)) | None => binary.to_path_buf(),
    }
}

/// Checksums, a formula and signatures with a key of tests, which the tool of others verifies too.
fn signatures(product: &Product, out: &Path, folder: &Path) -> Result<Outcome, String> {
    let (secret, public) = (folder.join("tests.key"), folder.join("tests.pub"));
    write(&secret, minisign::sample().as_bytes())?;
    write(&public, Key::of(&minisign::sample())?.public().text().as_bytes())?;
    let url = Some("https://forge.example/durward/releases/download/v0".to_owned());
    let plan = Plan { key: Some(secret), url, ..Plan::default() };
    let summed = collect(out, &product.version, &plan)?;
    output_of(Command::new("sha256sum").args(["--check", "--quiet", SUMS]).current_dir(out))?;
    let Ok(tool) = MINISIGN.get() else { return Ok(Outcome::Skipped("no `minisign`".to_owned())) };
    output_of(Command::new(tool).args(["-V", "-q", "-p"]).arg(&public).arg("-m").arg(out.join(SUMS)))?;
    Ok(Outcome::Passed(summed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::elf;
    use crate::dist::product::Pages;
    use crate::dist::sums;
    use crate::tools::RPMBUILD;

    /// A program without code and pages without words.
    fn product(version: &str) -> Product {
        let binary = elf::smallest();
        Product {
            version: version.to_owned(),
            target: Target::of("x86_64-unknown-linux-musl").unwrap(),
            time: 1_700_000_000,
            needs: Some(elf::needs(&binary).unwrap()),
            binary,
            pages: Pages {
                man: vec![("durward.1".to_owned(), b".TH durward 1\n".to_vec())],
                ..Pages::default()
            },
            notices: "notices".to_owned(),
            origin: Origin {
                maintainer: "A B <a@b.example>".to_owned(),
                repository: Some("https://a.example/b".to_owned()),
            },
            effort: Effort::Best,
        }
    }

    /// Made in a directory of that name; the checksums of all packages.
    fn made(name: &str) -> String {
        let folder = std::env::temp_dir().join(format!("durward-{name}-{}", std::process::id()));
        empty(&folder).unwrap();
        let metadata = Metadata::read().unwrap();
        let product = product(&product::version(&metadata).unwrap());
        let shipped = sbom::shipped(&metadata, &product.target).unwrap();
        let (out, scratch) = (folder.join("out"), folder.join("scratch"));
        let work = Work { product: &product, shipped: &shipped, out: &out, scratch: &scratch };
        for (name, make) in KINDS {
            match make(&work) {
                Outcome::Failed(why) => panic!("{name}: {why}"),
                Outcome::Skipped(why) if on_build_machine() => panic!("{name}: {why}"),
                Outcome::Skipped(_) | Outcome::Passed(_) | Outcome::Counted { .. } => {}
            }
        }
        let sums = sums::make(&out).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        sums
    }

    #[test]
    fn a_binary_gives_the_same_packages_wherever_they_are_made() {
        let sums = made("once");
        assert_eq!(sums, made("again"));
        let mut endings = vec!["musl.tar.gz", "amd64.deb", "musl.oci.tar", "musl.cdx.json", ".tgz"];
        if RPMBUILD.get().is_ok() {
            endings.push("x86_64.rpm");
        }
        for ending in endings {
            assert!(sums.lines().any(|line| line.ends_with(ending)), "{ending}: {sums}");
        }
    }
}
