//! Whom a binary is built for, and what each kind of package calls that.

use crate::process::output_of;
use std::process::Command;

/// A target triple, such as `x86_64-unknown-linux-gnu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    triple: String,
    processor: Processor,
    system: System,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    MacOs,
}

/// What the kinds of packages call a processor.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// How triples begin.
    triple: &'static str,
    debian: &'static str,
    rpm: &'static str,
    /// The architecture of an image, and its variant.
    image: (&'static str, Option<&'static str>),
    /// `e_machine` of an ELF file.
    elf: u16,
}

type Processor = &'static Names;

const PROCESSORS: [Names; 4] = [
    Names { triple: "x86_64", debian: "amd64", rpm: "x86_64", image: ("amd64", None), elf: 62 },
    Names { triple: "aarch64", debian: "arm64", rpm: "aarch64", image: ("arm64", Some("v8")), elf: 183 },
    Names { triple: "armv7", debian: "armhf", rpm: "armv7hl", image: ("arm", Some("v7")), elf: 40 },
    Names { triple: "riscv64gc", debian: "riscv64", rpm: "riscv64", image: ("riscv64", None), elf: 243 },
];

impl Target {
    /// Reads a triple.
    ///
    /// # Errors
    /// durward is not packaged for it.
    pub(crate) fn of(triple: &str) -> Result<Target, String> {
        let first = triple.split('-').next().unwrap_or_default();
        let processor = PROCESSORS.iter().find(|names| names.triple == first);
        let system = if triple.contains("-linux-") {
            Some(System::Linux)
        } else if triple.ends_with("-apple-darwin") {
            Some(System::MacOs)
        } else {
            None
        };
        match (processor, system) {
            (Some(processor), Some(system)) => Ok(Target { triple: triple.to_owned(), processor, system }),
            _ => Err(format!(
                "no packages for the target `{triple}`: Linux and macOS on {}",
                PROCESSORS.map(|names| names.triple).join(", ")
            )),
        }
    }

    /// The machine that runs this.
    ///
    /// # Errors
    /// There is no `rustc`, or durward is not packaged for it.
    pub(crate) fn host() -> Result<Target, String> {
        let said = output_of(Command::new("rustc").arg("-vV").current_dir(crate::metadata::root()))?;
        let host = said.lines().find_map(|line| line.strip_prefix("host: "));
        Target::of(host.ok_or("`rustc -vV` names no host")?)
    }

    pub(crate) fn triple(&self) -> &str {
        &self.triple
    }

    pub(crate) fn system(&self) -> System {
        self.system
    }

    pub(crate) fn debian(&self) -> &'static str {
        self.processor.debian
    }

    pub(crate) fn rpm(&self) -> &'static str {
        self.processor.rpm
    }

    /// The architecture of an image, and its variant.
    pub(crate) fn image(&self) -> (&'static str, Option<&'static str>) {
        self.processor.image
    }

    pub(crate) fn elf_machine(&self) -> u16 {
        self.processor.elf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_package_has_its_name_for_a_processor() {
        let arm = Target::of("aarch64-unknown-linux-musl").unwrap();
        assert_eq!((arm.debian(), arm.rpm(), arm.image()), ("arm64", "aarch64", ("arm64", Some("v8"))));
        assert_eq!(Target::of("x86_64-apple-darwin").unwrap().system(), System::MacOs);
        for other in ["x86_64-pc-windows-msvc", "mips-unknown-linux-gnu", "wasm32-unknown-unknown", ""] {
            assert!(Target::of(other).unwrap_err().contains("no packages for the target"), "{other}");
        }
    }
}
