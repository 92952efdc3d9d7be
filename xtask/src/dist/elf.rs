//! What a Linux binary needs of the machine it runs on: its loader, its libraries, and how new they must be.

use elf::ElfBytes;
use elf::abi::{DT_NEEDED, PT_INTERP};
use elf::endian::AnyEndian;
use std::collections::BTreeSet;

/// What is read of an ELF file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) machine: u16,
    /// Whether a loader has to start it: without one it is static.
    pub(crate) is_dynamic: bool,
    /// Such as `libc.so.6`.
    pub(crate) libraries: BTreeSet<String>,
    /// The newest version of glibc that a symbol asks for, such as (2, 34).
    pub(crate) glibc: Option<(u32, u32)>,
}

/// Reads an ELF file.
///
/// # Errors
/// It is none, or is broken.
pub(crate) fn needs(binary: &[u8]) -> Result<Needs, String> {
    read(binary).map_err(|error| format!("the binary is no ELF file: {error}"))
}

fn read(binary: &[u8]) -> Result<Needs, elf::ParseError> {
    let file = ElfBytes::<AnyEndian>::minimal_parse(binary)?;
    let is_dynamic =
        file.segments().is_some_and(|segments| segments.iter().any(|segment| segment.p_type == PT_INTERP));
    let mut needs =
        Needs { machine: file.ehdr.e_machine, is_dynamic, libraries: BTreeSet::new(), glibc: None };
    let Some((symbols, names)) = file.dynamic_symbol_table()? else { return Ok(needs) };
    for entry in file.dynamic()?.iter().flat_map(|table| table.iter()).filter(|it| it.d_tag == DT_NEEDED) {
        let at = usize::try_from(entry.d_val())?;
        needs.libraries.insert(names.get(at)?.to_owned());
    }
    if let Some(versions) = file.symbol_version_table()? {
        for index in 0..symbols.len() {
            let asked = versions.get_requirement(index)?.and_then(|wanted| glibc(wanted.name));
            needs.glibc = needs.glibc.max(asked);
        }
    }
    Ok(needs)
}

/// `GLIBC_2.34`, or `GLIBC_2.2.5`, whose last number is of no account.
fn glibc(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A static program for x86-64 without code, for tests: a header and one segment.
#[cfg(test)]
pub(crate) fn smallest() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    file.extend(0x40_0078_u64.to_le_bytes());
    file.extend(64_u64.to_le_bytes());
    file.extend([0; 12]);
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    file.extend(5_u32.to_le_bytes());
    for word in [0_u64, 0x40_0000, 0x40_0000, 120, 120, 4096] {
        file.extend(word.to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_program_needs_nothing() {
        let found = needs(&smallest()).unwrap();
        assert_eq!(found, Needs { machine: 62, is_dynamic: false, libraries: BTreeSet::new(), glibc: None });
    }

    #[test]
    fn this_program_needs_the_library_that_it_was_linked_with() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let found = needs(&own).unwrap();
        assert_eq!(found.is_dynamic, !found.libraries.is_empty(), "{found:?}");
        assert_eq!(found.libraries.contains("libc.so.6"), found.glibc.is_some(), "{found:?}");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for broken in [&b""[..], b"#!/bin/sh\n", &smallest()[..70]] {
            assert!(needs(broken).unwrap_err().starts_with("the binary is no ELF file"));
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.34") > glibc("GLIBC_2.4"));
        assert_eq!(glibc("GCC_3.0"), None);
    }
}
