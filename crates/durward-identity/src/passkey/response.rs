//! What a page brings back: a `PublicKeyCredential` as JSON (5.1, `toJSON`).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::PasskeyRefusal;

/// The longest credential that is read, in bytes of JSON: certificates of an attestation and the longest identifier fit.
pub const CREDENTIAL_LENGTH_MAX: usize = 12 * 1024;

/// How many transports of a passkey are kept: more than there are.
const TRANSPORTS_MAX: usize = 8;

/// The longest name of a transport.
const TRANSPORT_LENGTH_MAX: usize = 20;

/// The credential of an enrolment.
#[derive(Clone, Debug)]
pub struct Registration {
    pub(super) id: Vec<u8>,
    pub(super) client_data: Vec<u8>,
    pub(super) attestation: Vec<u8>,
    pub(super) transports: Vec<String>,
}

/// The credential of a login.
#[derive(Clone, Debug)]
pub struct Assertion {
    pub(super) id: Vec<u8>,
    pub(super) client_data: Vec<u8>,
    pub(super) authenticator_data: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) user_handle: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct Credential<R> {
    id: String,
    #[serde(rename = "rawId")]
    raw_id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    response: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttestationResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    attestation_object: String,
    #[serde(default)]
    transports: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    authenticator_data: String,
    signature: String,
    #[serde(default)]
    user_handle: Option<String>,
}

impl Registration {
    /// Reads the JSON.
    ///
    /// # Errors
    /// It is none of an enrolment.
    pub fn read(json: &str) -> Result<Registration, PasskeyRefusal> {
        let (id, AttestationResponse { client_data, attestation_object, transports }) = read(json)?;
        let is_name = |name: &String| {
            name.len() <= TRANSPORT_LENGTH_MAX
                && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
        };
        Ok(Registration {
            id,
            client_data: decoded(&client_data)?,
            attestation: decoded(&attestation_object)?,
            transports: transports.into_iter().filter(is_name).take(TRANSPORTS_MAX).collect(),
        })
    }
}

impl Assertion {
    /// Reads the JSON.
    ///
    /// # Errors
    /// It is none of a login.
    pub fn read(json: &str) -> Result<Assertion, PasskeyRefusal> {
        let (id, response) = read(json)?;
        let AssertionResponse { client_data, authenticator_data, signature, user_handle } = response;
        Ok(Assertion {
            id,
            client_data: decoded(&client_data)?,
            authenticator_data: decoded(&authenticator_data)?,
            signature: decoded(&signature)?,
            // Some authenticators say an empty one where there is none.
            user_handle: user_handle
                .filter(|handle| !handle.is_empty())
                .map(|text| decoded(&text))
                .transpose()?,
        })
    }

    /// Who the authenticator says the user is.
    pub fn user_handle(&self) -> Option<&[u8]> {
        self.user_handle.as_deref()
    }
}

fn read<R: for<'d> Deserialize<'d>>(json: &str) -> Result<(Vec<u8>, R), PasskeyRefusal> {
    const WHAT: PasskeyRefusal = PasskeyRefusal::Malformed("the credential");
    if json.len() > CREDENTIAL_LENGTH_MAX {
        return Err(WHAT);
    }
    let read: Credential<R> = serde_json::from_str(json).map_err(|_| WHAT)?;
    let is_one = read.raw_id.is_none_or(|raw| raw == read.id);
    if read.kind != "public-key" || !is_one {
        return Err(WHAT);
    }
    Ok((decoded(&read.id)?, read.response))
}

fn decoded(text: &str) -> Result<Vec<u8>, PasskeyRefusal> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| PasskeyRefusal::Malformed("Base64 in the credential"))
}
