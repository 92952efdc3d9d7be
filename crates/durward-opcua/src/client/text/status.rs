//! Status codes by name, and what to do about the ones that users meet.

use opcua_types::StatusCode;
use opcua_types::status_code::SubStatusCode;

use crate::error::Error;

/// The name of a code; for one that has none, its number.
pub fn status_text(status: StatusCode) -> String {
    let base = status.bits() & 0xffff_0000;
    match SubStatusCode::from_value(base) {
        Some(code) => code.name().to_owned(),
        None => format!("{:#010X}", status.bits()),
    }
}

/// Reads a name or a number (`BadTimeout`, `0x800A0000`).
///
/// # Errors
/// `BadInvalidArgument`.
pub fn parse_status(text: &str) -> Result<StatusCode, Error> {
    let named = || text.parse::<SubStatusCode>().ok().map(StatusCode::from_category);
    let numbered = || match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    named().or_else(|| numbered().map(StatusCode::from)).ok_or_else(|| {
        Error::new(
            StatusCode::BadInvalidArgument,
            format!("`{}` is no status code; write BadTimeout or 0x800A0000", text.escape_debug()),
        )
    })
}

/// What to do about a status code; nothing for those that say it themselves.
pub fn advice(status: StatusCode) -> Option<&'static str> {
    const ADVICE: &[(StatusCode, &str)] = &[
        (
            StatusCode::BadUserAccessDenied,
            "the token does not grant this right on this node, or has ended: the policies of the authorization service say who has it",
        ),
        (
            StatusCode::BadIdentityTokenRejected,
            "the server does not take the token: look at issuer, audience and clock in the server's log",
        ),
        (
            StatusCode::BadIdentityTokenInvalid,
            "the server takes no such token: connect to the gate, not to what is behind it",
        ),
        (
            StatusCode::BadCertificateUntrusted,
            "one side does not trust the other's certificate: it lies in the directory `rejected` of whoever refused; \
             `durward opcua pki trust --dir DIR` takes the beginning of its thumbprint, or move it to `trusted/certs` there",
        ),
        (
            StatusCode::BadSecurityChecksFailed,
            "the server refused the certificate and does not say why: look into its directory `rejected` \
             (`durward opcua pki show --dir DIR`), and trust the certificate there (`durward opcua pki trust`)",
        ),
        (
            StatusCode::BadCertificateTimeInvalid,
            "the certificate has ended, or has not begun: look at its dates and at the clocks",
        ),
        (
            StatusCode::BadCertificateUriInvalid,
            "the ApplicationUri is not the one in the certificate: make a new certificate for it",
        ),
        (
            StatusCode::BadCertificateChainIncomplete,
            "the certificate of the issuer is missing: put it into `issuer/certs`",
        ),
        (
            StatusCode::BadCertificateRevocationUnknown,
            "the revocation list of the issuer is missing: put it into `issuer/crl`",
        ),
        (StatusCode::BadSecurityModeInsufficient, "this needs an encrypted channel (SignAndEncrypt)"),
        (
            StatusCode::BadSecurityPolicyRejected,
            "the server has no endpoint with this security policy and mode",
        ),
        (
            StatusCode::BadNodeIdUnknown,
            "there is no such node, or it may not be seen: browse from its parent",
        ),
        (
            StatusCode::BadNoMatch,
            "there is no node by that path, or it may not be seen: browse its first elements",
        ),
        (StatusCode::BadNotWritable, "the server lets nobody write this value"),
        (StatusCode::BadNotReadable, "the server lets nobody read this value"),
        (StatusCode::BadTypeMismatch, "the value is of another type than the variable"),
        (StatusCode::BadArgumentsMissing, "the method takes more arguments"),
        (StatusCode::BadTooManyArguments, "the method takes fewer arguments"),
        (
            StatusCode::BadConnectionRejected,
            "nobody listens there: look at host and port, and whether the server runs",
        ),
        (StatusCode::BadTimeout, "nobody answered in time: look at host, port and firewall"),
        (StatusCode::BadTcpEndpointUrlInvalid, "write opc.tcp://host:port"),
        (
            StatusCode::BadNotFound,
            "the authorization service does not know this resource: enter it in its settings",
        ),
    ];
    let base = StatusCode::from(status.bits() & 0xffff_0000);
    ADVICE.iter().find(|(code, _)| *code == base).map(|(_, advice)| *advice)
}

/// An error in the words of who sits before it: what happened, the code, what to do.
pub fn explain(error: &Error) -> String {
    let happened = format!("{} ({})", error.reason(), status_text(error.status()));
    error
        .advice()
        .or_else(|| advice(error.status()))
        .map_or_else(|| happened.clone(), |advice| format!("{happened}: {advice}"))
}
