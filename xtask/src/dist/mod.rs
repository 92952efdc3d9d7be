//! `cargo xtask dist`: the binary that ships, and its packages: an archive, packages of Debian and RPM, a container image, a bill of materials,
//! a Helm chart, a formula of Homebrew, checksums and signatures. Packages of one commit and one binary are alike, byte for byte.
//!
//! `plan.rs` reads the command, `product.rs` says what is packaged, `kinds.rs` makes one kind after the other and looks into it, `check.rs`
//! does so with the binary of the tests.

mod chart;
mod check;
mod date;
mod deb;
mod elf;
mod files;
mod formula;
mod image;
mod kinds;
mod minisign;
mod notices;
mod plan;
mod product;
mod rpm;
mod sbom;
mod sums;
mod tar;
mod target;

pub(crate) use check::check;

use crate::dist::kinds::{KINDS, Work};
use crate::dist::minisign::Key;
use crate::dist::plan::Plan;
use crate::dist::product::Product;
use crate::dist::sums::SUMS;
use crate::dist::tar::Effort;
use crate::dist::target::Target;
use crate::metadata::Metadata;
use crate::release;
use crate::report::{Outcome, Report};
use std::path::Path;
use std::process::ExitCode;

/// `cargo xtask dist [FLAG...]`, or `cargo xtask dist collect DIR [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    match words {
        ["collect", folder, rest @ ..] => {
            let plan = Plan::of(rest)?;
            let version = product::version(&Metadata::read()?)?;
            let mut report = Report::new();
            report.step("checksums", || {
                collect(Path::new(folder), &version, &plan).map_or_else(Outcome::Failed, Outcome::Passed)
            });
            Ok(report.close())
        }
        rest => all(&Plan::of(rest)?),
    }
}

fn all(plan: &Plan) -> Result<ExitCode, String> {
    // Said before anything is built.
    plan.origin()?;
    let mut report = Report::new();
    let mut built = plan.binary.clone();
    if built.is_none() {
        report.step("binary that ships", || {
            let binary = release::dist_for(plan.target.as_deref(), plan.repository.as_deref());
            let outcome = binary
                .as_ref()
                .map_or_else(|message| Outcome::Failed(message.clone()), |it| release::weigh(it));
            built = binary.ok();
            outcome
        });
    }
    if let Some(binary) = built {
        packages(plan, &binary, &mut report)?;
    }
    Ok(report.close())
}

/// Packages a binary as `cargo xtask dist` does with these flags: a step for each kind.
///
/// # Errors
/// A flag is unknown, or there is nothing to package.
pub(crate) fn package(words: &[&str], binary: &Path, report: &mut Report) -> Result<(), String> {
    packages(&Plan::of(words)?, binary, report)
}

fn packages(plan: &Plan, binary: &Path, report: &mut Report) -> Result<(), String> {
    let metadata = Metadata::read()?;
    let target = match &plan.target {
        Some(triple) => Target::of(triple)?,
        None => Target::host()?,
    };
    let scratch = metadata.target_directory.join("dist/scratch");
    let shipped = sbom::shipped(&metadata, &target)?;
    let generator = plan.generator.clone().unwrap_or_else(|| binary.to_path_buf());
    let (content, needs) = product::binary(binary, &target)?;
    let product = Product {
        version: product::version(&metadata)?,
        time: product::time()?,
        binary: content,
        needs,
        pages: product::pages(&generator, &scratch)?,
        notices: notices::make(shipped.values().copied()),
        origin: plan.origin()?,
        effort: Effort::Best,
        target,
    };
    let name = format!("{}-{}", product.version, product.target.triple());
    let out = plan.out.clone().unwrap_or_else(|| metadata.target_directory.join("dist").join(name));
    clear(&out)?;
    let work = Work { product: &product, shipped: &shipped, out: &out, scratch: &scratch };
    let called = |name: &str| match &plan.target {
        Some(triple) => format!("{triple}: {name}"),
        None => name.to_owned(),
    };
    for (name, make) in KINDS {
        report.step(&called(name), || make(&work));
    }
    report.step(&called("checksums"), || {
        collect(&out, &product.version, plan).map_or_else(Outcome::Failed, Outcome::Passed)
    });
    let _ = std::fs::remove_dir_all(&scratch);
    println!("\nin {}", out.display());
    Ok(())
}

/// Whether a binary is for this target, and needs neither a loader nor libraries; glibc is not in it either.
///
/// # Errors
/// What it needs.
pub(crate) fn is_static(binary: &Path, target: &str) -> Result<(), String> {
    let (content, needs) = product::binary(binary, &Target::of(target)?)?;
    let needs = needs.ok_or_else(|| format!("`{}` is not for Linux", binary.display()))?;
    if needs.is_dynamic || !needs.libraries.is_empty() || needs.glibc.is_some() {
        return Err(format!("`{}` is not static: {needs:?}", binary.display()));
    }
    if contains(&content, GLIBC) {
        return Err(format!("`{}` holds the C library of GNU", binary.display()));
    }
    Ok(())
}

/// What that library says of itself.
const GLIBC: &[u8] = b"GNU C Library";

fn contains(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len()).any(|window| window == text)
}

/// The formula, the checksums and the signatures of all that lies in a folder; verified again.
///
/// # Errors
/// The key is none, or a file cannot be read or written.
fn collect(folder: &Path, version: &str, plan: &Plan) -> Result<String, String> {
    let mut notes = Vec::new();
    if let Some(url) = &plan.url {
        write(
            &folder.join(formula::NAME),
            formula::make(folder, version, url, plan.repository.as_deref())?.as_bytes(),
        )?;
    } else {
        notes.push("no formula without `--url`".to_owned());
    }
    write(&folder.join(SUMS), sums::make(folder)?.as_bytes())?;
    notes.insert(0, format!("{} files", sums::verify(folder)?));
    match &plan.key {
        Some(path) => {
            let cannot = |why: String| format!("`{}`: {why}", path.display());
            let text = std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
            let key = Key::of(&text).map_err(cannot)?;
            sign(folder, &key, product::time()?)?;
            notes.push("signed".to_owned());
        }
        None => notes.push("not signed without `--key`".to_owned()),
    }
    Ok(notes.join(", "))
}

/// Signs every file in a folder, its checksums too, and verifies the signatures.
fn sign(folder: &Path, key: &Key, time: u64) -> Result<(), String> {
    let names = sums::names(folder)?;
    for name in names.iter().map(String::as_str).chain([SUMS]) {
        let content = sums::read(folder, name)?;
        let text = key.sign(name, &content, time);
        key.public().verify(name, &content, &text)?;
        write(&folder.join(format!("{name}.minisig")), text.as_bytes())?;
    }
    Ok(())
}

/// Writes a file, and the directories above it.
fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, content));
    written.map_err(|error| format!("cannot write `{}`: {error}", path.display()))
}

/// Takes the packages of another time out of a directory. One that holds anything else is left alone: it may have been named by mistake.
///
/// # Errors
/// It holds something else.
fn clear(folder: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot clear `{}`: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let paths: Result<Vec<_>, _> =
        std::fs::read_dir(folder).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let paths = paths.map_err(cannot)?;
    let is_ours = folder.join(SUMS).is_file() && paths.iter().all(|path| path.is_file());
    if !paths.is_empty() && !is_ours {
        return Err(format!(
            "`{}` holds other things than packages: name an empty directory",
            folder.display()
        ));
    }
    paths.iter().try_for_each(std::fs::remove_file).map_err(cannot)
}

/// A directory with nothing in it.
fn empty(folder: &Path) -> Result<(), String> {
    let emptied = match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(folder),
    };
    emptied.map_err(|error| format!("cannot empty `{}`: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_are_taken_out_of_a_directory() {
        let folder = std::env::temp_dir().join(format!("durward-clear-{}", std::process::id()));
        assert_eq!(clear(&folder), Ok(()));
        let put = |name: &str| write(&folder.join(name), b"text").unwrap();
        put("letter.txt");
        assert!(clear(&folder).unwrap_err().contains("holds other things"));
        put(SUMS);
        assert_eq!(clear(&folder), Ok(()));
        put(SUMS);
        put("below/letter.txt");
        assert!(clear(&folder).is_err() && folder.join("below/letter.txt").is_file());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
