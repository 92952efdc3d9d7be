//! The library `sapl`: which engine this is.
//!
//! The version is that of the SAPL language whose functions these are.

use durward_functions::table::row;
use durward_ir::library::LibraryFunction;
use durward_ir::value::Value;

/// The version of SAPL that the libraries follow.
const VERSION: &str = "4.2.0";

const UNKNOWN: &str = "unknown";

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("sapl.info", &[], |_| Ok(info()), "The version of SAPL and the kind of system, and `unknown` for the rest."),
];

fn info() -> Value {
    let entries = [
        ("saplVersion", VERSION),
        ("gitCommitId", UNKNOWN),
        ("gitBranch", UNKNOWN),
        ("gitBuildTime", UNKNOWN),
        ("jdkVersion", UNKNOWN),
        ("javaVersion", UNKNOWN),
        ("javaVendor", UNKNOWN),
        ("osName", system()),
        ("osVersion", UNKNOWN),
        ("osArch", architecture()),
    ];
    Value::object(entries.map(|(key, text)| (key, Value::Text(text.into()))))
}

/// As the JVM names it.
fn system() -> &'static str {
    match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "Mac OS X",
        "windows" => "Windows",
        other => other,
    }
}

/// As the JVM names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        other => other,
    }
}
