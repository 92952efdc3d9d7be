//! `docs/functions.md`: every function a policy may call, from the table the evaluator itself uses.

use crate::built;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate` from the function table of durward-ir. -->

# Functions

Every function a policy may call, by its identifier (XACML 3.0, section 10.2.8 and appendix A.3). Identifiers are compared
code point by code point. Types are checked when a policy is loaded, so a wrong argument is found before the first request.

";

pub(crate) fn write() -> Result<String, String> {
    let table = built::printed_by("functions")?;
    let listed = table.lines().take_while(|line| !line.starts_with("## "));
    let count = listed.filter(|line| line.contains("urn:")).count();
    Ok(format!("{INTRODUCTION}{count} functions.\n\n{table}"))
}
