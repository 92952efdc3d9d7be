//! Each kind of package: made, written, and looked into with the tools that install it, where they are.

use crate::dist::product::Product;
use crate::dist::target::System;
use crate::dist::{chart, deb, empty, files, image, rpm, sbom, tar, write};
use crate::metadata::Package;
use crate::process::output_of;
use crate::report::Outcome;
use crate::tools::{self, DPKG_DEB, RPMBUILD, SKOPEO, Tool, UMOCI};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every kind is made of.
pub(crate) struct Work<'w> {
    pub(crate) product: &'w Product,
    /// The crates that are in the binary.
    pub(crate) shipped: &'w BTreeMap<&'w str, &'w Package>,
    /// Where packages go.
    pub(crate) out: &'w Path,
    /// What may be emptied.
    pub(crate) scratch: &'w Path,
}

type Make = fn(&Work) -> Outcome;

/// All kinds, in the order in which they are made.
pub(crate) const KINDS: [(&str, Make); 6] = [
    ("archive", |work| archive(work).map_or_else(Outcome::Failed, Outcome::Passed)),
    ("package of Debian", |work| on_linux(work, deb)),
    ("package of RPM", |work| on_linux(work, rpm)),
    ("container image", |work| on_linux(work, static_image)),
    ("bill of materials", |work| bill(work).map_or_else(Outcome::Failed, Outcome::Passed)),
    ("chart", |work| chart(work).unwrap_or_else(Outcome::Failed)),
];

fn on_linux(work: &Work, make: fn(&Work) -> Result<Outcome, String>) -> Outcome {
    match work.product.target.system() {
        System::Linux => make(work).unwrap_or_else(Outcome::Failed),
        System::MacOs => Outcome::Passed("for Linux only".to_owned()),
    }
}

impl Work<'_> {
    fn put(&self, name: &str, content: &[u8]) -> Result<PathBuf, String> {
        let path = self.out.join(name);
        write(&path, content)?;
        Ok(path)
    }

    /// An empty directory to unpack into.
    fn room(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.scratch.join(name);
        empty(&folder)?;
        Ok(folder)
    }

    /// Whether what was unpacked is the binary.
    fn has_binary(&self, path: &Path) -> Result<(), String> {
        let found =
            std::fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        if found == self.product.binary {
            Ok(())
        } else {
            Err(format!("`{}` is not the binary that was packaged", path.display()))
        }
    }
}

fn archive(work: &Work) -> Result<String, String> {
    let product = work.product;
    let stem = product.stem();
    let entries = files::of_archive(product)?;
    let made = tar::tar_gz(&entries, &format!("{stem}/"), product.time, product.effort)?;
    let path = work.put(&format!("{stem}.tar.gz"), &made)?;
    let room = work.room("archive")?;
    output_of(Command::new("tar").arg("-xzf").arg(&path).arg("-C").arg(&room))?;
    work.has_binary(&room.join(&stem).join("durward"))?;
    for name in ["LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "etc/durward.toml", "man/man1/durward.1"]
    {
        if !room.join(&stem).join(name).is_file() {
            return Err(format!("the archive has no `{name}`"));
        }
    }
    Ok(size(&made))
}

fn deb(work: &Work) -> Result<Outcome, String> {
    let made = deb::make(work.product)?;
    let path = work.put(&deb::name(work.product), &made)?;
    with(DPKG_DEB, |dpkg| {
        let room = work.room("deb")?;
        output_of(Command::new(dpkg).arg("--raw-extract").arg(&path).arg(&room))?;
        work.has_binary(&room.join("usr/bin/durward"))?;
        let about = |name: &str| files_text(&room.join("DEBIAN").join(name));
        if about("conffiles")? != format!("/{}\n", files::SETTINGS) {
            return Err("the settings are no conffile".to_owned());
        }
        for script in ["postinst", "postrm", "prerm"] {
            output_of(Command::new("sh").arg("-n").arg(room.join("DEBIAN").join(script)))?;
        }
        output_of(Command::new("md5sum").args(["--check", "--quiet", "DEBIAN/md5sums"]).current_dir(&room))?;
        Ok(size(&made))
    })
}

fn rpm(work: &Work) -> Result<Outcome, String> {
    with(RPMBUILD, |rpmbuild| {
        let made = rpm::make(work.product, rpmbuild, work.scratch)?;
        let path = work.put(&rpm::name(work.product), &made)?;
        let ask =
            |words: &[&str]| output_of(Command::new(rpmbuild.with_file_name("rpm")).args(words).arg(&path));
        let said = ask(&["-qp", "--queryformat", "%{NAME} %{VERSION} %{ARCH}\n"])?;
        let wanted = format!("durward {} {}\n", work.product.sorted_version(), work.product.target.rpm());
        if said != wanted {
            return Err(format!("the package says it is `{}`", said.trim()));
        }
        if ask(&["-qcp"])?.trim() != format!("/{}", files::SETTINGS) {
            return Err("the settings are not marked as such".to_owned());
        }
        ask(&["-K", "--nosignature"])?;
        Ok(size(&made))
    })
}

/// An image holds the binary alone: one that wants a loader and libraries would not start there.
fn static_image(work: &Work) -> Result<Outcome, String> {
    if work.product.is_static() {
        return image(work);
    }
    Ok(Outcome::Passed("none: it takes a static binary, as of x86_64-unknown-linux-musl".to_owned()))
}

/// Whatever the binary is linked with.
pub(crate) fn image(work: &Work) -> Result<Outcome, String> {
    let made = image::make(work.product)?;
    let path = work.put(&image::name(work.product), &made)?;
    let room = work.room("image")?;
    output_of(Command::new("tar").arg("-xf").arg(&path).arg("-C").arg(&room))?;
    image::verify(&room)?;
    let read = with(SKOPEO, |skopeo| {
        let said =
            output_of(Command::new(skopeo).arg("inspect").arg(format!("oci-archive:{}", path.display())))?;
        let (architecture, _) = work.product.target.image();
        if !said.contains(&format!("\"Architecture\": \"{architecture}\"")) {
            return Err(format!("skopeo reads another image: {said}"));
        }
        Ok(size(&made))
    })?;
    let unpacked = with(UMOCI, |umoci| {
        unpacked(work, umoci, &room)?;
        Ok(size(&made))
    })?;
    Ok(if matches!(read, Outcome::Skipped(_)) { read } else { unpacked })
}

/// Has an image unpacked as a container runtime would: what it starts is the binary, by a user who is not root.
fn unpacked(work: &Work, umoci: &Path, layout: &Path) -> Result<(), String> {
    let bundle = work.scratch.join("bundle");
    let _ = std::fs::remove_dir_all(&bundle);
    let image = format!("{}:{}", layout.display(), work.product.version);
    output_of(Command::new(umoci).args(["unpack", "--rootless", "--image", &image]).arg(&bundle))?;
    work.has_binary(&bundle.join("rootfs/durward"))?;
    let config = files_text(&bundle.join("config.json"))?;
    image::verify_process(&config)
}

fn bill(work: &Work) -> Result<String, String> {
    let made = sbom::make(work.product, work.shipped)?;
    work.put(&sbom::name(work.product), made.as_bytes())?;
    Ok(format!("{} crates", sbom::verify(made.as_bytes())?))
}

fn chart(work: &Work) -> Result<Outcome, String> {
    let made = chart::make(work.product)?;
    let path = work.put(&chart::name(work.product), &made)?;
    Ok(match tools::helm() {
        Ok(helm) => {
            chart::verify(&helm, &path)?;
            Outcome::Passed(size(&made))
        }
        Err(missing) => Outcome::Skipped(missing),
    })
}

/// With a program, or without it and said so.
fn with(tool: Tool, run: impl FnOnce(&Path) -> Result<String, String>) -> Result<Outcome, String> {
    match tool.get() {
        Ok(program) => run(&program).map(Outcome::Passed),
        Err(missing) => Ok(Outcome::Skipped(missing)),
    }
}

fn files_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

fn size(made: &[u8]) -> String {
    match made.len() {
        bytes if bytes < 1 << 20 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        bytes => format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20),
    }
}
