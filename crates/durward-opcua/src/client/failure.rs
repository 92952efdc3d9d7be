//! Classifies status codes: session lost, right ended, or only this request refused.

use opcua_types::StatusCode;

/// How to react to a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureMeaning {
    /// The session, or the way to it, is gone.
    Lost,
    /// The right that the session stands on may have ended.
    Ended,
    /// Nobody answered: alive or not is to be found out.
    Silent,
    /// The request was refused, and nothing else.
    Refused,
}

impl FailureMeaning {
    /// Of the result of a whole service.
    pub(super) fn of(status: StatusCode) -> FailureMeaning {
        const LOST: &[StatusCode] = &[
            StatusCode::BadSessionIdInvalid,
            StatusCode::BadSessionClosed,
            StatusCode::BadSessionNotActivated,
            StatusCode::BadSecureChannelIdInvalid,
            StatusCode::BadSecureChannelClosed,
            StatusCode::BadSecureChannelTokenUnknown,
            StatusCode::BadSecurityChecksFailed,
            StatusCode::BadCommunicationError,
            StatusCode::BadConnectionClosed,
            StatusCode::BadConnectionRejected,
            StatusCode::BadNotConnected,
            StatusCode::BadServerHalted,
            StatusCode::BadServerNotConnected,
            StatusCode::BadShutdown,
            StatusCode::BadTcpInternalError,
            StatusCode::BadTcpMessageTooLarge,
            StatusCode::BadTcpSecureChannelUnknown,
        ];
        let code = StatusCode::from(status.bits() & 0xffff_0000);
        if LOST.contains(&code) {
            FailureMeaning::Lost
        } else if code == StatusCode::BadTimeout {
            FailureMeaning::Silent
        } else if [StatusCode::BadUserAccessDenied, StatusCode::BadIdentityTokenRejected].contains(&code) {
            FailureMeaning::Ended
        } else {
            FailureMeaning::Refused
        }
    }
}

/// Whether a refused activation speaks against the token (`true`), or against the session and its channel (`false`).
pub(super) fn is_of_token(status: StatusCode) -> bool {
    [
        StatusCode::BadIdentityTokenInvalid,
        StatusCode::BadIdentityTokenRejected,
        StatusCode::BadUserAccessDenied,
        StatusCode::BadUserSignatureInvalid,
        StatusCode::BadSecurityModeInsufficient,
    ]
    .contains(&status)
}

/// Whether a refused activation may go well soon, with nothing changed: a gate that has only just begun has not heard of recalled tokens yet, or has
/// no session with its server.
pub(super) fn passes(status: StatusCode) -> bool {
    [StatusCode::BadIdentityTokenRejected, StatusCode::BadServerNotConnected].contains(&status)
}
