//! All fuzz targets in one program, which is built and linked once; the environment variable `FUZZ_TARGET` names the one that runs.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        const TARGETS: &[(&str, Target)] = &[$((stringify!($name), $name::run)),*];
    };
}

targets! {
    audit,
    bundle,
    c_border,
    decide,
    entities,
    ext_authz,
    grpc,
    http_request,
    json_request,
    json_response,
    jwt,
    opcua_channel,
    opcua_mediate,
    opcua_secret,
    opcua_token,
    opcua_wire,
    passkey,
    pattern,
    protobuf,
    rsocket,
    rsocket_requester,
    sapl_scenario,
    sapl_syntax,
    sealed,
    session_record,
    session_token,
    value,
    xacml_policy,
    xacml_request,
    xacml_response,
    xpath,
}

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|(name, _)| *name == wanted);
    found.unwrap_or_else(|| panic!("FUZZ_TARGET is `{wanted}`, which is no module of fuzz/src")).1
});

fuzz_target!(|input: &[u8]| TARGET(input));

/// What of an input is text: its start, as far as that is UTF-8.
fn text(input: &[u8]) -> &str {
    input.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
