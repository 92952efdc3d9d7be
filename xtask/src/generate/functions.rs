//! `docs/functions.md` and `docs/sapl-functions.md`: every function a policy may call, from the tables the evaluator itself uses.

use crate::built;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate` from the function table of durward-ir. -->

# XACML functions

Every function that an XACML policy can call, by its identifier (XACML 3.0, section 10.2.8 and appendix A.3). durward compares
identifiers code point by code point. It checks the types of arguments when it loads a policy, so it finds a wrong argument before the
first request. The functions of SAPL are in [sapl-functions.md](sapl-functions.md).

";

/// Identifiers that durward has beside those of section 10.2.8.
const NOT_OF_THE_STANDARD: usize = 2;

const SAPL_INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate` from the tables of durward-library. -->

# SAPL functions

Every function that a SAPL policy can call, with the types of its arguments. A *value* may have any type, `undefined` included; `...`
means any number of arguments. If an argument has another type, the call is an error. [sapl.md](sapl.md#functions) says where durward
differs from SAPL's engine. Attributes, such as `<time.now>`, are in [sapl-attributes.md](sapl-attributes.md).

As in the engine, a call takes only names of letters and digits. So no policy can call `digest.sha3_256`, `digest.sha3_384`,
`digest.sha3_512` and `graph.reachable_paths`. `all` is a keyword: write ``permissions.`all`()``.

";

pub(crate) fn write() -> Result<String, String> {
    let table = built::printed_by("functions")?;
    let listed = table.lines().take_while(|line| !line.starts_with("## "));
    let count = listed.filter(|line| line.contains("urn:")).count();
    let of_the_standard = count - NOT_OF_THE_STANDARD;
    let sum = format!(
        "{count} functions: the {of_the_standard} of section 10.2.8, and `ipAddress-is-in` and `dnsName-is-in`, which it omits."
    );
    Ok(format!("{INTRODUCTION}{sum}\n\n{table}"))
}

/// Those of SAPL.
pub(crate) fn write_sapl() -> Result<String, String> {
    let table = built::printed_by("sapl_functions")?;
    let count = table.lines().filter(|line| line.starts_with("| `")).count();
    let libraries = table.lines().filter(|line| line.starts_with("## ")).count();
    Ok(format!("{SAPL_INTRODUCTION}{count} functions in {libraries} libraries.\n\n{table}"))
}
